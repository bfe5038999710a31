// The flags of captures and costs in a budget file: [[model]] has them by their names with underscores.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyse/check/budget.h"
#include "app/cases/costs.h"
#include "app/request/written.h"

namespace opscope {

struct BudgetFlags {
  WrittenRequest model;
  CostRequest cost;
};

// A budget's flags over those of the command line. Throws Error for what is no flag.
BudgetFlags with_budget_flags(BudgetFlags flags, const ModelBudget& budget);

// What was asked of the capture and its costs, for a budget that is written: with_budget_flags makes the same
// of it.
std::vector<std::pair<std::string, std::string>> flags_given(const BudgetFlags& flags);

}  // namespace opscope
