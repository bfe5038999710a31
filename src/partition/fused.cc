// Fusion, op by op in execution order: each joins the group of those it reads from where that saves most, as
// far as one kernel could do both. Whether it could is a matter of what the two loop over, not of which ops
// they are.
#include <algorithm>
#include <array>

#include "partition/groups.h"

namespace opscope {
namespace {

// As in Inductor: longer kernels gain nothing more.
constexpr std::uint32_t kMaxWorking = 64;
// Elements of a row that one block of threads can hold until the whole row is folded: 256 KiB of float32.
constexpr std::uint64_t kMaxRow = 65536;
// Readers that are looked at to see whether a write can be left out.
constexpr std::uint32_t kMaxReaders = 64;

struct Candidate {
  GroupId group = kNone;
  Count gain{};  // bytes
  std::optional<Border> refusal;
  std::optional<std::uint64_t> turn;  // how what is read of it lies
};

constexpr std::array<std::string_view, 24> kTurning{"adjoint",
                                                    "channel_shuffle",
                                                    "flip",
                                                    "fliplr",
                                                    "flipud",
                                                    "mH",
                                                    "mT",
                                                    "matrix_H",
                                                    "moveaxis",
                                                    "movedim",
                                                    "native_channel_shuffle",
                                                    "numpy_T",
                                                    "permute",
                                                    "permute_copy",
                                                    "pixel_shuffle",
                                                    "pixel_unshuffle",
                                                    "roll",
                                                    "rot90",
                                                    "swapaxes",
                                                    "swapdims",
                                                    "t",
                                                    "t_copy",
                                                    "transpose",
                                                    "transpose_copy"};

// Whether two values that a kernel reads lie the same way: one loop cannot take an element of each where one
// of them was transposed, rolled or flipped on the way. A turn is a number made of the ops that turned the
// value since its group began.
class Turns {
 public:
  explicit Turns(const Groups& groups) : g_(groups), turns_(groups.graph.ops.size(), 0) {
    for (const Target& target : g_.graph.targets)
      is_turning_.push_back(std::ranges::count(kTurning, short_op_name(g_.graph.text(target.name))) > 0);
  }

  // How a value lies, seen from the group that wrote it: equal numbers lie the same way.
  std::uint64_t of(const Read& read) const {
    const OpId writer = g_.writer(read), maker = g_.flow.maker(read.value);
    const bool is_view = maker != kNone && maker > writer && g_.flow.works[maker] == 0;
    return turns_[is_view ? maker : writer];
  }
  // Once an op is placed: how what it gives lies, by what it takes from its group; a view's, by what it
  // shows.
  void place(OpId op) {
    std::uint64_t turn = 0;
    if (g_.flow.works[op] == 0 && g_.flow.shown(op) != kNone) turn = turns_[g_.flow.shown(op)];
    const auto inner = std::ranges::find_if(g_.flow.reads_of(op), [&](const Read& read) {
      return read.write != kNone && g_.order.group_of(g_.writer(read)) == g_.order.group_of(op);
    });
    if (inner != g_.flow.reads_of(op).end()) turn = of(*inner);
    turns_[op] = turned(turn, g_.graph.ops[op]);
  }

 private:
  // The same op with the same numbers turns the same way.
  std::uint64_t turned(std::uint64_t turn, const Op& op) const {
    if (!is_turning_[op.target]) return turn;
    const auto mix = [&](auto number) {
      turn = (turn ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
      turn ^= turn >> 32;
    };
    mix(op.target + 1);
    for (const Argument& argument : g_.graph.arguments_of(op)) {
      if (argument.kind == ArgumentKind::kInt) mix(argument.integer);
      if (argument.kind == ArgumentKind::kIntList) std::ranges::for_each(g_.graph.ints_in(argument), mix);
    }
    return turn;
  }

  const Groups& g_;
  std::vector<bool> is_turning_;      // by target: moves elements to other places
  std::vector<std::uint64_t> turns_;  // by op
};

class Fuser {
 public:
  Fuser(Groups& groups, const std::vector<GroupId>& waits)
      : g_(groups), turns_(groups), waits_(waits), slots_(groups.graph.ops.size(), 0) {}

  void run() {
    for (const KnownForm& form : find_forms(g_)) keep_together(form);
    for (OpId op = 0; op < g_.graph.ops.size(); ++op) {
      if (g_.flow.works[op] == 0)
        g_.ride(op);
      else
        place(op);
      turns_.place(op);
    }
  }

 private:
  void keep_together(const KnownForm& form) {
    std::vector<GroupId> parts;
    Loop loop{.domain = g_.traits[form.result].out, .has_anchor = true, .form = form.form};
    for (const OpId op : form.ops) {
      parts.push_back(g_.order.group_of(op));
      loop.working += g_.flow.works[op] != 0 ? 1 : 0;
      if (g_.order.size(parts.back()) > 1) return;  // part of another form
    }
    if (g_.fits(parts, loop)) g_.merge(parts, loop);
  }

  void place(OpId op) {
    const bool is_formed = g_.loops[g_.order.group_of(op)].form != Form::kPlain;
    auto candidates = candidates_of(op, is_formed);
    if (is_formed) return;
    if (!waits_.empty() && waits_[op] != kNone) g_.loops[op].waits_for = waits_[op];
    std::ranges::stable_sort(candidates, [&](const Candidate& a, const Candidate& b) {
      if (a.gain != b.gain) return a.gain > b.gain;
      return g_.order.position(a.group) > g_.order.position(b.group);
    });
    bool has_joined = false;
    std::uint32_t tries = 0;
    for (Candidate& candidate : candidates) {
      if (candidate.refusal) continue;
      if (++tries > kMaxWorking) candidate.refusal = Border::kSizeLimit;
      if (candidate.refusal) continue;
      candidate.refusal = join(op, candidate.group, has_joined);
      if (!candidate.refusal) has_joined = true;
    }
    tell(op, candidates);
  }

  std::vector<Candidate> candidates_of(OpId op, bool is_formed) {
    std::vector<Candidate> found;
    for (const Read& read : g_.flow.reads_of(op)) {
      if (read.write == kNone) continue;
      const GroupId group = g_.order.group_of(g_.writer(read));
      if (group == g_.order.group_of(op)) continue;
      if (is_formed) {
        g_.why_of(read) = Border::kAnchor;
        continue;
      }
      Candidate* at = candidate_in(found, group);
      at->gain += gain(op, group, read);
      // Forward, backward and the optimizer's step run as a whole each.
      if (phase_of(g_.graph, g_.writer(read)) != phase_of(g_.graph, op)) at->refusal = Border::kPhase;
      if (!at->refusal) at->refusal = refusal(g_.traits[op], g_.loops[group], read);
      if (!at->refusal) at->refusal = waiting(op, g_.loops[group]);
      if (!at->refusal) at->refusal = misaligned(read, *at);
    }
    return found;
  }

  // Ops may read from thousands of groups: the slots spare a search.
  Candidate* candidate_in(std::vector<Candidate>& found, GroupId group) {
    std::uint32_t& slot = slots_[group];
    if (slot >= found.size() || found[slot].group != group) {
      slot = static_cast<std::uint32_t>(found.size());
      found.push_back({.group = group, .gain = {}, .refusal = {}, .turn = {}});
    }
    return &found[slot];
  }

  // It is to be with those that read it, and only joins others that are.
  std::optional<Border> waiting(OpId op, const Loop& loop) const {
    if (waits_.empty() || waits_[op] == kNone || loop.waits_for == waits_[op]) return std::nullopt;
    return Border::kFork;
  }

  // Two values of one loop that lie in different ways.
  std::optional<Border> misaligned(const Read& read, Candidate& candidate) const {
    if (numel(g_.graph.shape(g_.graph.values[read.value])) != g_.loops[candidate.group].domain)
      return std::nullopt;
    const std::uint64_t turn = turns_.of(read);
    if (candidate.turn && *candidate.turn != turn) return Border::kShapeChange;
    candidate.turn = turn;
    return std::nullopt;
  }

  // The read is always spared; the write too where nobody else needs it.
  Count gain(OpId op, GroupId group, const Read& read) const {
    const Write& write = g_.flow.writes[read.write];
    const bool is_changed = write.next != kNone && g_.flow.writes[write.next].op != op;
    if (write.is_kept || is_changed || write.readers.size > kMaxReaders) return read.bytes;
    const bool is_inner = std::ranges::all_of(g_.flow.readers_of(write), [&](OpId reader) {
      return reader == op || g_.order.group_of(reader) == group;
    });
    return is_inner ? read.bytes + write.bytes : read.bytes;
  }

  // Why one kernel cannot go on from the group's loop to this op, if so.
  std::optional<Border> refusal(const Trait& trait, const Loop& loop, const Read& read) const {
    if (trait.role == Role::kAnchor) return Border::kAnchor;
    if (trait.role == Role::kBarrier) return Border::kBarrier;
    if (trait.role == Role::kGather || !read.is_whole) return Border::kShapeChange;
    if (loop.is_closed) return Border::kBarrier;
    if (trait.role == Role::kWindow) return Border::kReduction;
    const Count taken = numel(g_.graph.shape(g_.graph.values[read.value]));
    return trait.role == Role::kRows ? rows_refusal(trait, loop, taken)
                                     : pointwise_refusal(trait, loop, taken);
  }

  static std::optional<Border> pointwise_refusal(const Trait& trait, const Loop& loop, Count taken) {
    if (loop.rows && trait.out == loop.rows && taken == loop.rows) return std::nullopt;
    if (trait.is_concat && !loop.rows && !loop.has_anchor && taken == loop.domain) return std::nullopt;
    if (trait.out != loop.domain) return Border::kShapeChange;
    if (taken == loop.domain) return std::nullopt;
    if (!loop.rows || taken != loop.rows) return Border::kShapeChange;
    // Back over the rows once they are folded: they have to be there still.
    return loop.domain / loop.rows > Count{kMaxRow} ? std::optional(Border::kReduction) : std::nullopt;
  }

  static std::optional<Border> rows_refusal(const Trait& trait, const Loop& loop, Count taken) {
    if (loop.has_anchor) return Border::kReduction;
    if (trait.in != loop.domain || taken != loop.domain) return Border::kShapeChange;
    if (loop.rows && loop.rows != trait.rows) return Border::kReduction;
    if (loop.rows && loop.domain / loop.rows > Count{kMaxRow}) return Border::kReduction;
    return std::nullopt;
  }

  // The first joins the op's own loop to the group's; later ones are other groups that the op reads
  // from.
  std::optional<Border> join(OpId op, GroupId group, bool has_joined) {
    const GroupId own = g_.order.group_of(op);
    if (own == group) return std::nullopt;
    const Loop& a = g_.loops[group];
    const Loop& b = g_.loops[own];
    const bool is_concat = g_.traits[op].is_concat;
    if (has_joined) {
      if (const auto apart = clash(a, b, is_concat)) return apart;
      if (const auto apart = refused(group, own)) return apart;
    }
    Loop together = a;
    if (is_concat) together.domain = g_.traits[op].out;
    together.working += b.working;
    together.has_anchor |= b.has_anchor;
    if (!together.rows) together.rows = b.rows;
    if (b.form != Form::kPlain) together.form = b.form;
    if (together.working > kMaxWorking || g_.order.size(own) > kMaxMembers) return Border::kSizeLimit;
    const std::array<GroupId, 2> both{group, own};
    if (!g_.fits(both, together)) return Border::kSizeLimit;
    return g_.merge(both, together) == kNone ? std::optional(Border::kCycle) : std::nullopt;
  }

  // Two groups that an op reads from, in one kernel with it.
  static std::optional<Border> clash(const Loop& a, const Loop& b, bool is_concat) {
    if (a.has_anchor && b.has_anchor) return Border::kJoin;
    if (a.domain != b.domain && !is_concat) return Border::kShapeChange;
    if ((a.has_anchor && b.rows) || (b.has_anchor && a.rows)) return Border::kJoin;
    if (a.rows && b.rows && a.rows != b.rows) return Border::kReduction;
    return std::nullopt;
  }

  // What one of them reads of the other was no match for its loop then, and is none now.
  std::optional<Border> refused(GroupId a, GroupId b) {
    if (g_.order.size(a) + g_.order.size(b) > kMaxMembers) return Border::kSizeLimit;
    std::optional<Border> found;
    const auto look = [&](GroupId reader, GroupId writer) {
      g_.order.each_member(reader, [&](OpId op) {
        for (const Read& read : g_.flow.reads_of(op))
          if (read.write != kNone && g_.order.group_of(g_.writer(read)) == writer &&
              is_lasting(g_.why_of(read)))
            found = g_.why_of(read);
      });
    };
    look(a, b);
    look(b, a);
    return found;
  }
  static bool is_lasting(Border why) {
    return why == Border::kShapeChange || why == Border::kReduction || why == Border::kAnchor ||
           why == Border::kBarrier || why == Border::kPhase;
  }

  void tell(OpId op, const std::vector<Candidate>& candidates) {
    for (std::uint32_t i = 0; i < candidates.size(); ++i) slots_[candidates[i].group] = i;
    for (const Read& read : g_.flow.reads_of(op)) {
      if (read.write == kNone) continue;
      const GroupId group = g_.order.group_of(g_.writer(read));
      const std::uint32_t slot = slots_[group];
      if (slot < candidates.size() && candidates[slot].group == group && candidates[slot].refusal)
        g_.why_of(read) = *candidates[slot].refusal;
    }
  }

  Groups& g_;
  Turns turns_;
  const std::vector<GroupId>& waits_;  // by op; empty: none
  std::vector<std::uint32_t> slots_;   // by group: where it is among the candidates, if it is
};

constexpr std::uint32_t kMaxReadersToTry = 16;

// Second thoughts, in reverse over groups that are made. An op that joined the group it reads from may be
// read by another group only: then its result goes through memory. Where being with its readers moves fewer
// bytes, it should have waited for them: the square in front of a mean, half of a rotary embedding.
class Waits {
 public:
  explicit Waits(const Groups& groups) : g_(groups) {
    for (OpId op = 0; op < g_.graph.ops.size(); ++op) target_.push_back(g_.order.group_of(op));
    waits_.assign(target_.size(), kNone);
  }

  // By op: the group that it had better wait for; kNone where it is well placed.
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

void group_fused(Groups& groups) {
  const std::vector<GroupId> none;
  Fuser(groups, none).run();
  const auto waits = Waits(groups).run();
  if (std::ranges::all_of(waits, [](GroupId group) { return group == kNone; })) return;
  groups.part();
  Fuser(groups, waits).run();
}

}  // namespace opscope
