// The groups while they grow: which ops are together, what their kernel loops over, and why the rest is not
// with them. Strategies fill it, assemble() makes the Partition of it. Inside src/partition only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partition/dataflow.h"
#include "partition/order.h"
#include "partition/partition.h"

namespace opscope {

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

  // True where forward, backward or the optimizer's step begins between them: each runs as a whole.
  bool changes_phase(OpId earlier, OpId later) const;
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
