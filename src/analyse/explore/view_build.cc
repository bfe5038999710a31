// Nodes first, by one of the groupings; then what holds for all of them: members, sums, edges.
#include "analyse/explore/view_build.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "analyse/explore/view.h"
#include "analyse/profile/rollup.h"
#include "base/choices.h"

namespace opscope {
namespace {

constexpr auto kLevels = choices<Level, Level::kSubgraph>("module", "layer", "op", "subgraph");

// Members node by node, in execution order within each.
void collect_ops(GraphView& view) {
  for (const std::uint32_t n : view.node_of) ++view.nodes[n].ops.size;
  std::uint32_t begin = 0;
  for (ViewNode& node : view.nodes) {
    node.ops.begin = begin;
    begin += std::exchange(node.ops.size, 0);
  }
  view.ops.resize(view.node_of.size());
  for (OpId op = 0; op < view.ops.size(); ++op) {
    Range& members = view.nodes[view.node_of[op]].ops;
    view.ops[members.begin + members.size++] = op;
  }
}

void sum_up(GraphView& view) {
  const Profile& profile = *view.profile;
  for (ViewNode& node : view.nodes) {
    const OpCost* costliest = nullptr;
    for (const OpId op : view.ops_of(node)) {
      const OpCost& cost = profile.costs[op];
      node.metrics += cost;
      const SubgraphId subgraph = profile.partition().of_op[op];
      const auto weight = [](const OpCost& c) { return std::tuple(c.flops, c.traffic.total()); };
      if (subgraph == kNone || (costliest && weight(cost) <= weight(*costliest))) continue;
      costliest = &cost;
      node.subgraph = subgraph;
    }
  }
}

// A called module has what it owns, a node without ops what it hands in.
void find_parameters(GraphView& view) {
  for (ViewNode& node : view.nodes)
    if (node.kind != "call_module" && node.ops.size > 0)
      node.parameters = parameters_read(*view.profile->graph, view.ops_of(node));
}

void find_nodes(ViewDraft& draft, Level level, std::uint32_t depth) {
  // A tracer's graph has inputs and outputs of its own.
  const bool traced = level == Level::kLayer && !draft.graph.parts.empty();
  if (traced) return group_by_tracer_node(draft);
  add_inputs(draft);
  switch (level) {
    case Level::kModule:
      group_by_module(draft, calls_at(draft.graph, depth));
      break;
    case Level::kLayer:
      group_by_layer(draft);
      break;
    case Level::kOp:
      group_by_op(draft);
      break;
    case Level::kSubgraph:
      group_by_subgraph(draft);
      break;
  }
  add_output(draft);
}

GraphView completed(ViewDraft draft, Level level) {
  GraphView view{.profile = &draft.profile,
                 .level = level,
                 .nodes = std::move(draft.nodes),
                 .edges = {},
                 .out_edges = {},
                 .ops = {},
                 .node_of = std::move(draft.node_of),
                 .texts = std::move(draft.texts).take()};
  collect_ops(view);
  sum_up(view);
  find_parameters(view);
  connect(view);
  return view;
}

}  // namespace

std::string_view name(Level level) { return kLevels[level]; }
Level level_from_name(std::string_view text) { return kLevels.parse(text, "no such level:", "--level"); }

GraphView make_view(const Profile& profile, Level level, std::uint32_t depth) {
  ViewDraft draft(profile);
  find_nodes(draft, level, depth);
  return completed(std::move(draft), level);
}

GraphView make_module_view(const Profile& profile, std::span<const ScopeId> call_of) {
  ViewDraft draft(profile);
  add_inputs(draft);
  group_by_module(draft, call_of);
  add_output(draft);
  return completed(std::move(draft), Level::kModule);
}

}  // namespace opscope
