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
  // Rounding shall not make it more than it is.
  SpreadBound result{best, least_items(problem, best), 0};
  result.all = std::accumulate(result.least.begin(), result.least.end(), 0.0) * (1 - 1e-12);
  return result;
}

SumBound sum_bound(const PlanProblem& problem, const std::vector<double>& weights) {
  const auto& classes = problem.graph->classes;
  std::vector<double> prices(classes.size(), 0), best = prices;  // of a byte
  double bytes = 0, seconds = 0, bound = -1;
  for (const PlanItem& item : problem.items) {
    bytes += item.bytes;
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (std::isfinite(item.seconds[c])) seconds += weights[c] * item.seconds[c];
  }
  const auto cost = [&](const PlanItem& item, std::size_t c) {
    return classes[c].count == 0 ? kCannotRun : weights[c] * item.seconds[c] + prices[c] * item.bytes;
  };
  const auto room = [&](std::size_t c) {
    return classes[c].memory_bytes ? *classes[c].memory_bytes * static_cast<double>(classes[c].count) : bytes;
  };
  SumBound result;
  const auto work_out = [&] {
    result = {{}, std::vector<double>(classes.size(), 0), 0};
    std::vector<double> held(classes.size(), 0);
    for (const PlanItem& item : problem.items) {
      std::size_t on = 0;
      for (std::size_t c = 1; c < classes.size(); ++c)
        if (cost(item, c) < cost(item, on)) on = c;
      const double least = cost(item, on);
      result.least.push_back(std::isfinite(least) ? least : 0);
      result.all += result.least.back(), held[on] += item.bytes;
    }
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (classes[c].memory_bytes) result.memory[c] = prices[c] * *classes[c].memory_bytes;
      result.all -= result.memory[c] * static_cast<double>(classes[c].count);
    }
    return held;
  };
  constexpr int kSteps = 300;
  const bool is_limited =
      bytes > 0 && std::ranges::any_of(classes, [&](const DeviceClass& one) {
        return one.memory_bytes && *one.memory_bytes * static_cast<double>(one.count) < bytes;
      });
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<double> held = work_out();
    if (result.all > bound) bound = result.all, best = prices;
    if (!is_limited) break;
    const double pace = 4 * seconds / (bytes * std::sqrt(1.0 + step));
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (classes[c].memory_bytes) prices[c] = std::max(0.0, prices[c] + pace * (held[c] - room(c)) / bytes);
  }
  prices = best;
  work_out();
  result.all = result.all * (1 - 1e-12);
  return result;
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
