// How much is said on stderr.
#pragma once

namespace opscope {

struct TalkFlags {
  bool quiet = false, verbose = false, debug = false;
};

}  // namespace opscope
