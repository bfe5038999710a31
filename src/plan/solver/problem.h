// What the solver works on: nodes that have to be on one device made one item, items that need no decision
// of their own joined with a neighbour, and the order that items of a plan have to be in.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/costs/cost_graph.h"

namespace opscope {

struct PlanItem {
  std::vector<std::uint32_t> nodes;  // of the graph
  std::vector<double> seconds;       // by class; kCannotRun
  double bytes = 0, peak_bytes = 0;
  std::vector<std::uint32_t> shared;
  std::vector<std::uint32_t> before, after;  // items that come earlier and later, each once
  std::vector<std::uint32_t> reads, writes;  // tensors
};

struct PlanTensor {
  std::uint32_t producer = 0;
  std::vector<std::uint32_t> consumers;  // other items, each once
  std::vector<double> seconds;           // by class; 0 where transfers are free
  double bytes = 0;                      // of all tensors that it stands for
  bool is_forward = true;                // its producer comes before all who read it
};

// Items are in an order that a plan may run them in.
struct PlanProblem {
  const CostGraph* graph = nullptr;
  std::vector<PlanItem> items;
  std::vector<PlanTensor> tensors;

  std::size_t classes() const { return graph->classes.size(); }
};

// Loses no plan that could be better than all that are left.
PlanProblem make_problem(const CostGraph& graph);

// The same with fewer plans: an item may only be `window` places ahead of others. 1: a chain.
PlanProblem restricted(const PlanProblem& problem, std::size_t window);

}  // namespace opscope
