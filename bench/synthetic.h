// Graphs of any size with the op mix of real models, for the benchmarks.
#pragma once

#include <cstddef>

#include "graph/graph.h"

namespace opscope::bench {

// Residual convolution blocks and transformer blocks in turn, at least `op_count` ops.
Graph synthetic_model(std::size_t op_count);

}  // namespace opscope::bench
