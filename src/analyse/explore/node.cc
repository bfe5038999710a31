// What belongs to one node beyond its sums: the memory its results lie in, the weights it reads, who waits
// for its subgraph.
#include <algorithm>

#include "analyse/explore/explore.h"
#include "graph/reads.h"

namespace opscope {
namespace {

// By value: the place of its memory among memory_pieces, which are the storages, then the values that have
// none.
std::vector<std::size_t> places(const Graph& graph) {
  std::vector<std::size_t> place;
  std::size_t next = graph.storages.size();
  for (const Value& value : graph.values) place.push_back(value.storage != kNone ? value.storage : next++);
  return place;
}

bool is_stored(ValueKind kind) { return is_weight(kind) || kind == ValueKind::kConstant; }

}  // namespace

std::vector<HeldResult> results_of(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  const auto ops = view.ops_of(node);
  if (ops.empty()) return {};
  const std::vector<std::size_t> place = places(graph);
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
      if (!is_stored(graph.values[id].kind) || seen[id]) return;
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

}  // namespace opscope
