// `opscope compare`.
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_compare(CLI::App&) {
  return []() -> int { throw Error("not built yet", "compare", ""); };
}

}  // namespace opscope
