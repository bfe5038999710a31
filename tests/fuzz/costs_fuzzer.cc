// Any bytes -> the reader of graphs of costs -> plans of those that are small.
#include "fuzz/accepted.h"
#include "plan/planned/planned.h"
#include "readers/plan/cost_reader.h"
#include "report/plan/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opscope;
  const auto graph = accepted([&] { return read_costs(text_of(data, size), "fuzz"); });
  if (!graph || graph->nodes.size() > 12 || graph->devices() > 8) return 0;
  for (const PlanObjective objective : {PlanObjective::kThroughput, PlanObjective::kLatency}) {
    const auto planned = accepted([&] {
      return plan_graph(*graph, {.objective = objective, .most_steps = 100'000, .most_values = 100'000},
                        "fuzz");
    });
    if (!planned) continue;
    require(planned->answer.lower_bound <= planned->answer.value);
    for (const Format format : all_formats()) require(!to_format(*planned, format).empty());
  }
  return 0;
}
