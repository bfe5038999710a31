// Nodes and subgraphs side by side: where each node stands, and how the whole is shared out.
#include <algorithm>

#include "analyse/explore/explore.h"

namespace opscope {
namespace {

// Nodes that run nothing.
std::string_view why_idle(const GraphView& view, const ViewNode& node) {
  if (node.kind == "output") return "what is returned";
  if (node.kind == "get_attr") return "a weight";
  if (node.kind == "placeholder") {
    const bool weight = node.output != kNone && (node.parameters.total || node.parameters.buffers);
    return weight ? "a weight" : "an input";
  }
  return view.level == Level::kLayer && node.node != kNone ? "it ran no op" : "it does no work";
}

bool works(const OpCost& cost) { return cost.flops || cost.traffic.total(); }

}  // namespace

double Standing::arithmetic_intensity() const {
  return memory_bytes ? static_cast<double>(flops) / static_cast<double>(memory_bytes) : 0;
}

Standing standing_of(const GraphView& view, const ViewNode& node) {
  const Profile& profile = *view.profile;
  const Partition& partition = profile.partition;
  Standing standing{.flops = node.metrics.flops, .memory_bytes = node.metrics.memory_bytes()};
  for (const OpId op : view.ops_of(node))
    if (partition.of_op[op] != kNone) standing.subgraphs.push_back(partition.of_op[op]);
  std::ranges::sort(standing.subgraphs);
  standing.subgraphs.erase(std::ranges::unique(standing.subgraphs).begin(), standing.subgraphs.end());
  if (standing.subgraphs.size() == 1) {
    const Subgraph& subgraph = partition.subgraphs[standing.subgraphs.front()];
    standing.flops = subgraph.flops;
    standing.memory_bytes = subgraph.memory_bytes();
  } else if (standing.subgraphs.empty()) {
    standing.why_none = node.ops.size
                            ? why_not_partitioned(*profile.graph, profile.costs, view.ops_of(node).front())
                            : why_idle(view, node);
  }
  if (standing.flops || standing.memory_bytes)
    standing.bound = bound_of(standing.flops, standing.memory_bytes, profile.options.ridge);
  return standing;
}

ExploreSummary summarise(const GraphView& view) {
  const Profile& profile = *view.profile;
  ExploreSummary summary;
  for (const Subgraph& subgraph : profile.partition.subgraphs) {
    const Bound bound = bound_of(subgraph.flops, subgraph.memory_bytes(), profile.options.ridge);
    Band& band = summary.bounds[static_cast<std::size_t>(bound)];
    ++band.ops;
    band.flops += subgraph.flops;
    band.memory_bytes += subgraph.memory_bytes();
  }
  for (OpId op = 0; op < profile.costs.size(); ++op) {
    if (!works(profile.costs[op])) continue;
    ++summary.working_ops;
    if (profile.partition.of_op[op] != kNone) ++summary.partitioned_ops;
  }
  for (const ViewNode& node : view.nodes) {
    if (node.subgraph != kNone) ++summary.partitioned_nodes;
    const auto kind = std::ranges::find(summary.kinds, node.kind, [](const auto& k) { return k.first; });
    if (kind == summary.kinds.end())
      summary.kinds.emplace_back(node.kind, 1);
    else
      ++kind->second;
  }
  return summary;
}

}  // namespace opscope
