// The dual of spreading items in fractions: any weights give a bound, and a few hundred steps find good ones.
#include "plan/solver/bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace opscope {
namespace {

// One step: what the bound is with these weights, and how loaded each class is when every item goes where it
// is cheapest.
struct Spread {
  double bound = 0;
  std::vector<double> load;  // of a device of each class
};

Spread spread(const PlanProblem& problem, const std::vector<double>& weights) {
  const auto& classes = problem.graph->classes;
  Spread result{0, std::vector<double>(classes.size(), 0)};
  for (const PlanItem& item : problem.items) {
    std::size_t best = 0;
    double least = kCannotRun;
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (classes[c].count > 0 && weights[c] * item.seconds[c] < least)
        least = weights[c] * item.seconds[c], best = c;
    if (!std::isfinite(least)) continue;  // no device runs the whole of it: found out elsewhere
    result.bound += least;
    result.load[best] += item.seconds[best] / static_cast<double>(classes[best].count);
  }
  return result;
}

// So that all devices together have weight 1.
void normalise(const std::vector<DeviceClass>& classes, std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) sum += weights[c] * static_cast<double>(classes[c].count);
  for (double& weight : weights) weight /= sum;
}

// Some class has less memory than all items need.
bool memory_is_short(const PlanProblem& problem) {
  double bytes = 0;
  for (const PlanItem& item : problem.items) bytes += item.bytes;
  return bytes > 0 && std::ranges::any_of(problem.graph->classes, [&](const DeviceClass& one) {
           return one.memory_bytes && *one.memory_bytes * static_cast<double>(one.count) < bytes;
         });
}

// Weights and prices in turn: what is too full becomes dearer to hold, what is too slow dearer to run.
void add_memory(const PlanProblem& problem, SpreadBound& bound) {
  std::vector<double> weights = bound.weights;
  constexpr int kTurns = 12;
  for (int turn = 0; turn < kTurns; ++turn) {
    const SumBound sum = sum_bound(problem, weights);
    if (sum.all > bound.all) bound = {weights, sum.memory, sum.least, sum.all};
    const double most = *std::ranges::max_element(sum.load);
    if (most <= 0) return;
    for (std::size_t c = 0; c < weights.size(); ++c)
      weights[c] *= std::exp((sum.load[c] / most - 0.5) / (1.0 + turn));
    normalise(problem.graph->classes, weights);
  }
}

// By prices of a byte of each class.
SumBound priced_sum(const PlanProblem& problem, const std::vector<double>& weights,
                    const std::vector<double>& prices, std::vector<double>& held) {
  const auto& classes = problem.graph->classes;
  const auto cost = [&](const PlanItem& item, std::size_t c) {
    return classes[c].count == 0 ? kCannotRun : weights[c] * item.seconds[c] + prices[c] * item.bytes;
  };
  const std::vector<double> none(classes.size(), 0);
  SumBound sum{.least = {}, .memory = none, .load = none};
  held = none;
  for (const PlanItem& item : problem.items) {
    std::size_t on = 0;
    for (std::size_t c = 1; c < classes.size(); ++c)
      if (cost(item, c) < cost(item, on)) on = c;
    const bool runs = std::isfinite(cost(item, on));
    sum.least.push_back(runs ? cost(item, on) : 0);
    sum.all += sum.least.back(), held[on] += item.bytes;
    if (runs) sum.load[on] += item.seconds[on] / static_cast<double>(classes[on].count);
  }
  sum.all *= 1 - 1e-12;  // rounding shall not make it more than it is
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].memory_bytes) sum.memory[c] = prices[c] * *classes[c].memory_bytes;
    sum.all -= sum.memory[c] * static_cast<double>(classes[c].count);
  }
  return sum;
}

}  // namespace

SpreadBound spread_bound(const PlanProblem& problem) {
  const auto& classes = problem.graph->classes;
  std::vector<double> weights(classes.size(), 1), best;
  double bound = -1;
  constexpr int kSteps = 400;
  for (int step = 0; step < kSteps; ++step) {
    normalise(classes, weights);
    const Spread now = spread(problem, weights);
    if (now.bound > bound) bound = now.bound, best = weights;
    const double most = *std::ranges::max_element(now.load);
    if (most <= 0 || classes.size() == 1) break;
    // Loaded classes become dearer, in ever smaller steps.
    const double pace = 1.0 / std::sqrt(1.0 + step);
    for (std::size_t c = 0; c < classes.size(); ++c)
      weights[c] *= std::exp(pace * (now.load[c] / most - 0.5));
  }
  SpreadBound result{best, std::vector<double>(classes.size(), 0), least_items(problem, best), 0};
  result.all = std::accumulate(result.least.begin(), result.least.end(), 0.0) * (1 - 1e-12);
  if (memory_is_short(problem)) add_memory(problem, result);
  return result;
}

SumBound sum_bound(const PlanProblem& problem, const std::vector<double>& weights) {
  const auto& classes = problem.graph->classes;
  std::vector<double> prices(classes.size(), 0), held;
  SumBound best = priced_sum(problem, weights, prices, held);
  if (!memory_is_short(problem)) return best;
  double bytes = 0, seconds = 0;
  for (const PlanItem& item : problem.items) {
    bytes += item.bytes;
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (std::isfinite(item.seconds[c])) seconds += weights[c] * item.seconds[c];
  }
  constexpr int kSteps = 300;
  for (int step = 0; step < kSteps; ++step) {
    const double pace = 4 * seconds / (bytes * std::sqrt(1.0 + step));
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (!classes[c].memory_bytes) continue;
      const double room = *classes[c].memory_bytes * static_cast<double>(classes[c].count);
      prices[c] = std::max(0.0, prices[c] + pace * (held[c] - room) / bytes);
    }
    SumBound now = priced_sum(problem, weights, prices, held);
    if (now.all > best.all) best = std::move(now);
  }
  return best;
}

double largest_item(const PlanProblem& problem) {
  double largest = 0;
  for (const double least : least_items(problem, std::vector<double>(problem.classes(), 1)))
    largest = std::max(largest, least);
  return largest;
}

std::vector<double> least_items(const PlanProblem& problem, const std::vector<double>& weights) {
  std::vector<double> least;
  for (const PlanItem& item : problem.items) {
    double value = kCannotRun;
    for (std::size_t c = 0; c < weights.size(); ++c)
      if (problem.graph->classes[c].count > 0) value = std::min(value, weights[c] * item.seconds[c]);
    least.push_back(std::isfinite(value) ? value : 0);
  }
  return least;
}

}  // namespace opscope
