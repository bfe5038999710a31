// What samples of one quantity come to; nothing is left out of them.
#pragma once

#include <cstdint>
#include <vector>

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

Statistics statistics(std::vector<double> samples);

}  // namespace opscope
