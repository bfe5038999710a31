// A device's TOML file, checked: every key is known, every quantity has a unit of its kind.
#pragma once

#include <string>
#include <string_view>

#include "hardware/device.h"

namespace opscope {

// Throws Error naming the line. `name`: the file, for errors.
Device read_device(std::string_view text, const std::string& name);

enum class Quantity : std::uint8_t { kRate, kBandwidth, kSize, kTime, kPower };
// "4.8 TB/s" -> 4.8e12. Throws Error with the units that would do.
double parse_quantity(Quantity quantity, std::string_view text, const std::string& where);

}  // namespace opscope
