// Units: how an amount is printed for people, and how one that people write is read. `24G` and `24GB` are
// 10^9 bytes and `24GiB` is 2^30, in flags, budgets, device files and Python alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace opscope {

enum class Unit : std::uint8_t {
  kPlain,      // a number as it is
  kCount,      // three digits: "3.64G"
  kParams,     // two decimals: "11.69M"
  kWhole,      // every digit: "1,234"
  kBytes,      // "107.9MB"
  kSeconds,    // "1.24 ms"
  kRatio,      // one decimal: "33.7"
  kShare,      // of 1: "25.0%"
  kTimes,      // "1.25x"
  kFlopRate,   // FLOPs (or integer ops) a second
  kBandwidth,  // bytes a second
  kPower,      // watts
};

// Whole numbers stay exact in `count`, where seconds are picoseconds; the other units have `real` alone.
struct Amount {
  Count count{};
  double real = 0;  // the same as a number: seconds for times

  friend bool operator==(const Amount&, const Amount&) = default;
};
Amount counted(Count count);
Amount timed(Count picoseconds);
// Of a unit: seconds in picoseconds, what is not counted as `real`.
Amount amount_in(Unit unit, Count count);
bool is_whole(Unit unit);  // counted in whole numbers, and written so in files
bool adds_up(Unit unit);   // amounts of parts are together that of the whole
bool is_more(Unit unit, const Amount& a, const Amount& b);

std::string text(Unit unit, const Amount& amount, Zero zero = Zero::kDigit);
std::string text(Unit unit, double value, Zero zero = Zero::kDigit);
// "+231M", "-1.2MB", "" for no change. `change`: picoseconds for times.
std::string change_text(Unit unit, const Amount& before, const Amount& after);
std::string change_text(Unit unit, std::int64_t change);

// "4.2G", "12M", "200MiB", "1.5 ms", "25%", "4.8 TB/s", in either case. Throws Error at `where` saying what
// would do; `what` it is an amount of, where that has a name of its own.
Amount parse_amount(Unit unit, std::string_view text, const std::string& where, std::string_view what = {});
Count parse_bytes(const std::string& where, std::string_view text);
// As datasheets write it: above 0, and with its unit.
double parse_figure(Unit unit, std::string_view text, const std::string& where);

}  // namespace opscope
