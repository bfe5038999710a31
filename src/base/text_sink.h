// Where a large text goes as it is made, one block after the other, so that it is never whole in memory.
#pragma once

#include <functional>
#include <string_view>

namespace opscope {

using TextSink = std::function<void(std::string_view block)>;
using TextSource = std::function<void(const TextSink& sink)>;

}  // namespace opscope
