#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_devices(CLI::App&) {
  return []() -> int { throw Error("not built yet", "devices"); };
}

}  // namespace opscope
