// `opscope explore`
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_explore(CLI::App&) {
  return []() -> int { throw Error("explore is not here yet"); };
}

}  // namespace opscope
