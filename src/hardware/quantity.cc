// Quantities as datasheets write them: a number and a unit.
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "hardware/device_file.h"

namespace opscope {
namespace {

struct Unit {
  Quantity quantity;
  std::string_view name;
  double factor;
};

constexpr std::array kUnits{
    Unit{Quantity::kRate, "GFLOP/s", 1e9},
    Unit{Quantity::kRate, "TFLOP/s", 1e12},
    Unit{Quantity::kRate, "PFLOP/s", 1e15},
    Unit{Quantity::kRate, "GOP/s", 1e9},
    Unit{Quantity::kRate, "TOP/s", 1e12},
    Unit{Quantity::kRate, "POP/s", 1e15},
    Unit{Quantity::kBandwidth, "GB/s", 1e9},
    Unit{Quantity::kBandwidth, "TB/s", 1e12},
    Unit{Quantity::kBandwidth, "GiB/s", 0x1p30},
    Unit{Quantity::kBandwidth, "MB/s", 1e6},
    Unit{Quantity::kSize, "KiB", 0x1p10},
    Unit{Quantity::kSize, "MiB", 0x1p20},
    Unit{Quantity::kSize, "GiB", 0x1p30},
    Unit{Quantity::kSize, "TiB", 0x1p40},
    Unit{Quantity::kSize, "kB", 1e3},
    Unit{Quantity::kSize, "KB", 1e3},
    Unit{Quantity::kSize, "MB", 1e6},
    Unit{Quantity::kSize, "GB", 1e9},
    Unit{Quantity::kSize, "TB", 1e12},
    Unit{Quantity::kTime, "ns", 1e-9},
    Unit{Quantity::kTime, "us", 1e-6},
    Unit{Quantity::kTime, "ms", 1e-3},
    Unit{Quantity::kPower, "W", 1},
    Unit{Quantity::kPower, "kW", 1e3},
};

std::string_view example(Quantity quantity) {
  switch (quantity) {
    case Quantity::kRate:
      return "989.5 TFLOP/s (GFLOP/s, PFLOP/s; TOP/s for integers)";
    case Quantity::kBandwidth:
      return "4.8 TB/s (GB/s)";
    case Quantity::kSize:
      return "141 GB or 50 MiB";
    case Quantity::kTime:
      return "2.5 us (ns, ms)";
    case Quantity::kPower:
      return "700 W";
  }
  return "";
}

}  // namespace

double parse_quantity(Quantity quantity, std::string_view text, const std::string& where) {
  const std::string hint = "for example " + std::string(example(quantity));
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number))
    throw Error("'" + std::string(text) + "' does not begin with a number", where, hint);
  if (!(number > 0)) throw Error("'" + std::string(text) + "' is not above 0", where, hint);
  std::string_view unit(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& row : kUnits)
    if (row.quantity == quantity && row.name == unit) return number * row.factor;
  if (unit.empty()) throw Error("'" + std::string(text) + "' has no unit", where, hint);
  throw Error("'" + std::string(unit) + "' is not a unit that fits here", where, hint);
}

}  // namespace opscope
