// argv before the flag parser sees it: shapes written as separate numbers, `--list`, and pictures by -v.
#pragma once

#include <string>
#include <vector>

namespace opscope {

using Arguments = std::vector<std::string>;

// "--input-shape 1 3 -4 224" -> "--input-shape=1,3,-4,224": the numbers after the flag are its value, a minus
// sign included. Throws Error where nothing follows.
Arguments join_shapes(const Arguments& arguments);

// "profile --list [PATTERN] ..." -> "list [PATTERN] ...".
Arguments list_flag_to_command(const Arguments& arguments);

// "profile -v FILE.png" -> "profile --visualize FILE.png", told by the extension; any other -v is --verbose.
Arguments picture_flag(Arguments arguments);

}  // namespace opscope
