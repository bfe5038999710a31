// One row a unit, from which amounts are read and printed.
#include "metrics/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace opscope {
namespace {

enum Prefixes : unsigned { kNoPrefix = 0, kDecimal = 1, kBinary = 2, kSmall = 4, kBillion = 8 };

struct Prefix {
  std::string_view text;
  double factor;
  Prefixes of;
};
constexpr std::array kPrefixes{
    Prefix{"k", 1e3, kDecimal},       Prefix{"m", 1e6, kDecimal},       Prefix{"g", 1e9, kDecimal},
    Prefix{"t", 1e12, kDecimal},      Prefix{"p", 1e15, kDecimal},      Prefix{"ki", 0x1p10, kBinary},
    Prefix{"mi", 0x1p20, kBinary},    Prefix{"gi", 0x1p30, kBinary},    Prefix{"ti", 0x1p40, kBinary},
    Prefix{"pi", 0x1p50, kBinary},    Prefix{"m", 1e-3, kSmall},        Prefix{"u", 1e-6, kSmall},
    Prefix{"\xc2\xb5", 1e-6, kSmall}, Prefix{"\xce\xbc", 1e-6, kSmall}, Prefix{"n", 1e-9, kSmall},
    Prefix{"b", 1e9, kBillion},  // 7B parameters
};

struct UnitRow {
  Unit unit;
  std::string_view noun, example;
  std::array<std::string_view, 3> bases{};  // lower case; "": none
  unsigned prefixes = kNoPrefix;
  bool letter_alone = false;  // "24G" is enough
  double factor = 1;          // of a base
};
constexpr unsigned kBytePrefixes = kDecimal | kBinary, kCountPrefixes = kDecimal | kBillion;
constexpr std::array<UnitRow, 12> kUnits{{
    {Unit::kPlain, "a number", "2.5"},
    {Unit::kCount, "a count", "4.2G or 4200000000", {}, kCountPrefixes, true},
    {Unit::kParams, "a count", "12M or 11689512", {}, kCountPrefixes, true},
    {Unit::kWhole, "a count", "1200 or 1.2k", {}, kCountPrefixes, true},
    {Unit::kBytes, "bytes", "24GiB, 256KiB, 1MB or 65536", {"b"}, kBytePrefixes, true},
    {Unit::kSeconds, "time", "5ms, 1.2s or 250us", {"s"}, kSmall},
    {Unit::kRatio, "a ratio", "33.7"},
    {Unit::kShare, "a share", "25% or 0.25", {"%"}, kNoPrefix, false, 0.01},
    {Unit::kTimes, "a ratio", "1.5x or 1.5", {"x"}},
    {Unit::kFlopRate,
     "FLOPs a second",
     "989.5 TFLOP/s (GFLOP/s, PFLOP/s; TOP/s for integers)",
     {"flop/s", "op/s"},
     kDecimal},
    {Unit::kBandwidth, "bandwidth", "4.8 TB/s (GB/s)", {"b/s"}, kBytePrefixes},
    {Unit::kPower, "power", "700 W", {"w"}, kDecimal},
}};
constexpr bool in_order() {
  for (std::size_t i = 0; i < kUnits.size(); ++i)
    if (kUnits[i].unit != static_cast<Unit>(i)) return false;
  return true;
}
static_assert(in_order());

const UnitRow& row_of(Unit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

const Prefix* prefix_of(const UnitRow& row, std::string_view text) {
  for (const Prefix& prefix : kPrefixes)
    if (prefix.text == text && (row.prefixes & prefix.of)) return &prefix;
  return nullptr;
}

// What "gib" or "ms" stands for, in lower case; 0 where it is no such unit.
double factor_of(const UnitRow& row, std::string_view suffix) {
  if (suffix.empty()) return 1;
  for (const std::string_view base : row.bases) {
    if (base.empty() || !suffix.ends_with(base)) continue;
    const std::string_view before = suffix.substr(0, suffix.size() - base.size());
    if (before.empty()) return row.factor;
    if (const Prefix* prefix = prefix_of(row, before)) return prefix->factor * row.factor;
  }
  const Prefix* letter = row.letter_alone ? prefix_of(row, suffix) : nullptr;
  return letter ? letter->factor : 0;
}

struct Written {
  double value = 0;
  bool has_unit = false;
  std::optional<std::uint64_t> digits{};  // digits alone: up to 64 bits, which a double may not hold
};

Written read(Unit unit, std::string_view text, const std::string& where, std::string_view what) {
  const UnitRow& row = row_of(unit);
  const auto refuse = [&](const std::string& problem) {
    throw Error(problem, where, "for example " + std::string(row.example));
  };
  std::string bare;
  for (const char c : text)
    if (c != ' ' && c != '_') bare += c;
  const char* const last = bare.data() + bare.size();
  Written written;
  const auto [end, error] = std::from_chars(bare.data(), last, written.value);
  if (error != std::errc{} || !std::isfinite(written.value))
    refuse("'" + std::string(text) + "' does not begin with a number");
  if (written.value < 0) refuse("'" + std::string(text) + "' is below 0");
  const std::string_view suffix(end, static_cast<std::size_t>(last - end));
  const double factor = factor_of(row, lower_case(suffix));
  if (factor == 0)
    refuse("'" + std::string(suffix) + "' is not a unit of " + std::string(what.empty() ? row.noun : what));
  written.value *= factor;
  written.has_unit = !suffix.empty();
  written.digits = number_from<std::uint64_t>(bare);
  return written;
}

Count rounded(double value) {
  constexpr double kMost = 1.8e19, kLargestRounded = 9e18;
  if (value >= kMost) return Count{Count::kMax};
  return Count{static_cast<std::uint64_t>(std::llround(std::min(value, kLargestRounded)))};
}

std::string signed_text(Unit unit, bool more, Count size) {
  return (more ? "+" : "-") + text(unit, amount_in(unit, size));
}

}  // namespace

Amount counted(Count count) { return {count, static_cast<double>(count)}; }
Amount timed(Count picoseconds) { return {picoseconds, static_cast<double>(picoseconds) * kPicosecond}; }
Amount amount_in(Unit unit, Count count) { return unit == Unit::kSeconds ? timed(count) : counted(count); }

bool is_whole(Unit unit) {
  return unit == Unit::kCount || unit == Unit::kParams || unit == Unit::kWhole || unit == Unit::kBytes;
}
bool adds_up(Unit unit) { return is_whole(unit) || unit == Unit::kSeconds; }
bool is_more(Unit unit, const Amount& a, const Amount& b) {
  return adds_up(unit) ? a.count > b.count : a.real > b.real;
}

std::string text(Unit unit, const Amount& amount, Zero zero) {
  switch (unit) {
    case Unit::kCount:
      return format_count(amount.count, zero);
    case Unit::kParams:
      return format_params(amount.count, zero);
    case Unit::kWhole:
      return !amount.count && zero == Zero::kDash ? "-" : format_exact(amount.count);
    case Unit::kBytes:
      return format_bytes(amount.count, zero);
    case Unit::kSeconds:
      return format_time(amount.real, zero);
    case Unit::kRatio:
      return format_ratio(amount.real, zero);
    case Unit::kShare:
      return format_percent(amount.real, 1.0, zero);
    case Unit::kTimes:
      return fmt::format("{:.2f}x", amount.real);
    case Unit::kFlopRate:
      return format_count(rounded(amount.real), zero) + "FLOP/s";
    case Unit::kBandwidth:
      return format_bytes(rounded(amount.real), zero) + "/s";
    case Unit::kPower:
      return fmt::format("{:.4g} W", amount.real);
    case Unit::kPlain:
      break;
  }
  return fmt::format("{:.4g}", amount.real);
}

std::string text(Unit unit, double value, Zero zero) {
  return text(unit, Amount{is_whole(unit) ? rounded(value) : Count{}, value}, zero);
}

std::string change_text(Unit unit, const Amount& before, const Amount& after) {
  if (!adds_up(unit)) {
    const double change = after.real - before.real;
    return change == 0 ? "" : (change > 0 ? "+" : "-") + text(unit, Amount{{}, std::abs(change)});
  }
  if (before.count == after.count) return "";
  const bool more = after.count > before.count;
  return signed_text(unit, more, more ? after.count - before.count : before.count - after.count);
}

std::string change_text(Unit unit, std::int64_t change) {
  if (change == 0) return "";
  const auto size = static_cast<std::uint64_t>(change);
  return signed_text(unit, change > 0, Count{change < 0 ? 0 - size : size});
}

Amount parse_amount(Unit unit, std::string_view text, const std::string& where, std::string_view what) {
  const Written written = read(unit, text, where, what);
  if (!adds_up(unit)) return {{}, written.value};
  if (unit == Unit::kSeconds) return {rounded(written.value / kPicosecond), written.value};
  return written.digits ? counted(Count{*written.digits}) : Amount{rounded(written.value), written.value};
}

Count parse_bytes(const std::string& where, std::string_view text) {
  return parse_amount(Unit::kBytes, text, where).count;
}

double parse_figure(Unit unit, std::string_view text, const std::string& where) {
  const Written written = read(unit, text, where, "");
  if (written.has_unit && written.value > 0) return written.value;
  throw Error("'" + std::string(text) + (written.has_unit ? "' is not above 0" : "' has no unit"), where,
              "for example " + std::string(row_of(unit).example));
}

}  // namespace opscope
