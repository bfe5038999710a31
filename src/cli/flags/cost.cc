#include "cli/flags/cost.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "metrics/unit.h"

namespace opscope {

void add_cost_flags(CLI::App& app, CostFlags& flags) {
  add_convention_flag(app, flags.convention);
  app.add_option(
         "--ridge", flags.ridge,
         "Ridge point in FLOPs per byte: ops below it are memory-bound. Default: that of --hardware, else 10")
      ->type_name("X");
  app.add_option("--hardware", flags.hardware,
                 "Device for roofline times: a name from `opscope devices`, or a .toml file. `profile` takes "
                 "several: h100,l4")
      ->type_name("NAME");
  app.add_option("--float32", flags.float32,
                 "Precision of float32 products on the device: torch (TF32 for convolutions only, PyTorch's "
                 "default), tf32 (wherever possible) or ieee (never)")
      ->type_name("NAME");
  app.add_option("--partition", flags.partition,
                 "How ops are grouped into subgraphs: none (one op each), layer (one leaf module each) or "
                 "fused (one fused kernel each; default)")
      ->type_name("NAME");
  app.add_option("--fast-memory", flags.fast_memory,
                 "Limit for the working set of a fused kernel, for example 256KiB. Default: no limit")
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
      throw Error("the limit must be above 0", "--fast-memory", "for example 256KiB");
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
    throw Error("only one device here", "--hardware", "`opscope profile` shows several side by side");
  return std::move(all.front());
}

}  // namespace opscope
