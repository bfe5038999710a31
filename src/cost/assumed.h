// Ops whose sizes rest on an assumption: a capture does not know what a topk or argmax of data picks, assumes
// that its choices are evenly spread, and goes on with these. What is sized by them is an estimate.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace opscope {

// By op; empty where nothing was assumed. `settled`: ops whose picks are priced otherwise, such as the
// choices among experts; in op order.
std::vector<bool> sized_by_assumption(const Graph& graph, const std::vector<OpId>& settled);

}  // namespace opscope
