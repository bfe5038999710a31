// A measured call as a calibration's file has it: a line of words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/predict/features.h"

namespace opscope {

struct MeasuredCall {
  std::string text;  // graph/signature.h's call_text
  double seconds = 0, deviation = 0;
  double host_seconds = 0;  // to launch it; on a CPU 0
  OpFeatures features{};
};

// nullopt for what is none. The text of the call stays that of the line.
std::optional<MeasuredCall> read_call(std::string_view line);

}  // namespace opscope
