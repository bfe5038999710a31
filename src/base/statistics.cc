#include "base/statistics.h"

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
  std::vector<double> deviations = sorted;
  for (double& sample : deviations) sample = std::abs(sample - median);
  std::ranges::sort(deviations);
  const double far = kFar * kScale * quantile(deviations, 0.5);
  return static_cast<std::uint32_t>(std::ranges::count_if(deviations, [&](double d) { return d > far; }));
}

}  // namespace

Statistics statistics(std::vector<double> samples) {
  Statistics of;
  if (samples.empty()) return of;
  std::ranges::sort(samples);
  const auto count = static_cast<double>(samples.size());
  of.samples = static_cast<std::uint32_t>(samples.size());
  of.minimum = samples.front(), of.maximum = samples.back();
  of.median = quantile(samples, 0.5), of.p95 = quantile(samples, 0.95);
  for (const double sample : samples) of.mean += sample / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - of.mean) * (sample - of.mean);
  if (samples.size() > 1) of.standard_deviation = std::sqrt(squares / (count - 1));
  of.outliers = outliers_of(samples, of.median);
  return of;
}

}  // namespace opscope
