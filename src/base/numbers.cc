// Numbers as reports show them. Counts are rounded in integers, so that no platform's floating point shows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/text.h"

namespace opscope {
namespace {

// How many decimals a number may have, tried in order: the first whose rounded digits stay below `limit`.
struct Precision {
  unsigned decimals;
  std::uint64_t limit;
};
constexpr std::array kThreeDigits{Precision{2, 1000}, Precision{1, 1000}, Precision{0, 1000}};
constexpr std::array kTwoDecimals{Precision{2, 100000}};
constexpr std::array kByteDigits{Precision{2, 1000}, Precision{1, 10000}};

constexpr std::string_view kUnits = "KMGTPE";
constexpr std::array<std::uint64_t, 3> kPowers{1, 10, 100};

std::uint64_t scaled(std::uint64_t count, std::uint64_t unit, unsigned decimals) {
  const auto wide = static_cast<unsigned __int128>(count) * kPowers[decimals];
  return static_cast<std::uint64_t>((wide + unit / 2) / unit);
}

std::string with_decimals(std::uint64_t digits, unsigned decimals) {
  const auto power = kPowers[decimals];
  if (decimals == 0) return fmt::format("{}", digits);
  return fmt::format("{}.{:0{}}", digits / power, digits % power, decimals);
}

std::string with_unit(std::uint64_t count, std::span<const Precision> precisions) {
  if (count < 1000) return fmt::format("{}", count);
  std::uint64_t unit = 1;
  for (const char letter : kUnits) {
    unit *= 1000;
    for (const auto [decimals, limit] : precisions)
      if (const auto digits = scaled(count, unit, decimals); digits < limit)
        return with_decimals(digits, decimals) + letter;
  }
  return fmt::format("{}", count);  // not reached: 2^64 is 18.4E
}

std::string format(Count count, Zero zero, std::span<const Precision> precisions, std::string_view suffix) {
  if (!count && zero == Zero::kDash) return "-";
  std::string text = count.saturated() ? ">" : "";
  return text.append(with_unit(count.value(), precisions)).append(suffix);
}

}  // namespace

std::string format_count(Count count, Zero zero) { return format(count, zero, kThreeDigits, ""); }
std::string format_params(Count count, Zero zero) { return format(count, zero, kTwoDecimals, ""); }
std::string format_bytes(Count bytes, Zero zero) { return format(bytes, zero, kByteDigits, "B"); }

std::string format_exact(Count count) {
  auto text = fmt::format("{}", count.value());
  for (auto at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_ratio(double ratio, Zero zero) {
  if (!std::isfinite(ratio)) return "-";
  if (ratio == 0) return zero == Zero::kDash ? "-" : "0.0";
  if (ratio > 0 && ratio < 0.05) return "<0.1";
  return fmt::format("{:.1f}", ratio);
}

std::string format_percent(double part, double whole, Zero zero) {
  if (!(part > 0) || !(whole > 0)) return zero == Zero::kDash ? "-" : "0%";
  if (part >= whole) return "100%";
  const double percent = 100 * part / whole;
  if (percent < 0.05) return "<0.1%";
  return fmt::format("{:.1f}%", std::min(percent, 99.9));
}

std::string format_percent(Count part, Count whole, Zero zero) {
  return format_percent(static_cast<double>(part), static_cast<double>(whole), zero);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.09995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.{}f} s", seconds, seconds < 9.995 ? 2 : 1);
}

std::string format_time(double seconds, Zero zero) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds == 0) return zero == Zero::kDash ? "-" : "0 ns";
  constexpr std::array<std::string_view, 4> kTimeUnits{"ns", "us", "ms", "s"};
  double number = seconds * 1e9;
  std::size_t unit = 0;
  for (; unit + 1 < kTimeUnits.size() && number >= 999.5; ++unit) number /= 1000;
  const int decimals = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", number, decimals, kTimeUnits[unit]);
}

std::string format_shape(std::span<const std::int64_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace opscope
