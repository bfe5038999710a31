// What limits a plan, and what one change of the cluster would bring: each is planned again, exactly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/simulation/simulation.h"

namespace opscope {

// What is busiest in the steady state: a device, or with overlap its computing or its link.
struct PlanLimit {
  std::uint32_t part = 0;
  StageTask task = StageTask::kCompute;  // without overlap what takes most of the device's time
  double busy = 0;                       // share of the time
  bool is_runs_in_flight = false;        // nothing is busy all the time: more runs at once would help
};
PlanLimit limit_of(const CostGraph& graph, const PlanSimulation& simulation);

struct PlanChange {
  std::string what;   // "one l4 more"
  double value = 0;   // of the plan with it, by the objective
  double better = 0;  // how many times better than without
};

// A device more of a class, twice its link, half as much memory again; those that help, the best first.
std::vector<PlanChange> changes_that_help(const CostGraph& graph, const PlanQuestion& question,
                                          const PlanAnswer& answer);

}  // namespace opscope
