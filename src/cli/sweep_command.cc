// `opscope sweep`.
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_sweep(CLI::App&) {
  return []() -> int { throw Error("not built yet", "sweep", ""); };
}

}  // namespace opscope
