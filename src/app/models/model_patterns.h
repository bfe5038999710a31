// 'resnet*' among the models of a command: all that `opscope list` has by such a name.
#pragma once

#include <string>
#include <vector>

#include "app/request/written.h"
#include "app/worker/listener.h"

namespace opscope {

// Has *, ? or [, and is no file.
bool is_model_pattern(const std::string& spec);

// Each pattern replaced by what matches it, in the order of the list; 'timm:resnet*' insists on a library.
// Throws Error where nothing does.
std::vector<std::string> expand_patterns(const std::vector<std::string>& specs, const WrittenRequest& written,
                                         Listener& listener);

}  // namespace opscope
