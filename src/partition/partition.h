// Ops -> subgraphs: which ops a fusing compiler would run as one kernel, and why each group ends where it
// does. One more grouping of the same ops: every op that does work is in exactly one subgraph, the graph of
// subgraphs has no cycle, and fusing changes no work and raises no bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/count.h"
#include "base/text_blocks.h"
#include "cost/cost.h"
#include "graph/graph.h"

namespace opscope {

using SubgraphId = Id;

// none: each op by itself. layer: each call of a leaf module. fused: what one kernel can do.
enum class Strategy : std::uint8_t { kEachOp, kLayer, kFused };
std::string_view name(Strategy strategy);
Strategy strategy_from_name(std::string_view text);  // throws Error naming the choices

struct PartitionOptions {
  Strategy strategy = Strategy::kFused;
  Count fast_memory{};  // bytes that what a group holds at once must fit in; 0: no limit
};

// Why two ops that are joined by a value are not in one subgraph; for a subgraph, why it begins or ends.
enum class Border : std::uint8_t {
  kInput,    // what it takes are the model's inputs and weights
  kOutput,   // what it gives is the model's output
  kAnchor,   // the later has a kernel of its own: matmul, conv, attention
  kBarrier,  // the op next to it fuses with nothing
  kFork,     // its result is read in several places: for different reasons apart, or better off with another
  kJoin,     // several groups meet there, and it is in another of them
  kShapeChange,  // the next works on other shapes than a kernel loops over
  kReduction,    // the later needs all of its results before it can begin
  kSizeLimit,    // together they do not fit in fast memory
  kCycle,        // together they would wait for themselves
  kStrategy,     // the strategy asked for ends it here: another op, another layer
  kUnread,       // nobody reads what it gives
  kPhase,        // the next is of another phase of a training step
};
std::string_view name(Border border);         // "fork", "shape_change"
std::string_view explanation(Border border);  // a person's words: "its result is read in several places"

struct Subgraph {
  Range ops{};  // in Partition::ops, in execution order; views that ride along among them
  std::string_view
      type{};  // "conv+batch_norm+relu", "attention", "pointwise", "layer_norm": text of Partition::texts
  Category category = Category::kCustom;  // of the op that costs most
  ModuleId module = 0;                    // the innermost that ran all of it
  Work work{};
  Count flops{};
  Traffic traffic{};  // to and from memory, were it one kernel
  Count unfused_bytes{};
  Count working_set_bytes{};  // what it holds at once
  Count parallelism{};        // elements of its result that can be worked on independently
  Confidence confidence = Confidence::kExact;
  Range depends_on{};  // in Partition::refs: subgraphs whose results it takes, ascending
  Border begins = Border::kInput, ends = Border::kOutput;
  OpId begins_at = kNone, ends_at = kNone;  // the op on the other side of the border, where there is one

  Count memory_bytes() const { return traffic.total(); }
  Count saved_bytes() const { return unfused_bytes - memory_bytes(); }
};

// Two neighbours that were not put together though a value runs between them.
struct MissedFusion {
  SubgraphId from = 0, to = 0;
  Border why = Border::kAnchor;
  Count bytes{};  // that putting them together would have saved
};

struct Partition {
  PartitionOptions options;
  std::vector<Subgraph> subgraphs;  // in the order in which they can run
  std::vector<SubgraphId> of_op;    // by op; kNone: it does no work and rides along with none
  std::vector<OpId> ops;            // members, subgraph by subgraph
  std::vector<SubgraphId> refs;
  std::vector<MissedFusion> missed;      // by bytes, the most first
  std::vector<TextBlock> texts;          // what the types are written in
  Count unfused_bytes{}, fused_bytes{};  // of all ops, and of all subgraphs

  std::span<const OpId> ops_of(const Subgraph& s) const { return {ops.data() + s.ops.begin, s.ops.size}; }
  std::span<const SubgraphId> depends_on(const Subgraph& s) const {
    return {refs.data() + s.depends_on.begin, s.depends_on.size};
  }
};

// Linear in the graph. `costs`: by op, as estimate() gives them.
Partition make_partition(const Graph& graph, std::span<const OpCost> costs,
                         const PartitionOptions& options = {});

// Why an op is in no subgraph: "a view", "it reads sizes only".
std::string_view why_not_partitioned(const Graph& graph, std::span<const OpCost> costs, OpId op);

}  // namespace opscope
