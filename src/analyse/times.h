// What a measurement says: statistics over runs of every group of ops, what the whole run took beside its
// ops, and how far the two agree. A profile's `time` is one number per op, so that groups add up; the spread
// of a group comes from its sum in each run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyse/profile.h"

namespace opscope {

// Of one quantity over runs, in seconds. Nothing is left out of any of them.
struct Statistics {
  std::uint32_t samples = 0;  // 0: not measured
  double median = 0, mean = 0;
  double standard_deviation = 0;  // of a sample: n - 1; 0 where there is one
  double p95 = 0;                 // between the two nearest samples, linearly
  double minimum = 0, maximum = 0;
  std::uint32_t outliers = 0;  // further from the median than 3 standard deviations estimated from the MAD

  double spread() const { return median > 0 ? standard_deviation / median : 0; }
};
Statistics statistics(std::vector<double> seconds);

// An op's sample without what the clock itself takes, never below 0.
constexpr Nanoseconds net(const Measurement& measurement, Nanoseconds sample) {
  return sample > measurement.empty_interval ? sample - measurement.empty_interval : 0;
}

// OpCost::time of every op: the median of its runs.
void add_times(const Graph& graph, std::vector<OpCost>& costs);

}  // namespace opscope
