// What others would do with the same graph and devices, priced alike, to stand beside a plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/solver/solve.h"

namespace opscope {

struct PlanBaseline {
  std::string name;
  std::optional<Plan> plan{};
  std::string why_not{};  // where there is none
};

// Even split: as many items for each device, in the order that they run in. Fill: each device until its
// memory is full, as accelerate's device_map="auto" does. Chain: the best cuts of that order, as EdgeShard's
// dynamic programming finds them; of all devices, and of each class alone where there are several.
std::vector<PlanBaseline> baselines_of(const CostGraph& graph, const PlanAnswer& answer);

}  // namespace opscope
