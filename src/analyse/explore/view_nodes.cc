// The groupings that a view's nodes come from: ops, layers, a tracer's nodes, calls of modules, subgraphs.
#include "analyse/explore/view_nodes.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "analyse/profile/rollup.h"
#include "base/groups.h"
#include "graph/graph.h"

namespace opscope {
namespace {

constexpr std::string_view kFunction = "call_function", kModuleCall = "call_module";

ViewNode layer_node(const ViewDraft& draft, OpId first_op) {
  const LayerRow& layer = draft.profile.layers()[draft.profile.layer_of()[first_op]];
  const Graph& graph = draft.graph;
  return {.kind = layer.is_module ? kModuleCall : kFunction,
          .name = layer.name,
          .target = layer.is_module ? graph.text(graph.modules[layer.module].type)
                                    : graph.op_name(graph.ops[first_op]),
          .module = layer.module,
          .parameters = layer.parameters};
}

// As layers are named: the second call is "encoder#2".
std::string_view call_name(ViewDraft& draft, ScopeId id) {
  const Scope& scope = draft.graph.scopes[id];
  const Module& module = draft.graph.modules[scope.module];
  const std::string_view path = draft.graph.path(module);
  if (path.empty() && scope.call == 0)
    return module.type ? draft.graph.text(module.type) : std::string_view(draft.graph.capture.model);
  if (scope.call == 0 && path.find('#') == std::string_view::npos) return path;
  return draft.texts.add(std::string(path) + "#" + std::to_string(scope.call + 1));
}

// What a module does in the backward pass is another node than what it does in the forward pass: as one they
// would take from each other.
struct PhasedNodes {
  ViewDraft& draft;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes{};

  // The node of an op, made where it is the first of this group in its phase.
  template <class Make>
  std::uint32_t of(OpId op, std::uint32_t group, Make&& make) {
    const std::uint32_t phase = phase_of(draft.graph, op);
    const auto [found, is_new] = nodes.try_emplace(pair_key(group, phase));
    if (!is_new) return found->second;
    ViewNode node = make();
    if (phase > 0 && node.kind == kModuleCall) {
      const std::string& name = draft.graph.phases[phase].name;
      node.name = draft.texts.add(std::string(node.name) + "." + name);
      node.target = draft.texts.add(std::string(node.target) + " " + name);
      node.parameters = {};
    }
    return found->second = draft.add(node);
  }
};

ViewNode tracer_node(const ViewDraft& draft, NodeId id, std::span<const std::uint32_t> row_of) {
  const Graph& graph = draft.graph;
  const Node& node = graph.nodes[id];
  ViewNode made{.kind = name(node.kind),
                .name = draft.profile.nodes()[id].label,
                .target = graph.text(node.target),
                .module = node.module,
                .node = id};
  if (node.kind == NodeKind::kCallModule) {
    made.target = graph.text(graph.modules[node.module].type);
    made.parameters = draft.profile.modules()[row_of[node.module]].parameters;
  } else if (node.kind == NodeKind::kPlaceholder || node.kind == NodeKind::kGetAttr) {
    for (const ValueId value : graph.outputs_of(node))
      if (value != kNone) made.parameters += parameters_of(graph, graph.values[value]);
  }
  return made;
}

// A tracer's nodes in its order; what ran outside the graphs where it ran, layer by layer.
void group_by_tracer_node(ViewDraft& draft) {
  const auto& nodes = draft.graph.nodes;
  const std::vector<std::uint32_t> row_of = rows_of_modules(draft.profile.modules());
  std::vector<std::uint32_t> view_of;                        // by tracer's node, as far as they are passed
  std::unordered_map<std::uint32_t, std::uint32_t> outside;  // by layer
  const auto pass_to = [&](std::size_t end) {
    while (view_of.size() < end)
      view_of.push_back(draft.add(tracer_node(draft, static_cast<NodeId>(view_of.size()), row_of)));
  };
  for (OpId op = 0; op < draft.graph.ops.size(); ++op) {
    if (const NodeId node = draft.graph.ops[op].node; node != kNone) {
      pass_to(node + 1);
      draft.node_of[op] = view_of[node];
      continue;
    }
    std::size_t end = view_of.size();  // of the part that was begun
    while (end > 0 && end < nodes.size() && nodes[end].part == nodes[end - 1].part) ++end;
    pass_to(end);
    const auto [found, is_new] = outside.try_emplace(draft.profile.layer_of()[op]);
    if (is_new) {
      ViewNode made = layer_node(draft, op);
      made.kind = "outside";
      found->second = draft.add(made);
    }
    draft.node_of[op] = found->second;
  }
  pass_to(nodes.size());
}

// Names of single ops, unique in the graph: "layer1.0.conv1.conv2d", "layer1.0.add", "attention.matmul_1".
class OpLabels {
 public:
  explicit OpLabels(ViewDraft& draft) : draft_(draft), number_(draft.graph.ops.size()) {
    std::unordered_map<std::uint64_t, std::uint32_t> next;  // by layer and type
    const OpTypes types(draft.graph);
    for (OpId op = 0; op < number_.size(); ++op) {
      const std::uint32_t layer = draft.profile.layer_of()[op];
      if (draft.profile.layers()[layer].is_module)
        number_[op] = next[pair_key(layer, types.of_target[draft.graph.ops[op].target])]++;
    }
  }

  std::string_view label(OpId op) {
    const LayerRow& layer = draft_.profile.layers()[draft_.profile.layer_of()[op]];
    if (!layer.is_module) return layer.name;
    text_.clear();
    if (layer.scope != 0) text_.append(layer.name).append(".");  // a model without children needs no path
    text_ += op_type(draft_.graph.op_name(draft_.graph.ops[op]));
    if (number_[op]) text_.append("_").append(std::to_string(number_[op]));
    return draft_.texts.add(text_);
  }
  void add_node(OpId op) {
    const Op& called = draft_.graph.ops[op];
    draft_.node_of[op] = draft_.add({.kind = kFunction,
                                     .name = label(op),
                                     .target = draft_.graph.op_name(called),
                                     .module = draft_.graph.scopes[called.scope].module});
  }

 private:
  ViewDraft& draft_;
  std::vector<std::uint32_t> number_;  // by op: of its type within its layer
  std::string text_;
};

void add_inputs(ViewDraft& draft) {
  for (std::size_t i = 0; i < draft.graph.inputs.size(); ++i) {
    const Value& value = draft.graph.values[draft.graph.inputs[i]];
    std::string_view name = draft.graph.text(value.name);
    if (name.empty()) name = draft.texts.add("input_" + std::to_string(i + 1));
    draft.add({.kind = "placeholder", .name = name, .target = name, .output = draft.graph.inputs[i]});
  }
}

void group_by_op(ViewDraft& draft) {
  OpLabels labels(draft);
  for (OpId op = 0; op < draft.graph.ops.size(); ++op) labels.add_node(op);
}

void group_by_layer(ViewDraft& draft) {
  PhasedNodes nodes{draft};
  for (OpId op = 0; op < draft.graph.ops.size(); ++op)
    draft.node_of[op] = nodes.of(op, draft.profile.layer_of()[op], [&] { return layer_node(draft, op); });
}

void group_by_module(ViewDraft& draft) {
  const std::vector<std::uint32_t> row_of = rows_of_modules(draft.profile.modules());
  PhasedNodes calls{draft}, layers{draft};
  const auto call_node = [&](ScopeId call) {
    const ModuleId module = draft.graph.scopes[call].module;
    return ViewNode{.kind = kModuleCall,
                    .name = call_name(draft, call),
                    .target = draft.graph.text(draft.graph.modules[module].type),
                    .module = module,
                    .parameters = draft.profile.modules()[row_of[module]].parameters};
  };
  for (OpId op = 0; op < draft.graph.ops.size(); ++op) {
    const ScopeId call = draft.call_of[draft.graph.ops[op].scope];
    draft.node_of[op] =
        call != kNone ? calls.of(op, call, [&] { return call_node(call); })
                      : layers.of(op, draft.profile.layer_of()[op], [&] { return layer_node(draft, op); });
  }
}

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

// Subgraphs in the order in which they can run; an op that is in none is a node of its own, behind the last
// that it waits for. A subgraph is called after the layer of its costliest op; after the op itself where that
// layer has several.
void group_by_subgraph(ViewDraft& draft) {
  const Profile& profile = draft.profile;
  const Partition& partition = profile.partition();
  const auto weight = [&](OpId op) { return profile.costs[op].weight(); };
  std::vector<OpId> heads;
  std::vector<std::uint32_t> in_layer(profile.layers().size(), 0);  // heads
  for (const Subgraph& subgraph : partition.subgraphs) {
    const auto ops = partition.ops_of(subgraph);
    heads.push_back(ops.empty() ? kNone : *std::ranges::max_element(ops, {}, weight));
    if (heads.back() != kNone) ++in_layer[profile.layer_of()[heads.back()]];
  }
  OpLabels labels(draft);
  const auto add_subgraph = [&](const Subgraph& subgraph, OpId head) {
    const std::uint32_t layer = profile.layer_of()[head];
    const std::uint32_t node =
        draft.add({.kind = "subgraph",
                   .name = in_layer[layer] == 1 ? profile.layers()[layer].name : labels.label(head),
                   .target = subgraph.type,
                   .module = subgraph.module});
    for (const OpId op : partition.ops_of(subgraph)) draft.node_of[op] = node;
  };
  std::vector<Place> place = places(draft.graph, partition);
  for (OpId op = 0; op < place.size(); ++op)
    if (partition.of_op[op] != kNone) place[op] = kNone;
  const IdGroups free(heads.size() + 1, place);
  for (Place p = 0; p <= heads.size(); ++p) {
    if (p > 0 && heads[p - 1] != kNone) add_subgraph(partition.subgraphs[p - 1], heads[p - 1]);
    for (const OpId op : free.of(p)) labels.add_node(op);
  }
}

}  // namespace

ViewDraft find_nodes(const Profile& profile, Level level, std::span<const ScopeId> call_of) {
  static constexpr std::array kByLevel{group_by_module, group_by_layer, group_by_op, group_by_subgraph};
  ViewDraft draft{profile, call_of};
  if (level == Level::kLayer && !draft.graph.parts.empty()) {
    group_by_tracer_node(draft);  // a tracer's graph has inputs and outputs of its own
    return draft;
  }
  add_inputs(draft);
  kByLevel[static_cast<std::size_t>(level)](draft);
  if (const auto& outputs = draft.graph.outputs; !outputs.empty())
    draft.add({.kind = "output", .name = "output", .target = "output", .output = outputs.front()});
  return draft;
}

}  // namespace opscope
