// `opscope plot`
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_plot(CLI::App&) {
  return []() -> int { throw Error("plot is not here yet"); };
}

}  // namespace opscope
