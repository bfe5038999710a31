// Objectives by name, and plans by all of them.
#include <algorithm>

#include "base/choices.h"
#include "plan/solver/solve.h"

namespace opscope {
namespace {

constexpr auto kObjectives =
    choices<PlanObjective, PlanObjective::kEnergy>("throughput", "latency", "devices", "cost", "energy");

}  // namespace

std::string_view name(PlanObjective objective) { return kObjectives[objective]; }

PlanObjective plan_objective_from_name(std::string_view text, std::string_view where) {
  return kObjectives.parse(text, "no objective called", where);
}

PlanQuestion plan_question(std::string_view objectives, std::string_view where) {
  const auto names = split_by(objectives, ',');
  if (names.size() > 2)
    throw Error("a front is of two objectives", std::string(where), "for example throughput,latency");
  PlanQuestion question{.objective = plan_objective_from_name(names[0], where)};
  if (names.size() == 2) question.against = plan_objective_from_name(names[1], where);
  return question;
}

std::optional<double> PlanFigures::of(PlanObjective objective) const {
  switch (objective) {
    case PlanObjective::kThroughput:
      return slowest_seconds;
    case PlanObjective::kLatency:
      return latency_seconds;
    case PlanObjective::kDevices:
      return static_cast<double>(devices);
    case PlanObjective::kCost:
      return cost;
    case PlanObjective::kEnergy:
      return energy_joules;
  }
  return std::nullopt;
}

PlanFigures figures_of(const CostGraph& graph, const std::vector<PlanPart>& parts) {
  PlanFigures figures{.devices = parts.size(), .cost = 0.0, .energy_joules = 0.0};
  for (const PlanPart& part : parts) {
    const DeviceClass& on = graph.classes[part.device_class];
    const double busy = part.compute_seconds + part.send_seconds + part.receive_seconds;
    const double alone = part.compute_seconds + part.hop_seconds;
    figures.slowest_seconds = std::max(figures.slowest_seconds, part.seconds);
    figures.latency_seconds += alone;
    if (figures.energy_joules && on.watts)
      *figures.energy_joules += *on.watts * busy;
    else
      figures.energy_joules.reset();
    if (figures.cost && on.price_per_hour)
      *figures.cost += *on.price_per_hour / 3600;
    else
      figures.cost.reset();
  }
  if (figures.cost) *figures.cost *= figures.slowest_seconds;
  return figures;
}

Plan priced(const CostGraph& graph, std::vector<PlanPart> parts) {
  price(graph, parts);
  const PlanFigures figures = figures_of(graph, parts);
  return {std::move(parts), figures};
}

}  // namespace opscope
