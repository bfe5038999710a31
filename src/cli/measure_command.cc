#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_measure(CLI::App&) {
  return []() -> int { throw Error("not built yet", "measure"); };
}

}  // namespace opscope
