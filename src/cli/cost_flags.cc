// Sizes in bytes are read here as people write them: decimal and binary units, in either case.
#include "cli/cost_flags.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "cli/flags.h"

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

Count parse_bytes(const char* flag, const std::string& text) {
  const auto bad = [&](const std::string& what) -> Count {
    throw Error(what, flag, "for example 256KiB, 1MB or 65536");
  };
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return bad("'" + text + "' is not a size in bytes");
  if (number < 0) return bad("a size of " + text + " is not possible");
  std::string_view rest(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const Unit& unit : kByteUnits) {
    if (lower_case(rest) != unit.name) continue;
    const double bytes = std::floor(number * unit.bytes);
    return bytes < 0x1p63 ? Count{static_cast<std::uint64_t>(bytes)} : Count{Count::kMax};
  }
  return bad("'" + std::string(rest) + "' is not a unit of bytes");
}

void add_cost_flags(CLI::App& app, CostFlags& flags) {
  add_convention_flag(app, flags.convention);
  app.add_option("--ridge", flags.ridge, "FLOPs per byte up to which memory is the limit; that of the device, else 10")
      ->type_name("X");
  app.add_option("--hardware", flags.hardware,
                 "Device whose roofline to show, by a name that `opscope devices` lists or a .toml file of "
                 "your own; profile compares several: h100,l4")
      ->type_name("NAME");
  app.add_option("--float32", flags.float32,
                 "Where the device multiplies float32: torch (convolutions in TF32, as PyTorch does), tf32 "
                 "(all that can) or ieee")
      ->type_name("NAME");
  app.add_option("--partition", flags.partition,
                 "How ops make subgraphs: none (each by itself), layer (a leaf module each) or fused (one "
                 "kernel each)")
      ->type_name("NAME");
  app.add_option("--fast-memory", flags.fast_memory,
                 "Bytes that what a subgraph holds at once must fit in, such as 256KiB; no limit")
      ->type_name("SIZE");
}

std::vector<ProfileOptions> profile_options_by_device(const CostFlags& flags) {
  ProfileOptions options;
  options.convention = convention_from_name(flags.convention);
  options.ridge_is_given = !flags.ridge.empty();
  if (options.ridge_is_given) options.ridge = parse_number("--ridge", flags.ridge);
  options.float32 = float32_from_name(flags.float32);
  options.partition.strategy = strategy_from_name(flags.partition);
  if (!flags.fast_memory.empty()) {
    options.partition.fast_memory = parse_bytes("--fast-memory", flags.fast_memory);
    if (!options.partition.fast_memory)
      throw Error("no subgraph fits in no memory", "--fast-memory", "for example 256KiB");
  }
  if (flags.hardware.empty()) return {options};
  std::vector<ProfileOptions> all;
  for (DevicePointer& device : load_devices(flags.hardware)) {
    options.hardware = std::move(device);
    all.push_back(options);
  }
  return all;
}

ProfileOptions profile_options(const CostFlags& flags) {
  std::vector<ProfileOptions> all = profile_options_by_device(flags);
  if (all.size() > 1)
    throw Error("one device at a time here", "--hardware", "`opscope profile` shows several side by side");
  return std::move(all.front());
}

}  // namespace opscope
