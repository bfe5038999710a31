#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_read_trace(CLI::App&) {
  return []() -> int { throw Error("not built yet", "read_trace"); };
}

}  // namespace opscope
