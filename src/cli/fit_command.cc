// `opscope fit`.
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_fit(CLI::App&) {
  return []() -> int { throw Error("not built yet", "fit", ""); };
}

}  // namespace opscope
