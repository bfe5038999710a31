// Our fused groups beside the kernels that another compiler makes of the same ops: where both put two ops
// together, where only one of them does, and what keeps them apart. What is compared are pairs of ops that do
// work and are joined by a value, views seen through: that value stays in the kernel, or it goes through
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cost.h"
#include "graph/graph.h"
#include "partition/partition.h"

namespace opscope {

// fused: loops that the compiler writes itself. extern: a call of a library. template: a kernel that it has a
// pattern for and may write further loops into.
enum class KernelKind : std::uint8_t { kFused, kExtern, kTemplate };
std::string_view name(KernelKind kind);
KernelKind kernel_kind_from_name(std::string_view text);  // throws Error naming the choices

struct OtherKernel {
  std::string name, target;  // "op3_op4"; the library's function
  KernelKind kind = KernelKind::kFused;
  std::vector<NodeId> nodes;  // of the tracer's graph; empty: it lays memory out anew for another kernel
  std::vector<NodeId> rest;   // what a library is called for, and this does the rest of: bias, masks, copies
};

// Why the other compiler has two of its kernels apart, in its own words.
struct OtherCut {
  Id from = 0, to = 0;
  std::string reason;
};

struct OtherFusion {
  std::string compiler, setting, version;  // "Inductor", "inductor-max", "2.13.0+cpu"
  bool frozen = false;                     // weights are constants there
  std::vector<OtherKernel> kernels;
  std::vector<OtherCut> cuts;
};

// Pairs of ops joined by a value.
struct PairCounts {
  std::uint64_t both = 0, ours_only = 0, theirs_only = 0, neither = 0;
  Count both_bytes{}, ours_only_bytes{}, theirs_only_bytes{};  // of the values between them
  std::uint64_t unjudged = 0;  // one of them is in no kernel, or the tracer's node does not tell them apart

  std::uint64_t ours() const { return both + ours_only; }
  std::uint64_t theirs() const { return both + theirs_only; }
  double precision() const { return share(both, ours()); }  // of what we put together, what they do too
  double recall() const { return share(both, theirs()); }   // of what they put together, what we do too

 private:
  static double share(std::uint64_t part, std::uint64_t whole) {
    return whole ? static_cast<double>(part) / static_cast<double>(whole) : 1.0;
  }
};

// Pairs of one sort that only one side has together.
struct PairDifference {
  bool is_ours = false;  // together here; otherwise together there
  std::string from, to;  // "conv2d", "batch_norm"
  std::string why;       // from the side that has them apart
  std::uint64_t count = 0;
  Count bytes{};  // of the values between them
  OpId first_from = kNone, first_to = kNone;
};

// Groups of one sort that the other side has in several pieces.
struct GroupDifference {
  bool is_ours = false;
  std::string type;    // "conv+batch_norm+relu" of ours, "add + layer_norm" of theirs
  std::string pieces;  // "conv2d | batch_norm + relu", a library's marked so
  std::string why;
  std::uint64_t count = 0;
  OpId first = kNone;
};

struct FusionComparison {
  const Graph* graph = nullptr;
  const OtherFusion* other = nullptr;
  std::uint64_t ops = 0;                  // that do work
  std::uint64_t groups = 0, kernels = 0;  // with such ops; a kernel counts once for each run of its graph
  std::uint64_t fused = 0, library_calls = 0, templates = 0;  // of the kernels
  std::uint64_t layout_kernels = 0;  // that do no op's work: they lay operands out for a library
  std::uint64_t equal_groups = 0;    // the same ops on both sides
  std::uint64_t folded = 0;          // ops that left no trace there: taken into the library call beside them
  std::uint64_t constant = 0;        // ops that the compiler worked out itself
  std::uint64_t removed = 0;         // ops that it found superfluous
  std::uint64_t outside = 0;         // ops that ran outside the tracer's graphs
  std::uint64_t split = 0;           // ops that several kernels work on
  PairCounts pairs;
  std::vector<PairDifference> differences;         // ours first; by count, the most first
  std::vector<GroupDifference> group_differences;  // likewise
};

// Linear in the graph but for a sort. The graph has a tracer's nodes; `costs` are by op.
FusionComparison compare_fusion(const Graph& graph, std::span<const OpCost> costs, const Partition& partition,
                                const OtherFusion& other);

}  // namespace opscope
