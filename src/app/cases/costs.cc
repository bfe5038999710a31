#include "app/cases/costs.h"

#include "app/request/values.h"
#include "base/error.h"
#include "hardware/devices.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

std::string where(const char* flag, const char* argument, Voice voice) {
  return voice == Voice::kFlags ? flag : argument;
}

}  // namespace

std::vector<ProfileOptions> profile_options_by_device(const CostRequest& request, Voice voice) {
  ProfileOptions options;
  options.convention = convention_from_name(request.convention);
  options.ridge_is_given = !request.ridge.empty();
  if (options.ridge_is_given) options.ridge = parse_number("--ridge", request.ridge);
  options.float32 = float32_from_name(request.float32);
  options.partition.strategy = strategy_from_name(request.partition);
  if (!request.fast_memory.empty()) {
    options.partition.fast_memory =
        parse_bytes(where("--fast-memory", "fast_memory", voice), request.fast_memory);
    if (!options.partition.fast_memory)
      throw Error("the limit must be above 0", "--fast-memory", "for example 256KiB");
  }
  if (request.hardware.empty()) return {options};
  std::vector<ProfileOptions> all;
  for (DevicePointer& device : load_devices(request.hardware, where("--hardware", "hardware", voice))) {
    options.hardware = std::move(device);
    all.push_back(options);
  }
  return all;
}

ProfileOptions profile_options(const CostRequest& request, Voice voice) {
  std::vector<ProfileOptions> all = profile_options_by_device(request, voice);
  if (all.size() > 1)
    throw Error("only one device here", where("--hardware", "hardware", voice),
                "`opscope profile` shows several side by side");
  return std::move(all.front());
}

}  // namespace opscope
