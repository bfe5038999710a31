// Ops as the nodes of a plan: one by one, or by the module calls that they are in where there are too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

struct OpGroups {
  std::vector<std::uint32_t> of_op;
  std::vector<std::vector<OpId>> ops;  // by group, in the order that they run in
  std::vector<std::string> names;      // by group, no two the same
  bool is_coarse = false;
};

// No more than `most`, by the deepest module calls that are few enough.
OpGroups grouped_ops(const Profile& profile, std::size_t most);

}  // namespace opscope
