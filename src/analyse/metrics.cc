// Sums of op costs. Addition is saturating and takes the worst confidence, so the order of ops is free.
#include <algorithm>

#include "analyse/profile.h"

namespace opscope {

double Metrics::arithmetic_intensity() const {
  const Count bytes = memory_bytes();
  return bytes ? static_cast<double>(flops) / static_cast<double>(bytes) : 0.0;
}

Metrics& Metrics::operator+=(const Metrics& other) {
  work += other.work;
  traffic += other.traffic;
  flops += other.flops;
  ops += other.ops;
  confidence = std::max(confidence, other.confidence);
  return *this;
}

Metrics& Metrics::operator+=(const OpCost& cost) {
  work += cost.work;
  traffic += cost.traffic;
  flops += cost.flops;
  ++ops;
  confidence = std::max(confidence, cost.confidence);
  return *this;
}

std::string_view name(Bottleneck bottleneck) {
  return bottleneck == Bottleneck::kComputeBound ? "compute-bound" : "memory-bound";
}

}  // namespace opscope
