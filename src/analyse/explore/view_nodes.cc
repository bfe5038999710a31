// The groupings that a view's nodes come from: ops, layers, a tracer's nodes, calls of modules, subgraphs.
#include <string>
#include <unordered_map>

#include "analyse/explore/view_build.h"
#include "analyse/profile/rollup.h"
#include "graph/scopes.h"

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

std::vector<std::uint32_t> rows_of_modules(const Profile& profile) {
  std::vector<std::uint32_t> row_of(profile.graph->modules.size());
  for (std::uint32_t r = 0; r < profile.modules().size(); ++r) row_of[profile.modules()[r].module] = r;
  return row_of;
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
class PhasedNodes {
 public:
  explicit PhasedNodes(ViewDraft& draft) : draft_(draft) {}

  // The node of an op, made where it is the first of this group in its phase.
  template <class Make>
  std::uint32_t of(OpId op, std::uint32_t group, Make&& make) {
    const std::uint32_t phase = phase_of(draft_.graph, op);
    const auto [found, is_new] = nodes_.try_emplace(pair_key(group, phase));
    if (!is_new) return found->second;
    ViewNode node = make();
    if (phase > 0 && node.kind == kModuleCall) {
      const std::string& name = draft_.graph.phases[phase].name;
      node.name = draft_.texts.add(std::string(node.name) + "." + name);
      node.target = draft_.texts.add(std::string(node.target) + " " + name);
      node.parameters = {};
    }
    return found->second = draft_.add(node);
  }

 private:
  ViewDraft& draft_;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
};

// A tracer's nodes in its order; what ran outside the graphs where it ran, layer by layer.
class TracerNodes {
 public:
  explicit TracerNodes(ViewDraft& draft)
      : draft_(draft), view_of_(draft.graph.nodes.size(), kNone), row_of_(rows_of_modules(draft.profile)) {}

  void run() {
    for (OpId op = 0; op < draft_.graph.ops.size(); ++op) {
      const NodeId node = draft_.graph.ops[op].node;
      if (node == kNone) {
        end_part();
        draft_.node_of[op] = outside(op);
      } else {
        pass_to(node + 1);
        draft_.node_of[op] = view_of_[node];
      }
    }
    pass_to(static_cast<NodeId>(draft_.graph.nodes.size()));
  }

 private:
  void pass_to(NodeId end) {
    for (; next_ < end; ++next_) view_of_[next_] = draft_.add(node_of(next_));
  }
  void end_part() {
    const auto& nodes = draft_.graph.nodes;
    while (next_ > 0 && next_ < nodes.size() && nodes[next_].part == nodes[next_ - 1].part)
      pass_to(next_ + 1);
  }
  std::uint32_t outside(OpId op) {
    const auto [found, is_new] = outside_.try_emplace(draft_.profile.layer_of()[op]);
    if (is_new) {
      ViewNode node = layer_node(draft_, op);
      node.kind = "outside";
      found->second = draft_.add(node);
    }
    return found->second;
  }

  ViewNode node_of(NodeId id) const {
    const Graph& graph = draft_.graph;
    const Node& node = graph.nodes[id];
    const Module& module = graph.modules[node.module];
    const bool is_call = node.kind == NodeKind::kCallModule;
    return {.kind = name(node.kind),
            .name = draft_.profile.nodes()[id].label,
            .target = is_call ? graph.text(module.type) : graph.text(node.target),
            .module = node.module,
            .node = id,
            .parameters = is_call ? draft_.profile.modules()[row_of_[node.module]].parameters : given(node)};
  }
  // What a node of no ops hands in; of others the ops tell.
  Parameters given(const Node& node) const {
    Parameters sum;
    if (node.kind != NodeKind::kPlaceholder && node.kind != NodeKind::kGetAttr) return sum;
    for (const ValueId id : draft_.graph.outputs_of(node))
      if (id != kNone) sum += parameters_of(draft_.graph, draft_.graph.values[id]);
    return sum;
  }

  ViewDraft& draft_;
  std::vector<std::uint32_t> view_of_;  // by tracer's node
  std::vector<std::uint32_t> row_of_;
  std::unordered_map<std::uint32_t, std::uint32_t> outside_;  // by layer
  NodeId next_ = 0;
};

}  // namespace

OpLabels::OpLabels(const Profile& profile) : profile_(profile), number_(profile.layer_of().size()) {
  const Graph& graph = *profile.graph;
  std::unordered_map<std::uint64_t, std::uint32_t> next;  // by layer and type
  const OpTypes types(graph);
  for (OpId op = 0; op < number_.size(); ++op) {
    const std::uint32_t layer = profile.layer_of()[op];
    if (profile.layers()[layer].is_module)
      number_[op] = next[pair_key(layer, types.of_target[graph.ops[op].target])]++;
  }
}

std::string_view OpLabels::label(OpId op, TextBlocks& texts) {
  const LayerRow& layer = profile_.layers()[profile_.layer_of()[op]];
  if (!layer.is_module) return layer.name;
  text_.clear();
  if (layer.scope != 0) text_.append(layer.name).append(".");  // a model without children needs no path
  text_ += op_type(profile_.graph->op_name(profile_.graph->ops[op]));
  if (number_[op]) text_.append("_").append(std::to_string(number_[op]));
  return texts.add(text_);
}

ViewNode op_node(const ViewDraft& draft, OpId op, std::string_view label) {
  const Op& called = draft.graph.ops[op];
  return {.kind = kFunction,
          .name = label,
          .target = draft.graph.op_name(called),
          .module = draft.graph.scopes[called.scope].module};
}

void add_inputs(ViewDraft& draft) {
  for (std::size_t i = 0; i < draft.graph.inputs.size(); ++i) {
    const Value& value = draft.graph.values[draft.graph.inputs[i]];
    std::string_view name = draft.graph.text(value.name);
    if (name.empty()) name = draft.texts.add("input_" + std::to_string(i + 1));
    draft.add({.kind = "placeholder", .name = name, .target = name, .output = draft.graph.inputs[i]});
  }
}

void add_output(ViewDraft& draft) {
  if (draft.graph.outputs.empty()) return;
  draft.add({.kind = "output", .name = "output", .target = "output", .output = draft.graph.outputs.front()});
}

void group_by_op(ViewDraft& draft) {
  OpLabels labels(draft.profile);
  for (OpId op = 0; op < draft.graph.ops.size(); ++op)
    draft.node_of[op] = draft.add(op_node(draft, op, labels.label(op, draft.texts)));
}

void group_by_layer(ViewDraft& draft) {
  PhasedNodes nodes(draft);
  for (OpId op = 0; op < draft.graph.ops.size(); ++op)
    draft.node_of[op] = nodes.of(op, draft.profile.layer_of()[op], [&] { return layer_node(draft, op); });
}

void group_by_tracer_node(ViewDraft& draft) { TracerNodes(draft).run(); }

std::vector<ScopeId> calls_at(const Graph& graph, std::uint32_t depth) {
  const std::vector<std::uint32_t> depths = scope_depths(graph);
  std::vector<ScopeId> call(graph.scopes.size(), kNone);
  for (ScopeId s = 0; s < graph.scopes.size(); ++s) {
    const ScopeId parent = graph.scopes[s].parent;
    call[s] = depths[s] == depth ? s : parent == kNone ? kNone : call[parent];
  }
  return call;
}

void group_by_module(ViewDraft& draft, std::span<const ScopeId> call_of) {
  const std::vector<std::uint32_t> row_of = rows_of_modules(draft.profile);
  PhasedNodes calls(draft), layers(draft);
  const auto call_node = [&](ScopeId call) {
    const ModuleId module = draft.graph.scopes[call].module;
    return ViewNode{.kind = kModuleCall,
                    .name = call_name(draft, call),
                    .target = draft.graph.text(draft.graph.modules[module].type),
                    .module = module,
                    .parameters = draft.profile.modules()[row_of[module]].parameters};
  };
  for (OpId op = 0; op < draft.graph.ops.size(); ++op) {
    const ScopeId call = call_of[draft.graph.ops[op].scope];
    draft.node_of[op] =
        call != kNone ? calls.of(op, call, [&] { return call_node(call); })
                      : layers.of(op, draft.profile.layer_of()[op], [&] { return layer_node(draft, op); });
  }
}

}  // namespace opscope
