// Text that a terminal or a spreadsheet takes for text.
#pragma once

#include <string>
#include <string_view>

namespace opscope {

// Control characters written out, "\n", "\x1b", "\u0085", bytes that are not UTF-8 as U+FFFD; the rest as it
// is. `kept`: those that may stay.
std::string printable(std::string_view text, std::string_view kept = {});

}  // namespace opscope
