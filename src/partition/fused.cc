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
      if (g_.changes_phase(g_.writer(read), op)) at->refusal = Border::kPhase;
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
    switch (trait.role) {
      case Role::kAnchor:
        return Border::kAnchor;
      case Role::kBarrier:
        return Border::kBarrier;
      case Role::kGather:
        return Border::kShapeChange;
      default:
        break;
    }
    if (!read.is_whole) return Border::kShapeChange;
    switch (trait.role) {
      case Role::kWindow:
        return loop.is_closed ? Border::kBarrier : Border::kReduction;
      case Role::kRows:
        return rows_refusal(trait, loop, read);
      default:
        return pointwise_refusal(trait, loop, read);
    }
  }

  std::optional<Border> pointwise_refusal(const Trait& trait, const Loop& loop, const Read& read) const {
    if (loop.is_closed) return Border::kBarrier;
    const Count taken = numel(g_.graph.shape(g_.graph.values[read.value]));
    if (loop.rows && trait.out == loop.rows && taken == loop.rows) return std::nullopt;
    if (trait.is_concat && !loop.rows && !loop.has_anchor && taken == loop.domain) return std::nullopt;
    if (trait.out != loop.domain) return Border::kShapeChange;
    if (taken == loop.domain) return std::nullopt;
    if (!loop.rows || taken != loop.rows) return Border::kShapeChange;
    // Back over the rows once they are folded: they have to be there still.
    return loop.domain / loop.rows > Count{kMaxRow} ? std::optional(Border::kReduction) : std::nullopt;
  }

  std::optional<Border> rows_refusal(const Trait& trait, const Loop& loop, const Read& read) const {
    if (loop.is_closed) return Border::kBarrier;
    if (loop.has_anchor) return Border::kReduction;
    const Count taken = numel(g_.graph.shape(g_.graph.values[read.value]));
    if (trait.in != loop.domain || taken != loop.domain) return Border::kShapeChange;
    if (loop.rows && loop.rows != trait.rows) return Border::kReduction;
    if (loop.rows && loop.domain / loop.rows > Count{kMaxRow}) return Border::kReduction;
    return std::nullopt;
  }

  // The first joins the op's own loop to the group's; later ones are other groups that the op reads from.
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

}  // namespace

void group_fused(Groups& groups) {
  const std::vector<GroupId> none;
  Fuser(groups, none).run();
  const auto waits = find_waits(groups);
  if (std::ranges::all_of(waits, [](GroupId group) { return group == kNone; })) return;
  groups.part();
  Fuser(groups, waits).run();
}

}  // namespace opscope
