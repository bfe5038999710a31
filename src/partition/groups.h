// The groups while they grow: which ops are together, what their kernel loops over, and why the rest is not
// with them. Strategies fill it, assemble() makes the Partition of it. Inside src/partition only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partition/order.h"
#include "partition/partition.h"
#include "partition/traits.h"

namespace opscope {

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
  OpId writer(const Read& read) const { return flow.writes[read.write].op; }

  // True where forward, backward or the optimizer's step begins between them: each runs as a whole.
  bool changes_phase(OpId earlier, OpId later) const;
  // Every op by itself again.
  void part();
  // Members in execution order.
  std::vector<OpId> members(std::span<const GroupId> groups) const;
  // True where all of them together hold no more than the fast memory has.
  bool fits(std::span<const GroupId> groups, const Loop& together) const;
  // Merges and keeps the loop; kNone where they would wait for themselves.
  GroupId merge(std::span<const GroupId> groups, const Loop& together);
  // Puts an op that does no work to what made its argument, or else to what reads its result.
  void ride(OpId op);
  void ride_with_readers();
};

void group_layers(Groups& groups);
void group_fused(Groups& groups);

// By op: the group that it had better wait for than end the one it is in; kNone where it is well placed. One
// pass in reverse over groups that are made.
std::vector<GroupId> find_waits(const Groups& groups);

// Ops of known forms, in execution order, views between them included.
struct KnownForm {
  Form form = Form::kPlain;
  std::vector<OpId> ops;
  OpId result = kNone;  // the op that gives its result
};
std::vector<KnownForm> find_forms(const Groups& groups);

// Bytes that a group holds at once: the values of one tile, or of one row where it folds rows.
Count working_set(const Groups& groups, std::span<const OpId> members, const Loop& loop);

Partition assemble(Groups& groups);

// Whether two values that a kernel reads lie the same way: one loop cannot take an element of each where one
// of them was transposed, rolled or flipped on the way. Inside src/partition only.
class Turns {
 public:
  explicit Turns(const Groups& groups);

  // How a value lies, seen from the group that wrote it: equal numbers lie the same way.
  std::uint64_t of(const Read& read) const;
  // Once an op is placed: how what it gives lies, by what it takes from its group; a view's, by what it
  // shows.
  void place(OpId op);

 private:
  std::uint64_t turned(std::uint64_t turn, OpId op) const;

  const Groups& g_;
  std::vector<char> is_turning_;      // by target: moves elements to other places
  std::vector<std::uint64_t> turns_;  // by op
};

}  // namespace opscope
