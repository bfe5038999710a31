#include "analyse/times.h"

#include <algorithm>
#include <cmath>

namespace opscope {
namespace {

// Of sorted numbers.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double rest = at - static_cast<double>(below);
  return rest == 0 ? sorted[below] : sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

// Median absolute deviation; 1.4826 of it is the standard deviation of a normal distribution.
std::uint32_t outliers_of(const std::vector<double>& sorted, double median) {
  constexpr double kScale = 1.4826, kFar = 3;
  std::vector<double> deviations;
  deviations.reserve(sorted.size());
  for (const double sample : sorted) deviations.push_back(std::abs(sample - median));
  std::ranges::sort(deviations);
  const double far = kFar * kScale * quantile(deviations, 0.5);
  return static_cast<std::uint32_t>(std::ranges::count_if(deviations, [&](double d) { return d > far; }));
}

}  // namespace

Statistics statistics(std::vector<double> seconds) {
  Statistics of;
  if (seconds.empty()) return of;
  std::ranges::sort(seconds);
  const auto count = static_cast<double>(seconds.size());
  of.samples = static_cast<std::uint32_t>(seconds.size());
  of.minimum = seconds.front(), of.maximum = seconds.back();
  of.median = quantile(seconds, 0.5), of.p95 = quantile(seconds, 0.95);
  for (const double sample : seconds) of.mean += sample / count;
  double squares = 0;
  for (const double sample : seconds) squares += (sample - of.mean) * (sample - of.mean);
  if (seconds.size() > 1) of.standard_deviation = std::sqrt(squares / (count - 1));
  of.outliers = outliers_of(seconds, of.median);
  return of;
}

void add_times(const Graph& graph, std::vector<OpCost>& costs) {
  const Measurement& measured = graph.measurement;
  if (measured.empty()) return;
  std::vector<Nanoseconds> runs;
  for (std::size_t op = 0; op < costs.size(); ++op) {
    runs.clear();
    for (const auto sample : Measurement::samples(measured.op_samples(), op, measured.runs))
      if (sample != kUnmeasured) runs.push_back(net(measured, sample));
    if (runs.empty()) continue;
    std::ranges::sort(runs);
    // Half the sum of the two in the middle, in picoseconds, is whole.
    constexpr Count kHalfNanosecond{500};
    costs[op].time = (Count{runs[(runs.size() - 1) / 2]} + Count{runs[runs.size() / 2]}) * kHalfNanosecond;
  }
}

}  // namespace opscope
