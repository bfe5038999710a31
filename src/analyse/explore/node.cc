// What belongs to one node beyond its sums: the memory its results lie in, the weights it reads, who waits
// for its subgraph.
#include <algorithm>
#include <set>

#include "analyse/explore/explore.h"
#include "graph/graph.h"

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

}  // namespace

std::vector<HeldResult> results_of(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  const auto ops = view.ops_of(node);
  if (ops.empty()) return {};
  // By value: the place of its memory among the pieces, which are the storages, then the values that have
  // none.
  std::vector<std::size_t> place;
  std::size_t next = graph.storages.size();
  for (const Value& value : graph.values) place.push_back(value.storage != kNone ? value.storage : next++);
  const std::vector<MemoryPiece> pieces = memory_pieces(graph);
  std::vector<std::uint32_t> row(pieces.size(), kNone);
  std::vector<HeldResult> results;
  for (const OpId op : ops)
    for (const ValueId value : graph.outputs_of(graph.ops[op])) {
      const MemoryPiece& piece = pieces[place[value]];
      if (row[place[value]] == kNone) {
        row[place[value]] = static_cast<std::uint32_t>(results.size());
        results.push_back({.piece = piece, .made_here = std::ranges::binary_search(ops, piece.held.made)});
      }
      results[row[place[value]]].value = value;
    }
  return results;
}

std::vector<ValueId> weights_read(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  std::vector<bool> seen(graph.values.size(), false);
  std::vector<ValueId> weights;
  for (const OpId op : view.ops_of(node))
    each_read(graph, graph.ops[op], [&](ValueId id) {
      const ValueKind kind = graph.values[id].kind;
      if ((!is_weight(kind) && kind != ValueKind::kConstant) || seen[id]) return;
      seen[id] = true;
      weights.push_back(id);
    });
  return weights;
}

std::vector<SubgraphId> readers_of(const Partition& partition, SubgraphId subgraph) {
  std::vector<SubgraphId> readers;
  for (SubgraphId id = 0; id < partition.subgraphs.size(); ++id) {
    const auto taken = partition.depends_on(partition.subgraphs[id]);
    if (std::ranges::find(taken, subgraph) != taken.end()) readers.push_back(id);
  }
  return readers;
}

std::vector<SubgraphId> subgraphs_of(const Partition& partition, std::span<const OpId> ops) {
  std::set<SubgraphId> ids;
  for (const OpId op : ops) ids.insert(partition.of_op[op]);
  ids.erase(kNone);
  return {ids.begin(), ids.end()};
}

Standing standing_of(const GraphView& view, const ViewNode& node) {
  const Profile& profile = *view.profile;
  const Partition& partition = profile.partition();
  Standing standing{.subgraphs = subgraphs_of(partition, view.ops_of(node)),
                    .flops = node.metrics.flops,
                    .memory_bytes = node.metrics.memory_bytes()};
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
    standing.bound = bottleneck_of(standing.flops, standing.memory_bytes, profile.options.ridge);
  return standing;
}

ExploreSummary summarise(const GraphView& view) {
  const Profile& profile = *view.profile;
  ExploreSummary summary;
  for (OpId op = 0; op < profile.costs.size(); ++op) {
    if (!profile.costs[op].flops && !profile.costs[op].traffic.total()) continue;
    ++summary.working_ops;
    if (profile.partition().of_op[op] != kNone) ++summary.partitioned_ops;
  }
  for (const ViewNode& node : view.nodes) {
    if (node.subgraph != kNone) ++summary.partitioned_nodes;
    auto kind = std::ranges::find(summary.kinds, node.kind, [](const auto& k) { return k.first; });
    if (kind == summary.kinds.end()) kind = summary.kinds.insert(kind, {node.kind, 0});
    ++kind->second;
  }
  return summary;
}

}  // namespace opscope
