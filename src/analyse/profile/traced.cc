// A tracer's graphs as one more grouping of the ops: each op is counted in the node that it ran for, or
// outside all graphs.
#include <algorithm>
#include <iterator>

#include "analyse/profile/rollup.h"

namespace opscope {

void roll_up_nodes(const Graph& graph, Profile& profile) {
  TextBlocks texts;
  const auto labels = node_labels(graph, texts);
  for (PartId p = 0; p < graph.parts.size(); ++p) profile.parts.push_back({.part = p});
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const PartId part = graph.nodes[n].part;
    profile.nodes.push_back({.node = n, .label = labels[n], .calls = graph.parts[part].calls});
    ++profile.parts[part].nodes;
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const NodeId node = graph.ops[i].node;
    if (node == kNone) {
      profile.outside += profile.costs[i];
      continue;
    }
    profile.nodes[node].metrics += profile.costs[i];
    profile.parts[graph.nodes[node].part].metrics += profile.costs[i];
  }
  std::ranges::move(std::move(texts).take(), std::back_inserter(profile.texts));
}

}  // namespace opscope
