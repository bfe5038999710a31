// Which stretch of a training step an op is in.
#pragma once

#include "graph/graph.h"

namespace opscope {

// Its number in Graph::phases; 0 for all ops of a run that has none.
inline std::uint32_t phase_of(const Graph& graph, OpId op) {
  std::uint32_t phase = 0;
  while (phase + 1 < graph.phases.size() && graph.phases[phase + 1].begin <= op) ++phase;
  return phase;
}

}  // namespace opscope
