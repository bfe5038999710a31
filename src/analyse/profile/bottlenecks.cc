// Which ops would be limited by arithmetic and which by memory, at the ridge and in the usual bands of
// arithmetic intensity. Ops that do no work and move no bytes are in neither.
#include <fmt/format.h>

#include "analyse/profile/rollup.h"

namespace opscope {
namespace {

Band& operator+=(Band& band, const OpCost& cost) {
  ++band.ops;
  band.flops += cost.flops;
  band.memory_bytes += cost.traffic.total();
  band.roofline_time += cost.roofline_time;
  return band;
}

Band& band_of(BottleneckSummary& summary, double intensity) {
  if (intensity > 100) return summary.over_100;
  if (intensity >= 50) return summary.from_50_to_100;
  return intensity >= 10 ? summary.from_10_to_50 : summary.under_10;
}

}  // namespace

std::string_view name(Bottleneck bottleneck) {
  return bottleneck == Bottleneck::kComputeBound ? "compute-bound" : "memory-bound";
}

std::string_view word(Bottleneck bottleneck) {
  return name(bottleneck).substr(0, name(bottleneck).find('-'));
}

Bottleneck bottleneck_of(const Metrics& metrics, double ridge) {
  if (!metrics.roofline_time) return bottleneck_of(metrics.flops, metrics.memory_bytes(), ridge);
  return metrics.compute_bound_time + metrics.compute_bound_time > metrics.roofline_time
             ? Bottleneck::kComputeBound
             : Bottleneck::kMemoryBound;
}

std::string bottleneck_legend(double ridge) {
  return fmt::format("memory-bound up to {:.4g} FLOPs per byte, compute-bound above", ridge);
}

BottleneckSummary sum_bottlenecks(const Profile& profile) {
  BottleneckSummary summary;
  summary.ridge = profile.options.ridge;
  for (const OpCost& cost : profile.costs) {
    const Count bytes = cost.traffic.total();
    if (!cost.flops && !bytes) continue;
    const double intensity = bytes ? static_cast<double>(cost.flops) / static_cast<double>(bytes) : 0.0;
    const bool compute =
        cost.roofline_time ? cost.compute_bound : is_compute_bound(cost.flops, bytes, summary.ridge);
    (compute ? summary.compute_bound : summary.memory_bound) += cost;
    band_of(summary, intensity) += cost;
  }
  return summary;
}

}  // namespace opscope
