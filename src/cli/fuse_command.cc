// `opscope fuse`
#include "base/error.h"
#include "cli/command.h"

namespace opscope {

Action define_fuse(CLI::App&) {
  return []() -> int { throw Error("fuse is not here yet"); };
}

}  // namespace opscope
