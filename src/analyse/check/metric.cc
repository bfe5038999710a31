// One row a metric, and one a unit.
#include "analyse/check/metric.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/seconds.h"
#include "base/text.h"

namespace opscope {
namespace {

struct MetricRow {
  std::string_view name, title;
  MetricUnit unit;
  std::array<std::string_view, 2> others;
};

// By metric.
constexpr std::array<MetricRow, kGuardedMetrics> kMetrics{{
    {"params", "Parameters", MetricUnit::kParams, {"parameters", ""}},
    {"macs", "MACs", MetricUnit::kCount, {"", ""}},
    {"flops", "FLOPs", MetricUnit::kCount, {"", ""}},
    {"memory_bytes", "Memory moved", MetricUnit::kBytes, {"memory", "mem"}},
    {"peak_memory_bytes", "Peak memory", MetricUnit::kBytes, {"peak", "peak_memory"}},
    {"arithmetic_intensity", "FLOPs per byte", MetricUnit::kRatio, {"intensity", "ai"}},
    {"time_seconds", "Time", MetricUnit::kSeconds, {"time", ""}},
    {"roofline_seconds", "Roofline time", MetricUnit::kSeconds, {"roofline", ""}},
    {"ops", "Ops", MetricUnit::kParams, {"", ""}},
}};

const MetricRow& row_of(GuardedMetric metric) { return kMetrics[static_cast<std::size_t>(metric)]; }

struct Suffix {
  std::string_view text;
  double factor;
};
constexpr double kKi = 1024.0;
constexpr std::array kCountSuffixes{Suffix{"", 1},    Suffix{"k", 1e3},  Suffix{"m", 1e6}, Suffix{"g", 1e9},
                                    Suffix{"b", 1e9}, Suffix{"t", 1e12}, Suffix{"p", 1e15}};
constexpr std::array kByteSuffixes{Suffix{"", 1},      Suffix{"b", 1},
                                   Suffix{"kb", 1e3},  Suffix{"mb", 1e6},
                                   Suffix{"gb", 1e9},  Suffix{"tb", 1e12},
                                   Suffix{"kib", kKi}, Suffix{"mib", kKi* kKi},
                                   Suffix{"k", 1e3},   Suffix{"m", 1e6},
                                   Suffix{"g", 1e9},   Suffix{"gib", kKi* kKi* kKi},
                                   Suffix{"t", 1e12},  Suffix{"tib", kKi* kKi* kKi* kKi}};
constexpr std::array kSecondSuffixes{Suffix{"", 1},      Suffix{"s", 1},     Suffix{"ms", 1e-3},
                                     Suffix{"us", 1e-6}, Suffix{"ns", 1e-9}, Suffix{"\xc2\xb5s", 1e-6}};
constexpr std::array kRatioSuffixes{Suffix{"", 1}};

struct UnitRow {
  std::span<const Suffix> suffixes;
  std::string_view example;
};
UnitRow unit_row(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kParams:
      return {kCountSuffixes, "12M or 11689512"};
    case MetricUnit::kCount:
      return {kCountSuffixes, "4.2G or 4200000000"};
    case MetricUnit::kBytes:
      return {kByteSuffixes, "200MiB, 1.5GB or a number of bytes"};
    case MetricUnit::kSeconds:
      return {kSecondSuffixes, "5ms, 1.2s or 250us"};
    case MetricUnit::kRatio:
      return {kRatioSuffixes, "33.7"};
  }
  return {};
}

[[noreturn]] void refuse(GuardedMetric metric, std::string_view text, const std::string& where) {
  throw Error("'" + std::string(text) + "' is no amount of " + std::string(name(metric)), where,
              "for example " + std::string(unit_row(unit_of(metric)).example));
}

}  // namespace

std::string_view name(GuardedMetric metric) { return row_of(metric).name; }
std::string_view title(GuardedMetric metric) { return row_of(metric).title; }
MetricUnit unit_of(GuardedMetric metric) { return row_of(metric).unit; }

GuardedMetric guarded_metric(std::string_view text, const std::string& where) {
  std::string asked = lower_case(text);
  std::ranges::replace(asked, '-', '_');
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    const MetricRow& row = kMetrics[i];
    names.push_back(row.name);
    if (row.name == asked || (!asked.empty() && std::ranges::find(row.others, asked) != row.others.end()))
      return static_cast<GuardedMetric>(i);
  }
  std::string all;
  for (const std::string_view each : names) all += (all.empty() ? "one of " : ", ") + std::string(each);
  const std::string hint = did_you_mean(asked, names);
  throw Error("no metric called '" + std::string(text) + "'", where, hint.empty() ? all : hint);
}

MetricAmount counted(Count count) { return {count, static_cast<double>(count)}; }
MetricAmount picoseconds(Count time) { return {time, static_cast<double>(time) * kPicosecond}; }

bool is_more(GuardedMetric metric, const MetricAmount& a, const MetricAmount& b) {
  return unit_of(metric) == MetricUnit::kRatio ? a.real > b.real : a.count > b.count;
}

std::optional<MetricAmount> amount_in(const Figures& figures, GuardedMetric metric) {
  if (!figures.has(name(metric))) return std::nullopt;
  if (metric == GuardedMetric::kPeakMemoryBytes) return counted(figures.peak_memory_bytes);
  return amount_in(figures, figures.totals, figures.parameters, metric);
}

std::optional<MetricAmount> amount_in(const Figures& whole, const Metrics& metrics,
                                      const Parameters& parameters, GuardedMetric metric) {
  switch (metric) {
    case GuardedMetric::kParams:
      return counted(parameters.total);
    case GuardedMetric::kMacs:
      return counted(metrics.work.macs);
    case GuardedMetric::kFlops:
      return counted(metrics.flops);
    case GuardedMetric::kMemoryBytes:
      return counted(metrics.memory_bytes());
    case GuardedMetric::kPeakMemoryBytes:
      return std::nullopt;
    case GuardedMetric::kArithmeticIntensity:
      return MetricAmount{{}, metrics.arithmetic_intensity()};
    case GuardedMetric::kTimeSeconds:
      return whole.is_measured() ? std::optional(picoseconds(metrics.time)) : std::nullopt;
    case GuardedMetric::kRooflineSeconds:
      return whole.has_device() ? std::optional(picoseconds(metrics.roofline_time)) : std::nullopt;
    case GuardedMetric::kOps:
      return counted(Count{metrics.ops});
  }
  return std::nullopt;
}

MetricAmount parse_amount(GuardedMetric metric, std::string_view text, const std::string& where) {
  double number = 0;
  std::string bare;
  for (const char c : text)
    if (c != ' ' && c != '_') bare += c;
  const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), number);
  const std::string suffix = lower_case(std::string_view(end, bare.data() + bare.size()));
  const auto suffixes = unit_row(unit_of(metric)).suffixes;
  const auto found = std::ranges::find(suffixes, suffix, &Suffix::text);
  if (error != std::errc{} || found == suffixes.end() || !std::isfinite(number) || number < 0)
    refuse(metric, text, where);
  // Digits alone are a whole number of up to 64 bits, which a double may not hold.
  std::uint64_t whole = 0;
  const auto digits = std::from_chars(bare.data(), bare.data() + bare.size(), whole);
  if (digits.ec == std::errc{} && digits.ptr == bare.data() + bare.size() &&
      unit_of(metric) != MetricUnit::kSeconds && unit_of(metric) != MetricUnit::kRatio)
    return counted(Count{whole});
  const double amount = number * found->factor;
  if (unit_of(metric) == MetricUnit::kRatio) return {{}, amount};
  const double units = unit_of(metric) == MetricUnit::kSeconds ? amount / kPicosecond : amount;
  const double most = 1.8e19;
  return {units >= most ? Count{Count::kMax}
                        : Count{static_cast<std::uint64_t>(std::llround(std::min(units, 9e18)))},
          amount};
}

std::string amount_text(GuardedMetric metric, const MetricAmount& amount) {
  switch (unit_of(metric)) {
    case MetricUnit::kParams:
      return format_params(amount.count);
    case MetricUnit::kCount:
      return format_count(amount.count);
    case MetricUnit::kBytes:
      return format_bytes(amount.count);
    case MetricUnit::kSeconds:
      return format_time(amount.real);
    case MetricUnit::kRatio:
      return format_ratio(amount.real);
  }
  return {};
}

std::string change_text(GuardedMetric metric, const MetricAmount& before, const MetricAmount& after) {
  if (unit_of(metric) == MetricUnit::kRatio) {
    const double change = after.real - before.real;
    return change == 0 ? "" : (change > 0 ? "+" : "-") + format_ratio(std::abs(change));
  }
  if (before.count == after.count) return "";
  const bool more = after.count > before.count;
  const Count size = more ? after.count - before.count : before.count - after.count;
  const bool is_time = unit_of(metric) == MetricUnit::kSeconds;
  return (more ? "+" : "-") + amount_text(metric, is_time ? picoseconds(size) : counted(size));
}

std::string change_text(GuardedMetric metric, std::int64_t change) {
  if (change == 0) return "";
  const Count size{change < 0 ? 0 - static_cast<std::uint64_t>(change) : static_cast<std::uint64_t>(change)};
  const bool is_time = unit_of(metric) == MetricUnit::kSeconds;
  return (change > 0 ? "+" : "-") + amount_text(metric, is_time ? picoseconds(size) : counted(size));
}

}  // namespace opscope
