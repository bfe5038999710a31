// A measured call as a calibration's file has it: a line of words.
#pragma once

#include <optional>
#include <string_view>

#include "hardware/predict/calibration.h"

namespace opscope {

// nullopt for what is none. The text of the call stays that of the line.
std::optional<MeasuredCall> read_call(std::string_view line);

}  // namespace opscope
