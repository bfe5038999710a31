// The groups while they grow: which ops are together, what their kernel loops over, and why the rest is not
// with them. Strategies fill it, assemble() makes the Partition of it. Inside src/partition only.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "partition/dataflow.h"
#include "partition/partition.h"

namespace opscope {

using GroupId = OpId;  // one of its ops; changes as groups merge

// Groups of ops in an order in which they can run, kept while groups are put together: two become one only
// where no way leads from one out of it and back. Groups merge at the place of the first of them; what the
// later ones wait for and stands behind that place moves before it, and what waits for the first behind that
// (after Pearce and Kelly), so that a merge of neighbours costs little however large the graph.
class GroupOrder {
 public:
  explicit GroupOrder(const Dataflow& flow)
      : flow_(&flow),
        group_of_(flow.works.size()),
        next_(flow.works.size(), kNone),
        size_(flow.works.size(), 1),
        mark_(flow.works.size(), 0) {
    std::iota(group_of_.begin(), group_of_.end(), 0u);
    first_ = last_ = position_ = group_of_;
  }

  GroupId group_of(OpId op) const { return group_of_[op]; }
  // Where in the order: each group's is different, and smaller than those of all that wait for it.
  std::uint32_t position(GroupId group) const { return position_[group]; }
  std::uint32_t size(GroupId group) const { return size_[group]; }

  template <class Visit>
  void each_member(GroupId group, Visit visit) const {
    for (OpId op = first_[group]; op != kNone; op = next_[op]) visit(op);
  }

  // Makes one group of several; kNone where it would wait for itself, or where looking for such a way takes
  // too long. Otherwise the id that the one group goes by.
  GroupId merge(std::span<const GroupId> groups) {
    std::uint32_t lowest = kNone;
    for (const GroupId group : groups) lowest = std::min(lowest, position_[group]);
    steps_ = 0;
    if (!find_before(groups, lowest)) return kNone;
    std::uint32_t highest = lowest;
    for (const GroupId group : before_) highest = std::max(highest, position_[group]);
    if (!find_after(groups, highest)) return kNone;
    return join(groups, reorder(lowest));
  }

 private:
  // Ops and edges that one search may look at. Neighbours in real models are found in a few dozen; a merge
  // that needs more is left out, so that the whole stays linear.
  static constexpr std::uint32_t kMaxSteps = 1024;

  // From each group that `starts`, then from each that was found on the way. `meet(group, is_outside)`: what
  // an edge leads to, from one of the groups or from outside; false ends the search.
  template <class Starts, class Edges, class Meet>
  bool search(std::span<const GroupId> groups, Starts starts, const std::vector<GroupId>& found, Edges edges,
              Meet meet) {
    const auto expand = [&](GroupId group, bool is_outside) {
      for (OpId op = first_[group]; op != kNone; op = next_[op]) {
        const std::span<const OpId> others = edges(op);
        steps_ += 1 + static_cast<std::uint32_t>(others.size());
        if (steps_ > kMaxSteps) return false;
        for (const OpId other : others)
          if (!meet(group_of_[other], is_outside)) return false;
      }
      return true;
    };
    for (const GroupId group : groups)
      if (starts(group) && !expand(group, false)) return false;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!expand(found[i], true)) return false;
    return true;
  }

  // Into before_: all outside that they wait for and that stands behind `lowest`; false where one of that
  // waits for them in turn. The one that stands first waits for nothing behind itself.
  bool find_before(std::span<const GroupId> groups, std::uint32_t lowest) {
    const std::uint32_t own = ++serial_, met = ++serial_;
    before_.clear();
    for (const GroupId group : groups) mark_[group] = own;
    return search(
        groups, [&](GroupId group) { return position_[group] != lowest; }, before_,
        [&](OpId op) { return flow_->before(op); },
        [&](GroupId from, bool is_outside) {
          if (mark_[from] == own) return !is_outside;
          if (mark_[from] == met || position_[from] < lowest) return true;
          mark_[from] = met;
          before_.push_back(from);
          return true;
        });
  }

  // Into after_: all outside that waits for them and stands before `highest`.
  bool find_after(std::span<const GroupId> groups, std::uint32_t highest) {
    const std::uint32_t own = ++serial_;
    after_.clear();
    for (const GroupId group : groups) mark_[group] = own;
    return search(
        groups, [&](GroupId group) { return position_[group] < highest; }, after_,
        [&](OpId op) { return flow_->after(op); },
        [&](GroupId to, bool) {
          if (mark_[to] == own || position_[to] > highest) return true;
          mark_[to] = own;
          after_.push_back(to);
          return true;
        });
  }

  // Shares out the same places: first what comes before, then one that is returned, then what comes after.
  std::uint32_t reorder(std::uint32_t own) {
    if (before_.empty()) return own;
    std::vector<std::uint32_t> places{own};
    for (auto* groups : {&before_, &after_}) {
      std::ranges::sort(*groups, {}, [&](GroupId group) { return position_[group]; });
      for (const GroupId group : *groups) places.push_back(position_[group]);
    }
    std::ranges::sort(places);
    auto place = places.begin();
    for (const GroupId group : before_) position_[group] = *place++;
    own = *place++;
    for (const GroupId group : after_) position_[group] = *place++;
    return own;
  }

  // The largest keeps its id, so that each op changes hands a few times at most.
  GroupId join(std::span<const GroupId> groups, std::uint32_t position) {
    const GroupId kept = *std::ranges::max_element(groups, {}, [&](GroupId group) { return size_[group]; });
    for (const GroupId group : groups) {
      if (group == kept) continue;
      each_member(group, [&](OpId op) { group_of_[op] = kept; });
      next_[last_[kept]] = first_[group];
      last_[kept] = last_[group];
      size_[kept] += size_[group];
    }
    position_[kept] = position;
    return kept;
  }

  const Dataflow* flow_;
  std::vector<GroupId> group_of_;                       // by op
  std::vector<OpId> next_;                              // by op: of the same group
  std::vector<std::uint32_t> size_, mark_;              // by group; mark: the search that met it
  std::vector<std::uint32_t> first_, last_, position_;  // by group
  std::uint32_t serial_ = 0, steps_ = 0;
  std::vector<GroupId> before_, after_;  // of the merge under way
};

// What fusing has to know of one op: its fusion class of the cost table, narrowed by this call's arguments,
// and the sizes that its kernel would loop over.
enum class Role : std::uint8_t {
  kRide,       // does no work
  kPointwise,  // element by element of its result
  kRows,       // folds rows, each by itself: sums, norms, softmax
  kWindow,     // reads neighbours: pooling
  kGather,     // reads wherever its indices say, writes element by element
  kAnchor,     // a kernel of its own that may go on with its result: matmul, conv, attention
  kBarrier,    // fuses with nothing
};

struct Trait {
  Role role = Role::kRide;
  Category category = Category::kCustom;
  Count out{};   // elements of its largest result
  Count in{};    // elements of its largest argument that is not a weight
  Count rows{};  // kRows: that it folds
  // kPointwise: each element is one of an argument's, so that all of them fit its loop.
  bool is_concat = false;
};

// Forms that are known as a whole, and are more than their parts side by side.
enum class Form : std::uint8_t { kPlain, kAttention, kSqueezeExcite };

// Ops of one group, views included, that are looked at again when it grows: where there are more it does not,
// so that the whole stays linear.
inline constexpr std::uint32_t kMaxMembers = 1024;

// What a group's kernel loops over.
struct Loop {
  Count domain{};             // elements of its result; with rows, of what it folds
  Count rows{};               // that it folds, each by itself; 0: none
  std::uint32_t working = 0;  // ops that do work
  bool has_anchor = false;
  bool is_closed = false;  // a barrier
  Form form = Form::kPlain;
  GroupId waits_for = kNone;  // of the groups of the pass before: that its ops had better be in
};

struct Groups {
  Groups(const Graph& graph, std::span<const OpCost> costs, const PartitionOptions& options);

  const Graph& graph;
  std::span<const OpCost> costs;
  PartitionOptions options;
  Dataflow flow;
  std::vector<Trait> traits;  // by op
  GroupOrder order;
  std::vector<Loop> loops;  // by group
  std::vector<Border> why;  // by read: why reader and writer are apart, where they are

  Border& why_of(const Read& read) { return why[static_cast<std::size_t>(&read - flow.reads.data())]; }
  Border why_of(const Read& read) const { return why[static_cast<std::size_t>(&read - flow.reads.data())]; }
  OpId writer(const Read& read) const { return flow.writes[read.write].op; }

  // Every op by itself again.
  void part();
  // True where all of them together hold no more than the fast memory has.
  bool fits(std::span<const GroupId> groups, const Loop& together) const;
  // Merges and keeps the loop; kNone where they would wait for themselves.
  GroupId merge(std::span<const GroupId> groups, const Loop& together);
  // Puts an op that does no work to what made its argument, or else to what reads its result.
  void ride(OpId op);
  void ride_with_readers();
};

void group_fused(Groups& groups);

// Ops of known forms, in execution order, views between them included.
struct KnownForm {
  Form form = Form::kPlain;
  std::vector<OpId> ops;
  OpId result = kNone;  // the op that gives its result
};
std::vector<KnownForm> find_forms(const Groups& groups);

// Bytes that a group holds at once: the values of one tile, or of one row where it folds rows.
Count working_set(const Groups& groups, std::span<const OpId> members, const Loop& loop);

// Bytes as one kernel, of subgraphs that have their members.
void add_traffic(const Groups& groups, Partition& partition);

Partition assemble(const Groups& groups);

}  // namespace opscope
