// Nodes first, by one of the groupings; then what holds for all of them: members, sums, edges.
#include "analyse/explore/view_build.h"

#include <algorithm>
#include <tuple>

#include "analyse/explore/view.h"
#include "analyse/profile/rollup.h"
#include "base/choices.h"
#include "graph/reads.h"

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

namespace {

using Place = std::uint32_t;  // 0: before all subgraphs; s + 1: at subgraph s or behind it

// By op. An op that is in no subgraph stands behind the latest of what it reads, and behind whoever last
// wrote to the memory of that.
std::vector<Place> places(const Graph& graph, const Partition& partition) {
  std::vector<Place> place(graph.ops.size()), of_value(graph.values.size(), 0),
      written(graph.storages.size(), 0);
  for (OpId op = 0; op < place.size(); ++op) {
    const auto wait_for = [&](ValueId id) {
      const Id storage = graph.values[id].storage;
      place[op] = std::max({place[op], of_value[id], storage == kNone ? 0 : written[storage]});
    };
    if (partition.of_op[op] != kNone)
      place[op] = partition.of_op[op] + 1;
    else
      each_read(graph, graph.ops[op], wait_for);
    for (const ValueId id : graph.outputs_of(graph.ops[op])) {
      const Id storage = graph.values[id].storage;
      of_value[id] = place[op];
      if (writes_in_place(graph, graph.ops[op], storage)) written[storage] = place[op];
    }
  }
  return place;
}

OpId costliest(const Profile& profile, const Subgraph& subgraph) {
  const auto weight = [&](OpId op) {
    return std::tuple(profile.costs[op].flops, profile.costs[op].traffic.total());
  };
  const auto ops = profile.partition().ops_of(subgraph);
  return *std::ranges::max_element(ops, {}, weight);
}

// A subgraph is called after the layer of its costliest op; after the op itself where that layer has several.
class SubgraphNodes {
 public:
  explicit SubgraphNodes(ViewDraft& draft)
      : draft_(draft), labels_(draft.profile), in_layer_(draft.profile.layers().size(), 0) {
    for (const Subgraph& subgraph : draft.profile.partition().subgraphs) {
      heads_.push_back(subgraph.ops.size ? costliest(draft.profile, subgraph) : kNone);
      if (heads_.back() != kNone) ++in_layer_[draft.profile.layer_of()[heads_.back()]];
    }
  }

  void add_subgraph(SubgraphId id) {
    const Subgraph& subgraph = draft_.profile.partition().subgraphs[id];
    const OpId head = heads_[id];
    if (head == kNone) return;
    const std::uint32_t layer = draft_.profile.layer_of()[head];
    const std::uint32_t node = draft_.add({.kind = "subgraph",
                                           .name = in_layer_[layer] == 1 ? draft_.profile.layers()[layer].name
                                                                         : labels_.label(head, draft_.texts),
                                           .target = subgraph.type,
                                           .module = subgraph.module});
    for (const OpId op : draft_.profile.partition().ops_of(subgraph)) draft_.node_of[op] = node;
  }
  void add_op(OpId op) {
    draft_.node_of[op] = draft_.add(op_node(draft_, op, labels_.label(op, draft_.texts)));
  }

 private:
  ViewDraft& draft_;
  OpLabels labels_;
  std::vector<OpId> heads_;              // by subgraph
  std::vector<std::uint32_t> in_layer_;  // heads, by layer
};

}  // namespace

void group_by_subgraph(ViewDraft& draft) {
  const Partition& partition = draft.profile.partition();
  const std::vector<Place> place = places(draft.graph, partition);
  // Free ops by place: a counting sort keeps the order of execution.
  const std::size_t count = partition.subgraphs.size() + 1;
  std::vector<std::uint32_t> begin(count + 1, 0);
  const auto is_free = [&](OpId op) { return partition.of_op[op] == kNone; };
  for (OpId op = 0; op < place.size(); ++op)
    if (is_free(op)) ++begin[place[op] + 1];
  for (std::size_t p = 1; p <= count; ++p) begin[p] += begin[p - 1];
  std::vector<OpId> free(begin[count]);
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (OpId op = 0; op < place.size(); ++op)
    if (is_free(op)) free[next[place[op]]++] = op;

  SubgraphNodes nodes(draft);
  for (Place p = 0; p < count; ++p) {
    if (p > 0) nodes.add_subgraph(p - 1);
    for (std::uint32_t i = begin[p]; i < begin[p + 1]; ++i) nodes.add_op(free[i]);
  }
}

}  // namespace opscope
