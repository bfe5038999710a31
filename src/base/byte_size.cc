#include "base/byte_size.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

struct Unit {
  std::string_view name;  // lower case
  double bytes;
};

constexpr std::array kByteUnits{
    Unit{"", 1},          Unit{"b", 1},     Unit{"k", 1024},        Unit{"kb", 1e3},   Unit{"kib", 1024},
    Unit{"m", 1048576.0}, Unit{"mb", 1e6},  Unit{"mib", 1048576.0}, Unit{"g", 0x1p30}, Unit{"gb", 1e9},
    Unit{"gib", 0x1p30},  Unit{"tb", 1e12}, Unit{"tib", 0x1p40},
};

}  // namespace

Count parse_bytes(std::string_view flag, std::string_view text) {
  const auto bad = [&](const std::string& what) -> Count {
    throw Error(what, std::string(flag), "for example 24GiB, 256KiB, 1MB or 65536");
  };
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number))
    return bad("'" + std::string(text) + "' is not a size in bytes");
  if (number < 0) return bad("a size of " + std::string(text) + " is not possible");
  std::string_view rest(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const Unit& unit : kByteUnits) {
    if (lower_case(rest) != unit.name) continue;
    const double bytes = std::floor(number * unit.bytes);
    return bytes < 0x1p63 ? Count{static_cast<std::uint64_t>(bytes)} : Count{Count::kMax};
  }
  return bad("'" + std::string(rest) + "' is not a unit of bytes");
}

}  // namespace opscope
