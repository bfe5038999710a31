// The flags of costs, the same on every command that shows them.
#pragma once

#include "app/cases/costs.h"
#include "cli/main/cli11.h"

namespace opscope {

void add_cost_flags(CLI::App& app, CostRequest& request);

}  // namespace opscope
