// The quantities that models are compared by and held to: their names, what each is of a model or a module,
// and amounts of them as people write them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyse/profile/figures.h"

namespace opscope {

enum class GuardedMetric : std::uint8_t {
  kParams,
  kMacs,
  kFlops,
  kMemoryBytes,
  kPeakMemoryBytes,
  kArithmeticIntensity,
  kTimeSeconds,
  kRooflineSeconds,
  kOps,
};
inline constexpr std::size_t kGuardedMetrics = 9;
enum class MetricUnit : std::uint8_t { kParams, kCount, kBytes, kSeconds, kRatio };

std::string_view name(GuardedMetric metric);   // "peak_memory_bytes"
std::string_view title(GuardedMetric metric);  // "Peak memory"
MetricUnit unit_of(GuardedMetric metric);
// "peak-memory-bytes", "peak", "memory", "mem", "ai", "time", ... too; throws Error with the nearest.
GuardedMetric guarded_metric(std::string_view text, const std::string& where);

// Whole numbers stay exact; seconds are picoseconds in `count`; the ratio is in `real` alone.
struct MetricAmount {
  Count count{};
  double real = 0;  // the same as a number: seconds for times

  friend bool operator==(const MetricAmount&, const MetricAmount&) = default;
};
MetricAmount counted(Count count);
MetricAmount picoseconds(Count time);
bool is_more(GuardedMetric metric, const MetricAmount& a, const MetricAmount& b);

// nullopt: nobody knows, such as a time that was not measured or what an older profile does not say.
std::optional<MetricAmount> amount_in(const Figures& figures, GuardedMetric metric);
// The same of a part of a model: there is no peak of one.
std::optional<MetricAmount> amount_in(const Figures& whole, const Metrics& metrics,
                                      const Parameters& parameters, GuardedMetric metric);

// "4.2G", "12M", "200MiB", "1.5 ms", "33.7". Throws Error at `where` saying what would do.
MetricAmount parse_amount(GuardedMetric metric, std::string_view text, const std::string& where);
// As a person writes it: "4.2G", "46.8MB", "1.24 ms", "33.7".
std::string amount_text(GuardedMetric metric, const MetricAmount& amount);
// "+231M", "-1.2MB", "" for no change.
std::string change_text(GuardedMetric metric, const MetricAmount& before, const MetricAmount& after);
std::string change_text(GuardedMetric metric, std::int64_t change);

}  // namespace opscope
