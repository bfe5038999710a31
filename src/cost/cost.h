// Graph + cost table -> the cost of each op. Conventions are applied here and nowhere else.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/experts/experts.h"
#include "graph/graph.h"
#include "ops/op_rule.h"

namespace opscope {

// opscope: 2 per MAC, 1 per other flop, 1 per special. macs: MACs alone. torch: what FlopCounterMode counts.
// fvcore: what fvcore counts (a MAC is one flop there).
enum class Convention : std::uint8_t { kOpscope, kMacs, kTorch, kFvcore };
std::string_view name(Convention convention);
Convention convention_from_name(std::string_view text);  // throws Error naming the choices

struct OpCost {
  Work work = {};
  Traffic traffic = {};
  Count flops = {};  // under the convention asked for
  Confidence confidence = Confidence::kUnknown;
  const OpRule* rule = nullptr;  // nullptr: unknown, or declared for an op that has no row
  // In picoseconds, so that sums are the same in every order. 0 where nothing was measured, no device named.
  Count time = {};                // measured: the median of its runs, less what the clock itself takes
  Count roofline_time = {};       // the least it can take on the device
  Count predicted_time = {};      // its share of the predicted run
  Count predicted_wait = {};      // of that, the device waits for the host
  Count predicted_variance = {};  // of that, of its own, in square nanoseconds
  bool predicted_known = true;    // false: nothing predicts it
  bool roofline_known = true;     // false: its work is unknown, or how fast the device does such work
  bool compute_bound = false;     // on the device: its arithmetic takes longer than its bytes

  // The costliest of several has the most FLOPs, then the most bytes.
  std::pair<Count, Count> weight() const { return {flops, traffic.total()}; }
};

// One per op, in op order. Of a mixture of experts those are read that the tokens reach, as `experts` has it.
std::vector<OpCost> estimate(const Graph& graph, Convention convention, const Experts& experts);
std::vector<OpCost> estimate(const Graph& graph, Convention convention);  // with balanced routing
// As the tool of the convention itself would count: of the declared costs it knows those that it was given.
std::vector<OpCost> estimate_as_tool(const Graph& graph, Convention convention);
OpCost estimate_one(const Graph& graph, OpId op, Convention convention, const Experts& experts);
OpCost estimate_one(const Graph& graph, OpId op, Convention convention);

// "aten::conv2d  N*K*P*Q * C/g*R*S MACs = 1*64*112*112 * 3*7*7 = 118.01M" and its bytes, as lines of text.
std::string explain(const Graph& graph, OpId op, const Experts& experts);
std::string explain(const Graph& graph, OpId op);

}  // namespace opscope
