// Plans that are best by one objective, or a front of plans by two, each with a bound that no plan is better
// than.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/costs/cost_graph.h"

namespace opscope {

enum class PlanObjective : std::uint8_t {
  kThroughput,  // the slowest device: the time from one run to the next when many are on their way
  kLatency,     // one run alone: all parts one after the other
  kDevices,     // the fewest; of these the fastest slowest
  kCost,        // the price of the devices in use, for the time from one run to the next
  kEnergy,      // of one run: what devices draw while they compute, send or receive
};
std::string_view name(PlanObjective objective);  // "throughput", ...
PlanObjective plan_objective_from_name(std::string_view text, std::string_view where);

// By every objective; none where a price or a power is not known.
struct PlanFigures {
  double slowest_seconds = 0, latency_seconds = 0;
  std::size_t devices = 0;
  std::optional<double> cost{}, energy_joules{};

  std::optional<double> of(PlanObjective objective) const;
};

struct Plan {
  std::vector<PlanPart> parts;  // in the order that they run in
  PlanFigures figures;
};

PlanFigures figures_of(const CostGraph& graph, const std::vector<PlanPart>& parts);

struct PlanQuestion {
  PlanObjective objective = PlanObjective::kThroughput;
  std::optional<PlanObjective> against{};  // a front of the two is wanted
  bool then_latency = false;               // of plans of the best throughput the one with the least latency
  std::uint64_t most_steps = 100'000'000;  // of the search, until it gives up and tells how far off it may be
  std::size_t most_values = 40'000'000;
};

// "throughput", or "throughput,latency" for a front of the two; throws Error at `where`.
PlanQuestion plan_question(std::string_view objectives, std::string_view where);

struct PlanAnswer {
  PlanQuestion question;
  Plan plan;
  double value = 0;             // by the objective
  double lower_bound = 0;       // no plan is better
  std::optional<Plan> chain{};  // the best of one order of all items, where the search began with it
  std::vector<Plan> front{};    // from best by the objective to best by the other
  bool front_is_whole = true;
  std::size_t items = 0, downsets = 0;  // what the search made of the graph
  std::uint64_t steps = 0;
  double solve_seconds = 0;

  double gap() const { return value > 0 ? (value - lower_bound) / value : 0; }
  bool is_proven() const { return gap() <= 1e-9; }
};

// Throws Error at `where` where no plan fits, or prices or powers are asked for and not known.
PlanAnswer solve(const CostGraph& graph, const PlanQuestion& question, const std::string& where);

// A value that no plan is better than, without looking for one: from the times and bytes of nodes alone.
double least_of_any_plan(const CostGraph& graph, PlanObjective objective);

// The pass of a search that has an objective; that of throughput where it is no sum.
struct SearchPass pass_of(const CostGraph& graph, PlanObjective objective);

// Parts priced, and what the plan comes to.
Plan priced(const CostGraph& graph, std::vector<PlanPart> parts);

}  // namespace opscope
