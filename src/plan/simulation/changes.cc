// Changes are edits of the graph of costs.
#include "plan/simulation/changes.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace opscope {
namespace {

struct Edit {
  std::string what;
  std::function<void(CostGraph& graph)> apply;
};

// Seconds and not links are what tensors have: half of what the class takes to send and receive.
void halve_transfers(CostGraph& graph, std::size_t c) {
  for (CostTensor& tensor : graph.tensors) tensor.seconds[c] /= 2;
}

std::vector<Edit> edits_of(const CostGraph& graph) {
  std::vector<Edit> edits;
  bool any_transfers = false;
  for (std::size_t c = 0; c < graph.classes.size(); ++c) {
    const DeviceClass& one = graph.classes[c];
    edits.push_back({"one " + one.name + " more", [c](CostGraph& edited) { ++edited.classes[c].count; }});
    const bool transfers =
        !one.transfers_free &&
        std::ranges::any_of(graph.tensors, [&](const CostTensor& tensor) { return tensor.seconds[c] > 0; });
    any_transfers = any_transfers || transfers;
    if (transfers && graph.classes.size() > 1)
      edits.push_back({"links of " + one.name + " twice as fast",
                       [c](CostGraph& edited) { halve_transfers(edited, c); }});
    if (one.memory_bytes)
      edits.push_back({"half as much memory again on " + one.name,
                       [c](CostGraph& edited) { *edited.classes[c].memory_bytes *= 1.5; }});
  }
  if (any_transfers)
    edits.push_back({"all links twice as fast", [](CostGraph& edited) {
                       for (std::size_t c = 0; c < edited.classes.size(); ++c) halve_transfers(edited, c);
                     }});
  return edits;
}

}  // namespace

PlanLimit limit_of(const CostGraph& graph, const PlanSimulation& simulation) {
  PlanLimit limit;
  for (std::uint32_t p = 0; p < simulation.busy.size(); ++p) {
    const auto& busy = simulation.busy[p];
    const auto most = std::ranges::max_element(busy);
    const double share = graph.overlap ? *most : std::accumulate(busy.begin(), busy.end(), 0.0);
    if (share > limit.busy) limit = {p, static_cast<StageTask>(most - busy.begin()), share};
  }
  constexpr double kAllTheTime = 0.95;
  limit.is_runs_in_flight = limit.busy < kAllTheTime;
  return limit;
}

std::vector<PlanChange> changes_that_help(const CostGraph& graph, const PlanQuestion& question,
                                          const PlanAnswer& answer) {
  std::vector<PlanChange> changes;
  PlanQuestion again = question;
  again.against.reset();
  again.then_latency = false;
  again.most_steps /= 20;
  for (const Edit& edit : edits_of(graph)) {
    CostGraph edited = graph;
    edit.apply(edited);
    PlanAnswer found;
    try {
      found = solve(edited, again, "");
    } catch (const Error&) {
      continue;  // the search gave up before it found a plan
    }
    constexpr double kWorthSaying = 1.01;
    if (found.value <= 0 || answer.value / found.value < kWorthSaying) continue;
    changes.push_back({edit.what, found.value, answer.value / found.value});
  }
  std::ranges::stable_sort(changes, std::greater(), &PlanChange::better);
  return changes;
}

}  // namespace opscope
