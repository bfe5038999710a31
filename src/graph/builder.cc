// The bookkeeping behind GraphAssembler and GraphBuilder. Names given twice are found again, never
// duplicated.
#include "graph/builder.h"

#include <algorithm>

#include "base/text.h"

namespace opscope {
namespace {

// Deeper than any model's; a hostile file's paths stop here.
constexpr std::size_t kMostModuleDepth = 256;

// Of the elements from the first to the last that a strided tensor touches.
Count span_bytes(const ValueSpec& spec) {
  if (spec.sparse) return bytes_of(spec.dtype, Count{spec.sparse->stored}) + Count{spec.sparse->index_bytes};
  const bool is_strided = spec.strides && spec.strides->size() == spec.shape.size();
  if (!is_strided || spec.shape.empty() || !numel(spec.shape)) return bytes_of(spec.dtype, numel(spec.shape));
  Count extent = Count{1} + Count{spec.offset};
  for (std::size_t i = 0; i < spec.shape.size(); ++i)
    extent += Count{spec.shape[i] - 1} * Count{(*spec.strides)[i]};
  return bytes_of(spec.dtype, extent);
}

}  // namespace

StringId GraphAssembler::keep(std::string_view text) {
  return is_utf8(text) ? graph.intern(text) : graph.intern(valid_utf8(text));
}

GraphAssembler::GraphAssembler(std::string_view model, std::string_view root_type) {
  graph.capture.model = valid_utf8(model);
  graph.capture.tracer = "static";
  graph.modules.push_back({.parent = kNone, .name = 0, .path = 0, .type = keep(root_type)});
  graph.scopes.push_back({.parent = kNone, .module = 0, .call = 0});
  modules_.emplace("", 0);
  calls_.push_back(1);
}

ModuleId GraphAssembler::module(std::string_view path, std::string_view type) {
  ModuleId at = 0;
  std::size_t depth = 0;
  for (std::size_t begin = 0; begin < path.size();) {
    // Too deep: the rest of the path is one name.
    const auto dot = ++depth < kMostModuleDepth ? std::min(path.find('.', begin), path.size()) : path.size();
    const auto whole = path.substr(0, dot);
    const auto [entry, is_new] =
        modules_.try_emplace(std::string(whole), static_cast<ModuleId>(graph.modules.size()));
    if (is_new) {
      graph.modules.push_back(
          {.parent = at, .name = keep(whole.substr(begin)), .path = keep(whole), .type = keep("Module")});
      calls_.push_back(0);
    }
    at = entry->second;
    begin = dot + 1;
  }
  if (!type.empty()) graph.modules[at].type = keep(type.substr(type.rfind('.') + 1));
  return at;
}

void GraphAssembler::call(ModuleId module) {
  graph.scopes.push_back({.parent = scope_, .module = module, .call = calls_[module]++});
  scope_ = static_cast<ScopeId>(graph.scopes.size() - 1);
}

void GraphAssembler::enter(std::span<const ModuleCall> stack) {
  scope_ = 0;
  for (const auto& entered : stack.first(std::min(stack.size(), kMostModuleDepth))) {
    const auto [entry, is_new] =
        scopes_.try_emplace(pair_key(scope_, keep(entered.key)), static_cast<ScopeId>(graph.scopes.size()));
    if (is_new) call(module(entered.path, entered.type));
    scope_ = entry->second;
  }
}

ValueId GraphAssembler::value(const ValueSpec& spec, ValueKind kind, ValueId alias) {
  const auto strides = spec.strides.value_or(contiguous_strides(spec.shape));
  Value made{.shape = graph.add_dims(spec.shape),
             .strides = graph.add_dims(strides.size() == spec.shape.size() ? strides : ints{}),
             .offset = std::max<std::int64_t>(spec.offset, 0),
             .device = keep(spec.device),
             .dtype = spec.dtype,
             .kind = kind};
  if (spec.sparse) {
    made.strides = {};
    made.sparse = static_cast<Id>(graph.sparse_forms.size());
    graph.sparse_forms.push_back({.layout = keep(spec.sparse->layout),
                                  .stored = spec.sparse->stored,
                                  .index_bytes = spec.sparse->index_bytes});
  }
  if (alias != kNone) {
    OPSCOPE_CHECK(alias < graph.values.size());
    made.storage = graph.values[alias].storage;
  } else {
    made.storage = static_cast<Id>(graph.storages.size());
    graph.storages.push_back({span_bytes(spec).value()});
  }
  graph.values.push_back(made);
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId GraphAssembler::input(const ValueSpec& spec, std::string_view name, ValueId alias) {
  const auto id = value(spec, ValueKind::kInput, alias);
  this->name(id, name);
  graph.inputs.push_back(id);
  return id;
}

// As PyTorch's computeStride: runs of input dimensions that lie densely in memory take runs of output
// dimensions of the same number of elements.
ints GraphAssembler::view_strides(ValueId id, std::span<const std::int64_t> shape) const {
  const auto sizes = graph.shape(graph.values[id]), steps = graph.strides(graph.values[id]);
  if (steps.size() != sizes.size() || numel(sizes) != numel(shape)) return {};
  if (!numel(shape) || shape.empty() || sizes.empty()) return contiguous_strides(shape);
  ints strides(shape.size());
  auto view = static_cast<std::ptrdiff_t>(shape.size()) - 1;
  std::int64_t base = steps.back();
  Count run = 1, filled = 1;
  const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
  for (auto i = static_cast<std::ptrdiff_t>(sizes.size()) - 1; i >= 0; --i) {
    run *= Count{sizes[at(i)]};
    const bool ends = i == 0 || (sizes[at(i - 1)] != 1 && Count{steps[at(i - 1)]} != run * Count{base});
    if (!ends) continue;
    while (view >= 0 && (filled < run || shape[at(view)] == 1)) {
      if (__builtin_mul_overflow(static_cast<std::int64_t>(filled.value()), base, &strides[at(view)]))
        return {};
      filled *= Count{shape[at(view)]};
      --view;
    }
    if (filled != run || filled.saturated()) return {};
    if (i > 0) {
      base = steps[at(i - 1)];
      run = filled = 1;
    }
  }
  return view == -1 ? strides : ints{};
}

void GraphAssembler::own(std::string_view path, ValueId id) {
  const auto dot = path.rfind('.');
  const bool in_root = dot == std::string_view::npos;
  if (graph.values[id].name == 0) name(id, path);
  own(module(in_root ? std::string_view{} : path.substr(0, dot)), path.substr(dot + 1), id);
}

void GraphAssembler::own(ModuleId module, std::string_view name, ValueId id) {
  const Owned entry{.module = module, .value = id, .name = keep(name)};
  if (owned_.try_emplace(pair_key(module, entry.name), id).second) graph.owned.push_back(entry);
}

ValueId GraphAssembler::owned(ModuleId module, std::string_view name) {
  const auto found = owned_.find(pair_key(module, keep(name)));
  return found == owned_.end() ? kNone : found->second;
}

void GraphAssembler::op(std::string_view name, std::string_view overload, std::span<const Argument> arguments,
                        std::span<const ValueId> outputs) {
  graph.ops.push_back({.target = graph.add_target(graph.text(keep(name)), overload),
                       .scope = scope_,
                       .arguments = graph.add_arguments(arguments),
                       .outputs = graph.add_refs(outputs)});
}

void GraphAssembler::note(std::string_view kind, std::string_view op, std::string message) {
  if (!noted_.insert(std::string(kind).append("\n").append(op).append("\n").append(message)).second) return;
  const auto& module = graph.modules[running_module()];
  graph.diagnostics.push_back(
      {std::string(kind), valid_utf8(op), std::string(graph.path(module)), valid_utf8(message)});
}

Graph GraphAssembler::finish(std::span<const ValueId> outputs, const std::string& where) {
  for (const auto id : outputs) {
    OPSCOPE_CHECK(id < graph.values.size());
    auto& value = graph.values[id];
    if (value.kind == ValueKind::kActivation) value.kind = ValueKind::kOutput;
    graph.outputs.push_back(id);
  }
  try {
    graph.verify();
  } catch (const Error& error) {
    if (where.empty()) throw;
    throw Error(error.what(), where, "the file is damaged; export the model again");
  }
  return std::exchange(graph, Graph{});
}

std::vector<ValueId> ids_of(const tensors& list) {
  std::vector<ValueId> ids(list.size());
  std::ranges::transform(list, ids.begin(), &Tensor::id);
  return ids;
}

std::string GraphBuilder::path_below(std::string_view name) const {
  std::string path(out_.graph.path(out_.graph.modules[out_.running_module()]));
  return path.append(path.empty() ? "" : ".").append(name);
}

ModuleId GraphBuilder::module(std::string_view path, std::string_view type) {
  return out_.module(path_below(path), type);
}

GraphBuilder::Running GraphBuilder::call(std::string_view name, std::string_view type) {
  const auto outer = out_.scope();
  out_.call(module(name, type));
  return Running([this, outer] { out_.return_to(outer); });
}

Tensor GraphBuilder::own(std::string_view name, const TensorSpec& spec, ValueKind kind) {
  if (const auto found = out_.owned(out_.running_module(), name); found != kNone) return {found};
  const Tensor tensor{out_.value(spec, kind, spec.alias.id)};
  out_.name(tensor.id, path_below(name));
  tie(name, tensor);
  return tensor;
}

std::vector<Tensor> GraphBuilder::op_outputs(std::string_view target,
                                             std::span<const NamedArgument> arguments,
                                             std::span<const TensorSpec> outputs) {
  const auto colon = target.rfind("::");
  const auto dot = std::min(target.find('.', colon == std::string_view::npos ? 0 : colon), target.size());
  std::vector<Argument> given;
  for (const auto& argument : arguments) given.push_back(argument.make(out_));
  tensors made;
  for (const auto& spec : outputs) made.push_back({out_.value(spec, ValueKind::kActivation, spec.alias.id)});
  out_.op(target.substr(0, dot), target.substr(std::min(dot + 1, target.size())), given, ids_of(made));
  graph().ops.back().node = node_;
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
  auto& parts = graph().parts;
  part_ = static_cast<PartId>(std::ranges::find(parts, name, &Part::name) - parts.begin());
  if (part_ == parts.size()) parts.push_back({.name = std::string(name), .calls = 0});
  ++parts[part_].calls;
  return part_;
}

GraphBuilder::Running GraphBuilder::node(NodeKind kind, std::string_view name, std::string_view target,
                                         std::initializer_list<NodeId> inputs, const tensors& results) {
  OPSCOPE_CHECK(part_ != kNone && node_ == kNone);
  auto& graph = out_.graph;
  const auto name_id = graph.intern(name);
  const auto [entry, is_new] =
      node_ids_.try_emplace(pair_key(part_, name_id), static_cast<NodeId>(graph.nodes.size()));
  if (is_new)
    graph.nodes.push_back({.kind = kind,
                           .name = name_id,
                           .target = graph.intern(target),
                           .part = part_,
                           .module = out_.running_module(),
                           .inputs = graph.add_node_refs({inputs.begin(), inputs.size()}),
                           .outputs = graph.add_refs(ids_of(results))});
  node_ = entry->second;
  return Running([this] { end_node(); }, node_);
}

void GraphBuilder::end_node() {
  auto& node = graph().nodes[node_];
  const auto& ops = graph().ops;
  if (node.outputs.size == 0 && !ops.empty() && ops.back().node == node_) node.outputs = ops.back().outputs;
  node_ = kNone;
}

void GraphBuilder::source(std::string_view file_and_line) {
  OPSCOPE_CHECK(!graph().ops.empty());
  graph().ops.back().source = graph().intern(file_and_line);
}

void GraphBuilder::declare_cost(std::optional<std::uint64_t> macs, std::optional<std::uint64_t> flops,
                                std::optional<std::uint64_t> bytes, std::string source) {
  OPSCOPE_CHECK(!graph().ops.empty());
  graph().declared.push_back(
      {static_cast<OpId>(graph().ops.size() - 1), macs, flops, bytes, std::move(source)});
}

}  // namespace opscope
