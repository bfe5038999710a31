// A sweep from its flags to its report: for `opscope sweep` and for `opscope profile --batch-sizes`.
#pragma once

#include <string>

#include "cli/flags/model.h"

namespace opscope {

struct SweepFlags : ModelCommandFlags {
  std::string metric{}, memory{};
  bool polynomial = false, every_point = false, no_turns = false;
  std::string visualize{};  // a picture beside the report
};

int run_sweep(const SweepFlags& flags);

}  // namespace opscope
