// A plain graph of costs, as `opscope plan --costs` takes it (schema/plan_costs.schema.json).
#pragma once

#include <string>
#include <string_view>

#include "plan/costs/cost_graph.h"

namespace opscope {

// where: the file's name, for errors. Throws Error for what is not such a graph, or one that no plan can be
// made of.
CostGraph read_costs(std::string_view json, const std::string& where);

}  // namespace opscope
