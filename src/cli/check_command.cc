// `opscope check`.
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_check(CLI::App&) {
  return []() -> int { throw Error("not built yet", "check", ""); };
}

}  // namespace opscope
