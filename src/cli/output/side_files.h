// The files that a command writes beside its report, and what is read: each is another file.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/flags.h"

namespace opscope {

// Throws Error where one of `written` cannot be written, is written twice, or is one of `read`, which a
// report would replace by itself. Empty paths are left out.
void check_side_files(const std::vector<std::string>& read, const std::vector<std::string>& written);

// Says on stderr that it did.
void write_beside(const std::string& path, const std::string& text, const TalkFlags& talk);

}  // namespace opscope
