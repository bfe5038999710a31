// Measured calls of a calibration that comes with opscope, in a file beside it: a list of calls, then the
// times of each. Tens of thousands of them take a third of the room that they would take in the calibration
// itself; the build puts them there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/predict/calibration.h"

namespace opscope {

// Without features. Throws Error naming the line.
std::vector<MeasuredCall> read_measured_list(std::string_view text, const std::string& name);
std::string write_measured_list(std::span<const MeasuredCall> calls);

// data/calibrations/h200.toml with the calls of h200.calls, if there is such a file.
Calibration read_with_list(const std::string& path);

}  // namespace opscope
