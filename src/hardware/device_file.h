// A device's TOML file, checked: every key is known, every quantity has a unit of its kind.
#pragma once

#include <string>
#include <string_view>

#include "hardware/device.h"

namespace opscope {

// Throws Error naming the line. `name`: the file, for errors.
Device read_device(std::string_view text, const std::string& name);

}  // namespace opscope
