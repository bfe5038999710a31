// Nodes counted by kind and target, and rows of the comparison made from profiles.
#include "analyse/trace/trace.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace opscope {
namespace {

// Dynamo and export hand in every parameter as if it were an input.
bool hands_in_weight(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kPlaceholder && node.kind != NodeKind::kGetAttr) return false;
  const auto outputs = graph.outputs_of(node);
  return !outputs.empty() && std::ranges::all_of(outputs, [&](ValueId id) {
    return id != kNone && is_weight(graph.values[id].kind);
  });
}

std::vector<GraphNode> tracer_nodes(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<GraphNode> nodes;
  nodes.reserve(profile.nodes().size());
  for (const NodeRow& row : profile.nodes()) {
    const Node& node = graph.nodes[row.node];
    const Module& module = graph.modules[node.module];
    const std::string_view target = graph.text(node.target);
    const auto outputs = graph.outputs_of(node);
    nodes.push_back({.kind = node.kind,
                     .label = row.label,
                     .name = graph.text(node.name),
                     .target = target,
                     .module = graph.path(module),
                     .type = node.kind == NodeKind::kCallModule ? graph.text(module.type) : target,
                     .source = graph.text(node.source),
                     .part = node.part,
                     .calls = row.calls,
                     .is_weight = hands_in_weight(graph, node),
                     .output = outputs.empty() ? kNone : outputs.front(),
                     .metrics = row.metrics});
  }
  return nodes;
}

GraphNode layer_node(const Profile& profile, const LayerRow& layer, const Op& op) {
  const Graph& graph = *profile.graph;
  const Module& module = graph.modules[layer.module];
  return {.kind = layer.is_module ? NodeKind::kCallModule : NodeKind::kCallFunction,
          .label = layer.name,
          .name = layer.name,
          .target = layer.is_module ? graph.path(module) : graph.op_name(op),
          .module = graph.path(module),
          .type = layer.is_module ? graph.text(module.type) : graph.op_name(op),
          .source = graph.text(op.source),
          .output = layer.output,
          .metrics = layer.metrics};
}

// Layers are numbered by their first op.
std::vector<GraphNode> layer_nodes(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<GraphNode> nodes;
  const auto add_end = [&](NodeKind kind, std::string_view name, ValueId value) {
    nodes.push_back({.kind = kind, .label = name, .name = name, .target = name, .output = value});
  };
  for (const ValueId input : graph.inputs)
    add_end(NodeKind::kPlaceholder, graph.text(graph.values[input].name), input);
  std::size_t layer = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    if (profile.layer_of()[i] == layer)
      nodes.push_back(layer_node(profile, profile.layers()[layer++], graph.ops[i]));
  if (!graph.outputs.empty()) add_end(NodeKind::kOutput, "output", graph.outputs.front());
  return nodes;
}

std::int64_t difference(Count from, Count to) {
  return to < from ? -as_signed(from - to) : as_signed(to - from);
}

}  // namespace

std::vector<GraphNode> graph_nodes(const Profile& profile) {
  return profile.graph->parts.empty() ? layer_nodes(profile) : tracer_nodes(profile);
}

std::vector<KindRow> count_kinds(const std::vector<GraphNode>& nodes) {
  std::vector<KindRow> rows;
  for (const NodeKind kind : kNodeKinds) rows.push_back({.kind = kind});
  for (const GraphNode& node : nodes) {
    KindRow& row = rows[static_cast<std::size_t>(node.kind)];
    ++row.count;
    row.metrics += node.metrics;
  }
  std::erase_if(rows, [](const KindRow& row) { return row.count == 0; });
  return rows;
}

std::vector<TargetRow> count_targets(const std::vector<GraphNode>& nodes) {
  std::map<std::pair<NodeKind, std::string_view>, TargetRow> sums;
  for (const GraphNode& node : nodes) {
    if (node.kind != NodeKind::kCallModule && node.kind != NodeKind::kCallFunction &&
        node.kind != NodeKind::kCallMethod)
      continue;
    TargetRow& row = sums[{node.kind, node.type}];
    row.kind = node.kind, row.target = node.type;
    ++row.count;
    row.metrics += node.metrics;
  }
  std::vector<TargetRow> rows;
  for (const auto& [key, row] : sums) rows.push_back(row);
  std::ranges::stable_sort(rows, std::greater{}, [](const TargetRow& row) {
    return std::tuple(row.metrics.flops, row.metrics.memory_bytes(), row.count);
  });
  return rows;
}

TracerRow tracer_row(std::string tracer, const Profile& profile) {
  const Graph& graph = *profile.graph;
  const std::vector<GraphNode> nodes = graph_nodes(profile);
  return {.tracer = std::move(tracer),
          .seconds = graph.capture.seconds,
          .nodes = nodes.size(),
          .kinds = count_kinds(nodes),
          .graphs = std::max<std::uint64_t>(graph.parts.size(), 1),
          .breaks = graph.breaks,
          .rungs = graph.capture.rungs,
          .totals = profile.totals,
          .parameters = profile.parameters};
}

void compare_to_engine(const std::vector<TracerRow>& rows, std::vector<TracerRow>& others) {
  const auto engine = std::ranges::find_if(rows, &TracerRow::is_engine);
  if (engine == rows.end() || !engine->totals) return;
  const Count macs = engine->totals->work.macs;
  const bool is_bound = engine->totals->confidence == Confidence::kUpperBound;
  for (TracerRow& row : others) {
    if (!row.totals || row.is_engine) continue;
    row.macs_difference = difference(macs, row.totals->work.macs);
    row.engine_is_bound = is_bound;
  }
}

}  // namespace opscope
