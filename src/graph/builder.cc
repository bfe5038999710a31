// The bookkeeping behind GraphBuilder. Names given twice are found again, never duplicated.
#include "graph/builder.h"

#include <algorithm>

namespace opscope {
namespace {

std::pair<std::string_view, std::string_view> split_target(std::string_view target) {
  const auto colon = target.rfind("::");
  const auto dot = target.find('.', colon == std::string_view::npos ? 0 : colon);
  if (dot == std::string_view::npos) return {target, {}};
  return {target.substr(0, dot), target.substr(dot + 1)};
}

std::string join_path(std::string_view parent, std::string_view name) {
  if (parent.empty()) return std::string(name);
  return std::string(parent).append(".").append(name);
}

}  // namespace

GraphBuilder::GraphBuilder(std::string_view model, std::string_view root_type) {
  graph_.capture.model = model;
  graph_.capture.tracer = "static";
  graph_.modules.push_back({.parent = kNone, .name = 0, .path = 0, .type = graph_.intern(root_type)});
  graph_.scopes.push_back({.parent = kNone, .module = 0, .call = 0});
  calls_.push_back(1);
  running_.push_back(0);
}

ModuleId GraphBuilder::child(ModuleId parent, std::string_view name, std::string_view type) {
  const auto name_id = graph_.intern(name);
  const auto [entry, is_new] =
      children_.try_emplace(pair_key(parent, name_id), static_cast<ModuleId>(graph_.modules.size()));
  if (is_new) {
    const auto path = graph_.intern(join_path(graph_.path(graph_.modules[parent]), name));
    graph_.modules.push_back({.parent = parent, .name = name_id, .path = path, .type = graph_.intern(type)});
    calls_.push_back(0);
  }
  return entry->second;
}

ModuleId GraphBuilder::module(std::string_view path, std::string_view type) {
  auto at = running_module();
  for (;;) {
    const auto dot = path.find('.');
    if (dot == std::string_view::npos) return child(at, path, type);
    at = child(at, path.substr(0, dot), "Module");
    path.remove_prefix(dot + 1);
  }
}

GraphBuilder::Call GraphBuilder::call(std::string_view name, std::string_view type) {
  const auto called = module(name, type);
  graph_.scopes.push_back({.parent = running_.back(), .module = called, .call = calls_[called]++});
  running_.push_back(static_cast<ScopeId>(graph_.scopes.size() - 1));
  return Call(this);
}

Tensor GraphBuilder::add_value(const TensorSpec& spec, ValueKind kind) {
  Value value{.shape = graph_.add_dims(spec.shape),
              .strides = graph_.add_dims(spec.strides ? *spec.strides : contiguous_strides(spec.shape)),
              .offset = spec.offset,
              .device = graph_.intern("cpu"),
              .dtype = spec.dtype,
              .kind = kind};
  if (spec.alias.id != kNone) {
    OPSCOPE_CHECK(spec.alias.id < graph_.values.size());
    value.storage = graph_.values[spec.alias.id].storage;
  } else {
    value.storage = static_cast<Id>(graph_.storages.size());
    graph_.storages.push_back({bytes_of(graph_, value).value()});
  }
  graph_.values.push_back(value);
  return {static_cast<ValueId>(graph_.values.size() - 1)};
}

Tensor GraphBuilder::input(const TensorSpec& spec, std::string_view name) {
  const auto tensor = add_value(spec, ValueKind::kInput);
  graph_.values[tensor.id].name = graph_.intern(name);
  graph_.inputs.push_back(tensor.id);
  return tensor;
}

Tensor GraphBuilder::own(std::string_view name, const TensorSpec& spec, ValueKind kind) {
  const auto module = running_module();
  const auto key = pair_key(module, graph_.intern(name));
  if (const auto found = owned_.find(key); found != owned_.end()) return {found->second};
  const auto tensor = add_value(spec, kind);
  graph_.values[tensor.id].name = graph_.intern(join_path(graph_.path(graph_.modules[module]), name));
  tie(name, tensor);
  return tensor;
}

Tensor GraphBuilder::parameter(std::string_view name, const TensorSpec& spec, bool trainable) {
  const auto tensor = own(name, spec, ValueKind::kParameter);
  graph_.values[tensor.id].trainable = trainable;
  return tensor;
}

Tensor GraphBuilder::buffer(std::string_view name, const TensorSpec& spec) {
  return own(name, spec, ValueKind::kBuffer);
}

Tensor GraphBuilder::constant(const TensorSpec& spec) { return add_value(spec, ValueKind::kConstant); }

void GraphBuilder::tie(std::string_view name, Tensor owned) {
  const Owned entry{.module = running_module(), .value = owned.id, .name = graph_.intern(name)};
  if (owned_.try_emplace(pair_key(entry.module, entry.name), entry.value).second)
    graph_.owned.push_back(entry);
}

namespace {

// Puts each kind of item where Argument keeps it.
struct Store {
  Graph& graph;
  Argument& argument;

  void operator()(std::nullptr_t) { argument.kind = ArgumentKind::kNone; }
  void operator()(Tensor tensor) { set(ArgumentKind::kTensor, tensor.id); }
  void operator()(std::int64_t number) { set(ArgumentKind::kInt, number); }
  void operator()(bool truth) { set(ArgumentKind::kBool, truth); }
  void operator()(DType dtype) { set(ArgumentKind::kDType, static_cast<std::int64_t>(dtype)); }
  void operator()(const std::string& text) { set(ArgumentKind::kString, graph.intern(text)); }
  void operator()(double number) {
    argument.kind = ArgumentKind::kFloat;
    argument.real = number;
  }
  void operator()(const tensors& list) {
    std::vector<ValueId> ids(list.size());
    std::transform(list.begin(), list.end(), ids.begin(), [](Tensor tensor) { return tensor.id; });
    set(ArgumentKind::kTensorList, graph.add_refs(ids));
  }
  void operator()(const ints& list) { set(ArgumentKind::kIntList, graph.add_dims(list)); }
  void operator()(const floats& list) { set(ArgumentKind::kFloatList, graph.add_reals(list)); }
  void operator()(const bools& list) {
    set(ArgumentKind::kBoolList, graph.add_dims(ints(list.begin(), list.end())));
  }

 private:
  void set(ArgumentKind kind, std::int64_t integer) {
    argument.kind = kind;
    argument.integer = integer;
  }
  void set(ArgumentKind kind, Range range) {
    argument.kind = kind;
    argument.range = range;
  }
};

}  // namespace

Argument GraphBuilder::convert(const NamedArgument& argument) {
  Argument converted{.name = graph_.intern(argument.name)};
  std::visit(Store{graph_, converted}, argument.value);
  return converted;
}

std::vector<Tensor> GraphBuilder::op_outputs(std::string_view target,
                                             std::span<const NamedArgument> arguments,
                                             std::span<const TensorSpec> outputs) {
  const auto [name, overload] = split_target(target);
  Op op{.target = graph_.add_target(name, overload), .scope = running_.back(), .node = node_};
  op.arguments = {static_cast<std::uint32_t>(graph_.arguments.size()),
                  static_cast<std::uint32_t>(arguments.size())};
  for (const auto& argument : arguments) graph_.arguments.push_back(convert(argument));
  std::vector<Tensor> made;
  std::vector<ValueId> ids;
  for (const auto& spec : outputs) {
    made.push_back(add_value(spec, ValueKind::kActivation));
    ids.push_back(made.back().id);
  }
  op.outputs = graph_.add_refs(ids);
  graph_.ops.push_back(op);
  return made;
}

Tensor GraphBuilder::op(std::string_view target, std::initializer_list<NamedArgument> arguments,
                        std::initializer_list<TensorSpec> outputs) {
  const auto made =
      op_outputs(target, {arguments.begin(), arguments.size()}, {outputs.begin(), outputs.size()});
  return made.empty() ? Tensor{} : made.front();
}

PartId GraphBuilder::begin_part(std::string_view name) {
  OPSCOPE_CHECK(node_ == kNone);
  const auto found = std::find_if(graph_.parts.begin(), graph_.parts.end(),
                                  [&](const Part& part) { return part.name == name; });
  part_ = static_cast<PartId>(found - graph_.parts.begin());
  if (found == graph_.parts.end()) graph_.parts.push_back({.name = std::string(name), .calls = 0});
  ++graph_.parts[part_].calls;
  return part_;
}

GraphBuilder::RunningNode GraphBuilder::node(NodeKind kind, std::string_view name, std::string_view target,
                                             std::initializer_list<NodeId> inputs, const tensors& results) {
  OPSCOPE_CHECK(part_ != kNone && node_ == kNone);
  const auto name_id = graph_.intern(name);
  const auto [entry, is_new] =
      node_ids_.try_emplace(pair_key(part_, name_id), static_cast<NodeId>(graph_.nodes.size()));
  if (is_new) {
    std::vector<ValueId> ids;
    for (const auto tensor : results) ids.push_back(tensor.id);
    graph_.nodes.push_back({.kind = kind,
                            .name = name_id,
                            .target = graph_.intern(target),
                            .part = part_,
                            .module = running_module(),
                            .inputs = graph_.add_node_refs({inputs.begin(), inputs.size()}),
                            .outputs = graph_.add_refs(ids)});
  }
  node_ = entry->second;
  return {this, node_};
}

void GraphBuilder::end_node() {
  auto& node = graph_.nodes[node_];
  const bool has_ops = !graph_.ops.empty() && graph_.ops.back().node == node_;
  if (node.outputs.size == 0 && has_ops) node.outputs = graph_.ops.back().outputs;
  node_ = kNone;
}

void GraphBuilder::source(std::string_view file_and_line) {
  OPSCOPE_CHECK(!graph_.ops.empty());
  graph_.ops.back().source = graph_.intern(file_and_line);
}

void GraphBuilder::declare_cost(std::optional<std::uint64_t> macs, std::optional<std::uint64_t> flops,
                                std::optional<std::uint64_t> bytes) {
  OPSCOPE_CHECK(!graph_.ops.empty());
  graph_.declared.push_back({static_cast<OpId>(graph_.ops.size() - 1), macs, flops, bytes});
}

Graph GraphBuilder::finish(const tensors& outputs) {
  for (const auto tensor : outputs) {
    OPSCOPE_CHECK(tensor.id < graph_.values.size());
    auto& value = graph_.values[tensor.id];
    if (value.kind == ValueKind::kActivation) value.kind = ValueKind::kOutput;
    graph_.outputs.push_back(tensor.id);
  }
  graph_.verify();
  return std::exchange(graph_, Graph{});
}

}  // namespace opscope
