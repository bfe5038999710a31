// `opscope draw`
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_draw(CLI::App&) {
  return []() -> int { throw Error("draw is not here yet"); };
}

}  // namespace opscope
