// Put together; each part is made elsewhere.
#include "plan/planned/planned.h"

namespace opscope {

PlannedGraph plan_graph(CostGraph graph, const PlanQuestion& question, std::string name,
                        std::size_t in_flight) {
  PlannedGraph planned{.name = std::move(name),
                       .graph = std::move(graph),
                       .answer = {},
                       .simulation = {},
                       .baselines = {},
                       .changes = {}};
  planned.answer = solve(planned.graph, question, planned.name);
  const Plan& plan = planned.answer.plan;
  planned.replicas = {1, plan.figures.slowest_seconds, planned.answer.lower_bound};
  if (question.objective != PlanObjective::kThroughput) planned.replicas.lower_bound_seconds = 0;
  if (in_flight == 0) in_flight = question.objective == PlanObjective::kLatency ? 1 : 2 * plan.parts.size();
  planned.simulation = simulate(planned.graph, plan, {.in_flight = in_flight});
  planned.baselines = baselines_of(planned.graph, planned.answer);
  constexpr std::size_t kMostItems = 20'000;  // each change is a search of its own
  if (planned.answer.items <= kMostItems)
    planned.changes = changes_that_help(planned.graph, question, planned.answer);
  return planned;
}

}  // namespace opscope
