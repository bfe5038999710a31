// The whole answer: a graph, the plan of it, how it runs, and what stands beside it.
#pragma once

#include <string>
#include <vector>

#include "plan/baselines/baselines.h"
#include "plan/simulation/changes.h"
#include "plan/stages/stages.h"

namespace opscope {

// Of a whole model that are alike, each on devices of its own.
struct PlanReplicas {
  std::size_t count = 1;
  double period_seconds = 0;       // from one run to the next, of all together
  double lower_bound_seconds = 0;  // no number of replicas that are alike is better
};

struct PlannedGraph {
  std::string name;
  CostGraph graph;
  PlanAnswer answer;
  PlanSimulation simulation;
  std::vector<PlanBaseline> baselines;
  std::vector<PlanChange> changes;
  std::vector<std::string> notes{};
  PlanReplicas replicas{};  // the rest is of one of them
  ModelStages stages{};     // of a model; empty of a plain graph of costs
};

// `in_flight`: runs on their way at once in the simulation; 0: 1 for latency, else two for each part, so that
// transfers are hidden.
PlannedGraph plan_graph(CostGraph graph, const PlanQuestion& question, std::string name,
                        std::size_t in_flight = 0);

}  // namespace opscope
