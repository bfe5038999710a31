// A calibration as a page: the device, its host, and how well each family of ops is known.
#pragma once

#include <string>

#include "hardware/predict/calibration.h"
#include "report/core/document.h"

namespace opscope {

std::string to_format(const Calibration& calibration, Format format, const TextOptions& options = {});

}  // namespace opscope
