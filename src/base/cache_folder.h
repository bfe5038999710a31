// Where opscope keeps what it need not make twice: captures, lists of models, times of ops.
#pragma once

#include <string>

namespace opscope {

// $OPSCOPE_CACHE_DIR, $XDG_CACHE_HOME/opscope or ~/.cache/opscope; "" where none of them is known. It may not
// be there yet.
std::string cache_folder();

}  // namespace opscope
