// Where in a run an op is: the calls of modules around it, and the stretch of a training step.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace opscope {

// The innermost call that both are or are in.
inline ScopeId common_scope(const Graph& graph, ScopeId a, ScopeId b) {
  while (a != b) {  // parents come first, so the later one is the deeper one or in another branch
    if (a < b) std::swap(a, b);
    a = graph.scopes[a].parent;
  }
  return a;
}

// By scope: how many calls are around it.
inline std::vector<std::uint32_t> scope_depths(const Graph& graph) {
  std::vector<std::uint32_t> depths(graph.scopes.size(), 0);
  for (ScopeId s = 1; s < depths.size(); ++s) depths[s] = depths[graph.scopes[s].parent] + 1;
  return depths;
}

// An op's number in Graph::phases; 0 for all ops of a run that has none.
inline std::uint32_t phase_of(const Graph& graph, OpId op) {
  std::uint32_t phase = 0;
  while (phase + 1 < graph.phases.size() && graph.phases[phase + 1].begin <= op) ++phase;
  return phase;
}

// The first op behind a phase.
inline OpId phase_end(const Graph& graph, std::size_t phase) {
  return phase + 1 < graph.phases.size() ? graph.phases[phase + 1].begin
                                         : static_cast<OpId>(graph.ops.size());
}

}  // namespace opscope
