// What one op took, alone and over and over: the statistics of batches of repetitions, each batch's time
// shared out over its repetitions.
#pragma once

#include <cstdint>

namespace opscope {

struct OpTime {
  double median_ns = 0, mean_ns = 0, deviation_ns = 0, minimum_ns = 0;
  std::uint64_t batches = 0;
  std::uint64_t repetitions = 0;  // in all batches together
  bool waited = false;            // on a device: it had nothing to do in between, and that is counted
};

}  // namespace opscope
