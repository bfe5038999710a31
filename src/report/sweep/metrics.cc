// Which metrics a sweep shows.
#include <algorithm>

#include "report/sweep/sweep.h"

namespace opscope {

std::vector<const Metric*> sweep_metrics_from(const std::string& where, std::string_view text) {
  const auto asked = metrics_named(text, where, kSweepNeeds | kNeedsMeasurement);
  std::vector<const Metric*> metrics;
  for (const Metric* each : asked) {
    const bool is_time = each->key == "time_seconds";
    const Metric& metric =
        is_time ? metric_at("roofline_seconds") : metric_named(each->key, where, kSweepNeeds);
    if (std::ranges::find(metrics, &metric) == metrics.end()) metrics.push_back(&metric);
  }
  return metrics;
}

std::vector<const Metric*> usual_sweep_metrics(const SweepResult& result) {
  std::vector<const Metric*> metrics{&metric_at("macs"), &metric_at("flops"), &metric_at("memory_bytes"),
                                     &metric_at("arithmetic_intensity"), &metric_at("compute_bound_share")};
  const bool attends = std::ranges::any_of(
      result.points, [](const SweepPoint& point) { return bool(point.figures.attention_flops); });
  if (attends) metrics.push_back(&metric_at("attention_share"));
  metrics.push_back(&metric_at("peak_memory_bytes"));
  if (result.options.profile.hardware) metrics.push_back(&metric_at("roofline_seconds"));
  return metrics;
}

}  // namespace opscope
