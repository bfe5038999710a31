// One model captured twice, with a condition on data answered both ways.
#pragma once

#include "graph/graph.h"

namespace opscope {

// Ops of `graph` that `other` does not run are run by one of the two alone: what `graph` has of them is the
// most that there can be.
void bound_by(Graph& graph, const Graph& other);

}  // namespace opscope
