// `opscope diff`.
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_diff(CLI::App&) {
  return []() -> int { throw Error("not built yet", "diff", ""); };
}

}  // namespace opscope
