// `opscope memory`
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_memory(CLI::App&) {
  return []() -> int { throw Error("memory is not here yet"); };
}

}  // namespace opscope
