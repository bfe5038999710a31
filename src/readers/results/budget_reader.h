// A budget file -> the limits in it.
//
//   [max]                             # of the whole model, of every [[model]]
//   flops = "4.2G"
//   [min]
//   arithmetic_intensity = 20
//   [modules."encoder.layer.0"]       # or [modules."encoder.layer.0".min]
//   params = "7.1M"
//   [types.conv2d]
//   ops = 20
//   [max_increase]                    # from the version that --against names
//   flops = "2%"
//   [[model]]                         # with the flags of the command line, and limits of its own
//   spec = "resnet18"
//   batch = 8
//   max = { peak_memory_bytes = "200MiB" }
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyse/check/budget.h"

namespace opscope {

// One for each [[model]], with what is said for all; where there is none, one for any model. Throws Error
// with "file:line" as its place for what is no TOML, no limit, or not known.
std::vector<ModelBudget> read_budget(std::string_view toml, const std::string& where);

}  // namespace opscope
