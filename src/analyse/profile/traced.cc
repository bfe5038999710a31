// A tracer's graphs as one more grouping of the ops: each op is counted in the node that it ran for, or
// outside all graphs.
#include "analyse/profile/rollup.h"

namespace opscope {

TracerRows make_tracer_rows(const Graph& graph, const std::vector<OpCost>& costs) {
  TracerRows rows;
  TextBlocks texts;
  const auto labels = node_labels(graph, texts);
  for (PartId p = 0; p < graph.parts.size(); ++p) rows.parts.push_back({.part = p});
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const PartId part = graph.nodes[n].part;
    rows.nodes.push_back({.node = n, .label = labels[n], .calls = graph.parts[part].calls});
    ++rows.parts[part].nodes;
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const NodeId node = graph.ops[i].node;
    if (node == kNone) {
      rows.outside += costs[i];
      continue;
    }
    rows.nodes[node].metrics += costs[i];
    rows.parts[graph.nodes[node].part].metrics += costs[i];
  }
  rows.texts = std::move(texts).take();
  return rows;
}

}  // namespace opscope
