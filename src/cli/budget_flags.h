// The flags of captures in a budget file: [[model]] has them by their names with underscores.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyse/budget.h"
#include "cli/model_flags.h"

namespace opscope {

// A budget's flags over those of the command line. Throws Error for what is no flag.
ModelFlags with_budget_flags(ModelFlags flags, const ModelBudget& budget);

// What was asked of the capture, for a budget that is written: with_budget_flags makes the same of it.
std::vector<std::pair<std::string, std::string>> flags_given(ModelFlags flags);

}  // namespace opscope
