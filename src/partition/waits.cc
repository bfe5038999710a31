// Second thoughts. An op that joined the group it reads from may be read by another group only: then its
// result goes through memory. Where being with its readers moves fewer bytes, it should have waited for them:
// the square in front of a mean, half of a rotary embedding.
#include <algorithm>

#include "partition/groups.h"

namespace opscope {
namespace {

constexpr std::uint32_t kMaxReadersToTry = 16;

class Waits {
 public:
  explicit Waits(const Groups& groups) : g_(groups) {
    for (OpId op = 0; op < g_.graph.ops.size(); ++op) target_.push_back(g_.order.group_of(op));
    waits_.assign(target_.size(), kNone);
  }

  std::vector<GroupId> run() {
    for (auto op = static_cast<OpId>(target_.size()); op-- > 0;) {
      if (!may_move(op)) continue;
      const GroupId other = only_taker(op);
      if (other == kNone || !takes_in(other, op)) continue;
      if (spared_there(op) > spared_here(op, other)) waits_[op] = target_[op] = other;
    }
    return std::move(waits_);
  }

 private:
  bool may_move(OpId op) const {
    const Loop& loop = g_.loops[target_[op]];
    return g_.traits[op].role == Role::kPointwise && loop.working > 1 && loop.form == Form::kPlain;
  }

  // The one group, another than its own, that reads all it gives.
  GroupId only_taker(OpId op) const {
    GroupId taker = kNone;
    for (const Write& write : g_.flow.writes_of(op)) {
      if (write.is_kept || write.next != kNone || write.readers.size > kMaxReadersToTry) return kNone;
      for (const OpId reader : g_.flow.readers_of(write)) {
        if (taker != kNone && target_[reader] != taker) return kNone;
        taker = target_[reader];
      }
    }
    return taker == target_[op] ? kNone : taker;
  }

  bool takes_in(GroupId group, OpId op) const {
    const Loop& loop = g_.loops[group];
    return !loop.is_closed && !loop.has_anchor && loop.form == Form::kPlain &&
           loop.domain == g_.traits[op].out;
  }

  // What it gives would stay inside.
  Count spared_there(OpId op) const {
    Count bytes{};
    for (const Write& write : g_.flow.writes_of(op)) {
      bytes += write.bytes;
      for (const OpId reader : g_.flow.readers_of(write))
        for (const Read& read : g_.flow.reads_of(reader))
          if (read.write != kNone && g_.writer(read) == op) bytes += read.bytes;
    }
    return bytes;
  }

  // What it takes stays inside now; what the other group reads in any case would cost nothing more.
  Count spared_here(OpId op, GroupId other) const {
    Count bytes{};
    for (const Read& read : g_.flow.reads_of(op)) {
      if (read.write == kNone || target_[g_.writer(read)] != target_[op] || reads(other, read)) continue;
      bytes += read.bytes;
      if (is_for(op, g_.flow.writes[read.write])) bytes += g_.flow.writes[read.write].bytes;
    }
    return bytes;
  }
  bool reads(GroupId group, const Read& wanted) const {
    if (g_.flow.writes[wanted.write].readers.size > kMaxReadersToTry) return false;
    return std::ranges::any_of(g_.flow.readers_of(g_.flow.writes[wanted.write]), [&](OpId reader) {
      return target_[reader] == group && g_.traits[reader].role != Role::kAnchor;
    });
  }
  // Nobody outside the group reads it: it would have to be written for this op alone.
  bool is_for(OpId op, const Write& write) const {
    const bool is_changed = write.next != kNone && g_.flow.writes[write.next].op != op;
    if (write.is_kept || is_changed || write.readers.size > kMaxReadersToTry) return false;
    return std::ranges::all_of(g_.flow.readers_of(write),
                               [&](OpId reader) { return target_[reader] == target_[op]; });
  }

  const Groups& g_;
  std::vector<GroupId> target_;  // by op: its group, or where it would go
  std::vector<GroupId> waits_;
};

}  // namespace

std::vector<GroupId> find_waits(const Groups& groups) { return Waits(groups).run(); }

}  // namespace opscope
