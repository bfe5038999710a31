// What is derived from sums of op costs. Addition is saturating and takes the worst confidence, so the order
// of ops is free.
#include "analyse/profile/profile.h"

namespace opscope {

double Metrics::arithmetic_intensity() const {
  const Count bytes = memory_bytes();
  return bytes ? static_cast<double>(flops) / static_cast<double>(bytes) : 0.0;
}

std::string_view name(Bottleneck bottleneck) {
  return bottleneck == Bottleneck::kComputeBound ? "compute-bound" : "memory-bound";
}

}  // namespace opscope
