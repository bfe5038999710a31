// Sizes in bytes as people write them: decimal and binary units, in either case.
#pragma once

#include <string_view>

#include "base/count.h"

namespace opscope {

// "24GiB", "1MB", "1.5 gib", "65536": bytes; throws Error saying what would do.
Count parse_bytes(std::string_view flag, std::string_view text);

}  // namespace opscope
