// How a dispatched call becomes a row of the graph, and what the graph is given at the end.
#include "torch/recording/recording.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>

namespace opscope::engine {

Recording::Recording(c10::Device pretended, bool run_for_real)
    : device(pretended),
      eager(run_for_real),
      scopes(graph),
      bounds(graph, scopes),
      storages(graph, pretended, run_for_real),
      values(graph, storages, bounds),
      journal(storages),
      ops(graph) {}

void Recording::add_owned(ModuleId module, std::string_view name, std::string_view path,
                          const at::Tensor& tensor, bool parameter) {
  if (!tensor.defined()) return;
  const bool unknown = !eager && (parameter || tensor.is_meta() || tensor.numel() > kKnownElements ||
                                  (!tensor.is_cpu() && !holds_numbers(tensor.scalar_type())));
  values.add_owned(module, name, path, tensor, parameter, unknown);
}

// A view that is the last to hold its memory keeps all of it. What others hold too is not this input's.
static bool keeps_more(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || !tensor.has_storage()) return false;
  const at::Storage& storage = tensor.storage();
  return storage.use_count() == 1 &&
         storage.nbytes() > at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(),
                                                             static_cast<std::size_t>(tensor.element_size()));
}

at::Tensor Recording::add_input(const at::Tensor& tensor, std::string_view name) {
  TORCH_CHECK(eager || !tensor.is_nested(), kNestedMessage);
  const bool plain = tensor.layout() == c10::kStrided && !tensor.key_set().has(c10::DispatchKey::Python) &&
                     !tensor.is_nested();
  const bool keep = eager || !plain;
  const bool known = holds_numbers(tensor.scalar_type()) && !tensor.is_meta() && !as_abstract(tensor);
  at::Tensor result = tensor;
  if (!keep && known && !(tensor.is_cpu() && device.is_cpu())) {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    result = storages.wrap_known(tensor.cpu());
  } else if (!keep && !known) {
    result = keeps_more(tensor)
                 ? make_abstract_view(guarded_storage(tensor.storage().nbytes()), tensor.sizes(),
                                      tensor.strides(), tensor.storage_offset(), tensor.scalar_type(), device)
                 : make_abstract(tensor.sizes(), tensor.strides(), tensor.scalar_type(), device);
    if (tensor.requires_grad()) result.set_requires_grad(true);
    storages.own_new(result, ValueKind::kInput);
  }
  if (plain && result.is_same(tensor)) {
    // Another handle on the caller's data: `unsqueeze_` and `requires_grad_` do not reach the caller's own.
    result = at::Tensor(tensor.getIntrusivePtr()->shallow_copy_and_detach(c10::VariableVersion(0), true));
    if (tensor.requires_grad()) result.set_requires_grad(true);
  }
  values.add_input(result, name);
  return result;
}

void Recording::set_cuda(const opscope::CudaDevice& named) {
  static_cast<opscope::CudaDevice&>(cuda) = named;
  graph.cuda = {named, cuda.cublas_pool_bytes()};
}

void Recording::begin_phase(std::string_view name) {
  graph.phases.push_back({std::string(name), static_cast<OpId>(graph.ops.size())});
}

void Recording::classify(const at::Tensor& tensor, Inputs& inputs) const {
  if (!tensor.defined()) return;
  inputs.any_tensor = true;
  const auto keys = tensor.key_set();
  TORCH_CHECK(eager || !tensor.is_nested() || keys.has(c10::DispatchKey::Python), kNestedMessage);
  inputs.any_grad |= tensor.requires_grad();
  if (keys.has_backend(c10::BackendComponent::PrivateUse3Bit)) {
    inputs.any_abstract = true;
    inputs.any_off_cpu = true;
  } else {
    inputs.any_subclass |= keys.has(c10::DispatchKey::Python);
    inputs.any_functorch |= keys.has_any(
        c10::DispatchKeySet({c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchGradWrapper,
                             c10::DispatchKey::Functionalize}));
    if (inputs.any_subclass || inputs.any_functorch) return;
    inputs.any_off_cpu |= !tensor.is_cpu();
  }
  if (!inputs.any_unknown) inputs.any_unknown = storages.is_unknown(tensor);
  const bool sparse = is_sparse(tensor);
  inputs.any_sparse |= sparse;
  inputs.elements += sparse ? contents_of(tensor).stored : tensor.numel();
}

at::Tensor Recording::abstract_of(const at::Tensor& tensor) {
  auto result = make_abstract_view(storages.standin(tensor), tensor.sizes(), tensor.strides(),
                                   tensor.storage_offset(), tensor.scalar_type(), device);
  storages.own(result, storages.id_of(tensor), storages.kind_of(tensor));
  as_abstract(result)->identity.value = values.of(tensor);
  return result;
}

// Where packed sequences begin decides the work: what is known of it goes with the call.
void Recording::add_offsets(const OpInfo& info, at::ArrayRef<c10::IValue> arguments, Pending& pending) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto name = graph.text(info.names[i]);
    if (!name.starts_with("cu") || !arguments[i].isTensor()) continue;
    const at::Tensor& tensor = arguments[i].toTensor();
    if (!tensor.defined() || tensor.dim() != 1 || !c10::isIntegralType(tensor.scalar_type(), false) ||
        tensor.numel() > kKnownElements || storages.is_unknown(tensor))
      continue;
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    const at::Tensor numbers = storages.known_value(tensor).to(at::kLong).contiguous();
    pending.arguments.push_back(
        {.name = graph.intern(std::string(name) + ".known"),
         .kind = ArgumentKind::kIntList,
         .range = graph.add_dims({numbers.const_data_ptr<std::int64_t>(), std::size_t(numbers.numel())})});
  }
}

std::string Recording::where() const {
  const auto node = scopes.place().node;
  // While a tracer's graph runs, the Python code that runs is not the model's.
  if (node != kNone) return std::string(graph.text(graph.nodes[node].source));
  return source_line ? source_line() : std::string();
}

std::uint64_t Recording::bytes() const {
  const auto of = [](const auto& pool) { return pool.size() * sizeof(pool[0]); };
  return of(graph.ops) + of(graph.values) + of(graph.storages) + of(graph.arguments) + of(graph.dims) +
         of(graph.value_refs) + of(graph.scopes);
}

void Recording::check_size(const OpInfo& info) {
  if (lasting) return;
  const bool too_many = graph.ops.size() >= max_ops;
  if (!too_many && (graph.ops.size() % 64 != 0 || bytes() < std::max(max_ops * kBytesPerOp, kLeastBytes)))
    return;
  failure = Failure{std::string(graph.text(graph.targets[info.target].name)), scopes.path(), "",
                    too_many ? "the capture has " + std::to_string(max_ops) + " ops and does not end"
                             : "the capture takes more memory than " + std::to_string(max_ops) +
                                   " ops should, and does not end"};
  TORCH_CHECK(false, failure->reason);
}

Pending Recording::begin(const OpInfo& info, at::ArrayRef<c10::IValue> arguments) {
  const Lock lock(*this);
  if (closed) return {};
  check_size(info);
  storages.lifetimes->begin(static_cast<OpId>(graph.ops.size()));
  Pending pending;
  pending.bounds = bounds_made;
  const bool may_be_bounded = bounds.any();
  const auto write = [&](const at::Tensor& tensor) {
    pending.written.push_back({tensor, may_be_bounded && tensor.defined() && bounds.has(values.of(tensor))});
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& item = pending.arguments.emplace_back(values.argument(arguments[i], info.forms[i]));
    item.name = info.names[i];
    if (may_be_bounded && bounds.has(item, info.creates())) {
      pending.bounded = true;
      pending.self_bounded |= i == 0;
    }
    if (!info.written[i]) continue;
    if (arguments[i].isTensor()) write(arguments[i].toTensor());
    if (arguments[i].isTensorList())
      for (const at::Tensor& tensor : arguments[i].toTensorList()) write(tensor);
  }
  for (const ValueId id : values.take_packed()) {
    graph.values[id].name = graph.add_text(scopes.path().empty() ? "weight" : scopes.path() + ".weight");
    graph.owned.push_back({.module = scopes.module(), .value = id, .name = graph.intern("weight")});
  }
  if (info.is(Fact::kOffsets)) add_offsets(info, arguments, pending);
  if (may_be_bounded && info.creates() &&
      bounds.has_size({pending.arguments.data(), pending.arguments.size()}))
    pending.bounded = true;
  return pending;
}

void Recording::finish(const OpInfo& info, const Pending& pending, at::ArrayRef<c10::IValue> results) {
  const auto line = notes_lines ? where() : std::string();
  const Lock lock(*this);
  if (closed) return;  // a thread that the model has left behind
  c10::SmallVector<ValueId, 4> outputs;
  c10::SmallVector<const c10::TensorImpl*, 4> returned;
  const bool made_bound = bounds_made != pending.bounds;
  const auto is_large = [&](const at::Tensor& tensor) {
    for (const auto& [written, was_bounded] : pending.written)
      if (written.is_same(tensor)) return was_bounded;
    if (info.is(Fact::kKeepsSize)) return pending.self_bounded;
    return made_bound || (pending.bounded && (tensor.numel() != 1 || info.creates()));
  };
  const auto add_value = [&](const at::Tensor& tensor) {
    outputs.push_back(values.made_by_op(tensor));
    if ((made_bound || pending.bounded) && is_large(tensor)) bounds.add(outputs.back());
  };
  const auto add = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    add_value(tensor);
    returned.push_back(tensor.unsafeGetTensorImpl());
  };
  for (const auto& result : results) {
    if (result.isTensor()) add(result.toTensor());
    if (result.isTensorList())
      for (const at::Tensor& tensor : result.toTensorList()) add(tensor);
  }
  for (const auto& [tensor, was_bounded] : pending.written)
    if (tensor.defined() && std::ranges::find(returned, tensor.unsafeGetTensorImpl()) == returned.end())
      add_value(tensor);

  Op op;
  op.target = info.target;
  op.scope = scopes.of_op([&](const at::Tensor& parameter) { return values.find(parameter); });
  op.workspace = storages.lifetimes->finish();
  op.node = scopes.place().node;
  op.estimated = scopes.place().stray || scopes.place().assumed;
  op.bounded = made_bound || pending.bounded;
  if (!line.empty()) op.source = graph.intern(line);
  op.arguments = {static_cast<std::uint32_t>(graph.arguments.size()),
                  static_cast<std::uint32_t>(pending.arguments.size())};
  graph.arguments.insert(graph.arguments.end(), pending.arguments.begin(), pending.arguments.end());
  op.outputs = graph.add_refs({outputs.data(), outputs.size()});
  graph.ops.push_back(op);
  scopes.note_autograd(op.scope);
}

void Recording::note(std::string kind, const OpInfo* info, std::string message) {
  note(std::move(kind), info ? std::string(graph.text(graph.targets[info->target].name)) : std::string(),
       std::move(message));
}

void Recording::note(std::string kind, std::string op, std::string message) {
  Diagnostic diagnostic{std::move(kind), std::move(op), scopes.path(), std::move(message)};
  if (noted_.insert(diagnostic.kind + '\n' + diagnostic.op + '\n' + diagnostic.message).second)
    graph.diagnostics.push_back(std::move(diagnostic));
}

Graph Recording::take() {
  const Lock lock(*this);
  for (const auto& [op, count] : ops.slow_runs()) graph.capture.slow_path.push_back({op, count});
  graph.capture.tracer = eager ? "eager" : "static";
  bounds.note();
  note_strays();
  take_lifetimes();
  graph.verify();
  return std::move(graph);
}

// What threads did unseen is an op of unknown cost, so that no total says that it is all.
void Recording::note_strays() {
  if (strays > 0)
    note("stray", nullptr,
         std::to_string(strays) +
             " ops ran in threads that the capture does not follow; they are counted under the model itself, "
             "and others of these threads may be missing");
  if (threads_inside == 0) return;
  note("stray", nullptr,
       "a thread that the model started was still running when the model returned; what it did then is not "
       "counted");
  Op unseen;
  unseen.target = graph.add_target("opscope::unseen", "");
  graph.ops.push_back(unseen);
}

// Memory that came and went inside one op is that op's workspace, and no storage of the graph.
void Recording::take_lifetimes() {
  auto [lifetimes, temporary] = storages.lifetimes->take(graph.ops.size(), graph.storages.size());
  for (auto& value : graph.values) {
    if (value.storage == kNone) continue;
    temporary[value.storage] = 0;
    values.take_mark(value);
    // The caller keeps the inputs, but for those in an object of its own that the model put others into: a KV
    // cache.
    if (value.kind == ValueKind::kInput) lifetimes[value.storage].made = kNone;
    if (value.kind == ValueKind::kOptimizerState) lifetimes[value.storage] = {};
  }
  std::vector<Id> renumbered(graph.storages.size(), kNone);
  Id kept = 0;
  for (Id id = 0; id < renumbered.size(); ++id) {
    if (temporary[id] != 0) continue;
    graph.storages[kept] = graph.storages[id];
    lifetimes[kept] = lifetimes[id];
    renumbered[id] = kept++;
  }
  graph.storages.resize(kept);
  lifetimes.resize(kept);
  graph.lifetimes = std::move(lifetimes);
  for (auto& value : graph.values)
    if (value.storage != kNone) value.storage = renumbered[value.storage];
}

}  // namespace opscope::engine
