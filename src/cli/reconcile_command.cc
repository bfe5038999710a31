// `opscope reconcile`.
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_reconcile(CLI::App&) {
  return []() -> int { throw Error("not built yet", "reconcile", ""); };
}

}  // namespace opscope
