// The whole answer: a graph, the plan of it, how it runs, and what stands beside it.
#pragma once

#include <string>
#include <vector>

#include "plan/baselines/baselines.h"
#include "plan/simulation/changes.h"
#include "plan/stages/stages.h"

namespace opscope {

struct PlannedGraph {
  std::string name;
  CostGraph graph;
  PlanAnswer answer;
  PlanSimulation simulation;
  std::vector<PlanBaseline> baselines;
  std::vector<PlanChange> changes;
  std::vector<std::string> notes{};
  ModelStages stages{};  // of a model; empty of a plain graph of costs
};

// `in_flight`: runs on their way at once in the simulation; 0: 1 for latency, else two for each part, so that
// transfers are hidden.
PlannedGraph plan_graph(CostGraph graph, const PlanQuestion& question, std::string name,
                        std::size_t in_flight = 0);

}  // namespace opscope
