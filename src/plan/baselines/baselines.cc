// Baselines are chains: cuts of one order of all items.
#include "plan/baselines/baselines.h"

#include <algorithm>
#include <cmath>

#include "plan/solver/search.h"

namespace opscope {
namespace {

// The classes of devices one by one, in the order of the file.
std::vector<std::uint32_t> device_classes(const CostGraph& graph, std::size_t most) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t c = 0; c < graph.classes.size(); ++c)
    all.insert(all.end(), std::min(graph.classes[c].count, most - all.size()), c);
  return all;
}

// Items on devices: part_of says the device of each, rising.
PlanBaseline from_places(std::string name, const PlanProblem& problem,
                         const std::vector<std::uint32_t>& classes, const std::vector<std::size_t>& place) {
  const CostGraph& graph = *problem.graph;
  std::vector<PlanPart> parts;
  std::vector<std::uint32_t> used(graph.classes.size(), 0);
  for (std::size_t device = 0; device < classes.size(); ++device) {
    PlanPart part{.device_class = classes[device]};
    part.device = used[part.device_class]++;
    for (std::size_t i = 0; i < place.size(); ++i)
      if (place[i] == device)
        part.nodes.insert(part.nodes.end(), problem.items[i].nodes.begin(), problem.items[i].nodes.end());
    std::ranges::sort(part.nodes);
    if (!part.nodes.empty()) parts.push_back(std::move(part));
  }
  Plan plan = priced(graph, std::move(parts));
  for (const PlanPart& part : plan.parts) {
    const DeviceClass& on = graph.classes[part.device_class];
    if (!std::isfinite(part.compute_seconds))
      return {std::move(name), std::nullopt, "'" + on.name + "' cannot run its part"};
    if (on.memory_bytes && part.bytes > *on.memory_bytes)
      return {std::move(name), std::nullopt, "a part does not fit a device of '" + on.name + "'"};
  }
  return {std::move(name), std::move(plan)};
}

PlanBaseline even_split(const PlanProblem& problem) {
  const auto classes = device_classes(*problem.graph, problem.items.size());
  std::vector<std::size_t> place;
  for (std::size_t i = 0; i < problem.items.size(); ++i)
    place.push_back(i * classes.size() / problem.items.size());
  return from_places("even split", problem, classes, place);
}

PlanBaseline fill(const PlanProblem& problem) {
  const CostGraph& graph = *problem.graph;
  const auto classes = device_classes(graph, problem.items.size());
  std::vector<std::size_t> place;
  std::vector<bool> shared(graph.shared_bytes.size(), false);
  std::size_t device = 0;
  double bytes = 0, peak = 0;
  for (const PlanItem& item : problem.items) {
    const auto memory = graph.classes[classes[device]].memory_bytes.value_or(kCannotRun);
    double more = item.bytes;
    for (const std::uint32_t each : item.shared) more += shared[each] ? 0 : graph.shared_bytes[each];
    if (bytes + more + std::max(peak, item.peak_bytes) > memory) {
      if (++device == classes.size()) return {"fill in order", std::nullopt, "the last device is full"};
      bytes = peak = 0;
      shared.assign(shared.size(), false);
    }
    for (const std::uint32_t each : item.shared)
      if (!shared[each]) bytes += graph.shared_bytes[each], shared[each] = true;
    bytes += item.bytes, peak = std::max(peak, item.peak_bytes);
    place.push_back(device);
  }
  return from_places("fill in order", problem, classes, place);
}

PlanBaseline best_chain(std::string name, const PlanProblem& problem, const PlanQuestion& question) {
  const PlanProblem chain = restricted(problem, 1);
  const SearchPass pass = pass_of(*problem.graph, question.objective);
  Search search(chain, {question.most_steps, question.most_values}, pass.hops);
  const std::vector<double> best = search.run(pass).best;
  const auto least = std::ranges::min_element(best);
  if (!std::isfinite(*least)) return {std::move(name), std::nullopt, "no chain of parts fits"};
  return {std::move(name),
          priced(*problem.graph, search.plan(static_cast<std::size_t>(least - best.begin())))};
}

}  // namespace

std::vector<PlanBaseline> baselines_of(const CostGraph& graph, const PlanAnswer& answer) {
  const PlanQuestion& question = answer.question;
  const PlanProblem problem = make_problem(graph);
  std::vector<PlanBaseline> all{even_split(problem), fill(problem)};
  all.push_back(answer.chain ? PlanBaseline{"best chain", answer.chain}
                             : best_chain("best chain", problem, question));
  for (std::size_t only = 0; only < graph.classes.size() && graph.classes.size() > 1; ++only) {
    CostGraph part = graph;
    for (std::size_t c = 0; c < part.classes.size(); ++c)
      if (c != only) part.classes[c].count = 0;
    PlanProblem of_part = problem;
    of_part.graph = &part;
    all.push_back(best_chain("best chain on " + graph.classes[only].name, of_part, question));
  }
  return all;
}

}  // namespace opscope
