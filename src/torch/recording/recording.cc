// The recording's ops and values: how a dispatched call becomes a row of the graph.
#include "torch/recording/recording.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "torch/recording/assumptions.h"
#include "torch/recording/bounds.h"
#include "torch/recording/packed_weights.h"

namespace opscope::engine {

namespace {

std::uint64_t next_recording_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Ops whose result, or its size, is a function of data that a shape does not have.
constexpr std::array kNeedsValues = std::to_array<std::string_view>({
    "aten::_local_scalar_dense",
    "aten::_unique",
    "aten::_unique2",
    "aten::allclose",
    "aten::argwhere",
    "aten::bincount",
    "aten::equal",
    "aten::is_nonzero",
    "aten::item",
    "aten::masked_select",
    "aten::nonzero",
    "aten::nonzero_numpy",
    "aten::unique_consecutive",
    "aten::unique_dim",
    "torchvision::nms",
});
static_assert(std::ranges::is_sorted(kNeedsValues));

// Ops that take only shape, dtype and layout from their input: their results are known.
constexpr std::array kValueFree = std::to_array<std::string_view>({
    "aten::empty_like",
    "aten::full_like",
    "aten::new_empty",
    "aten::new_full",
    "aten::new_ones",
    "aten::new_zeros",
    "aten::ones_like",
    "aten::zeros_like",
});
static_assert(std::ranges::is_sorted(kValueFree));

// Ops that return their first argument's sizes whatever is put into it.
constexpr std::array kKeepsSize = std::to_array<std::string_view>({
    "aten::index_add",
    "aten::index_copy",
    "aten::index_fill",
    "aten::index_put",
    "aten::masked_fill",
    "aten::masked_scatter",
    "aten::scatter",
    "aten::scatter_add",
    "aten::scatter_reduce",
    "aten::searchsorted",
});
static_assert(std::ranges::is_sorted(kKeepsSize));

// Ops that take a few elements out of a large known tensor.
constexpr std::array kPicks = std::to_array<std::string_view>({
    "aten::gather",
    "aten::index",
    "aten::index_select",
    "aten::select",
    "aten::slice",
    "aten::unbind",
    "aten::view",
});
static_assert(std::ranges::is_sorted(kPicks));

ArgumentForm form_of(const c10::Argument& argument) {
  auto type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType)
    type = type->castRaw<c10::OptionalType>()->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return ArgumentForm::kDType;
    case c10::TypeKind::LayoutType:
      return ArgumentForm::kLayout;
    case c10::TypeKind::MemoryFormatType:
      return ArgumentForm::kMemoryFormat;
    default:
      return ArgumentForm::kPlain;
  }
}

std::string_view memory_format_name(std::int64_t format) {
  constexpr std::array kNames =
      std::to_array<std::string_view>({"contiguous", "preserve", "channels_last", "channels_last_3d"});
  const auto index = static_cast<std::size_t>(format);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string to_string(const c10::Layout& layout) {
  std::ostringstream text;
  text << layout;
  return text.str();
}

}  // namespace

Recording::Recording(c10::Device pretended, bool run_for_real)
    : device(pretended), eager(run_for_real), id(next_recording_id()) {
  device_name_ = graph.intern(pretended.str());
}

std::unique_ptr<OpInfo> Recording::make_info(const c10::OperatorHandle& op) {
  auto info = std::make_unique<OpInfo>();
  const auto& schema = op.schema();
  const std::string& name = schema.name();
  info->target = graph.add_target(name, schema.overload_name());
  info->cost = find_rule(name);
  info->shape = find_shape_rule(name, schema.overload_name());
  info->composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  info->ignored = name.starts_with("profiler::") || name.starts_with("prim::");
  info->custom = !name.starts_with("aten::") && !name.starts_with("prims::");
  info->declared = declared_ops.contains(name);
  info->needs_values = std::ranges::binary_search(kNeedsValues, std::string_view(name));
  info->keeps_size = std::ranges::binary_search(kKeepsSize, std::string_view(name));
  info->picks = std::ranges::binary_search(kPicks, std::string_view(name));
  info->choice = choice_of(name, schema.overload_name());
  info->bound = find_bound(name);
  info->known_sizes =
      name == "aten::_pack_padded_sequence" || name == "aten::_pad_packed_sequence" ||
      (schema.overload_name() == "data" && info->cost && info->cost->category == Category::kRecurrent);
  info->value_free = std::ranges::binary_search(kValueFree, std::string_view(name));
  info->arguments = schema.arguments().size();
  info->returns = schema.returns().size();
  for (const auto& argument : schema.arguments()) {
    if (argument.name() == "device") info->device_argument = info->names.size();
    info->names.push_back(graph.intern(argument.name()));
    info->forms.push_back(form_of(argument));
    info->written.push_back(argument.alias_info() != nullptr && argument.alias_info()->isWrite());
    info->writes |= info->written.back();
    // Norms update their running statistics in training, and their schemas are silent about it.
    const bool statistic = argument.name() == "running_mean" || argument.name() == "running_var";
    info->journalled.push_back(info->written.back() || statistic);
    info->journals |= info->journalled.back();
  }
  return info;
}

OpInfo& Recording::info(const c10::OperatorHandle& op) {
  std::lock_guard lock(mutex);
  auto& slot = infos_[&op.operator_name()];
  if (!slot) slot = make_info(op);
  return *slot;
}

static bool creates(const OpInfo& info) { return info.cost && info.cost->category == Category::kCreate; }

Pending Recording::begin(const OpInfo& info, at::ArrayRef<c10::IValue> arguments) {
  std::lock_guard lock(mutex);
  lifetimes->begin(static_cast<OpId>(graph.ops.size()));
  Pending pending;
  pending.bounds = bounds_made;
  const bool may_be_bounded = any_bound();
  const auto write = [&](const at::Tensor& tensor) {
    pending.written.push_back({tensor, may_be_bounded && tensor.defined() && is_bounded(value_of(tensor))});
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& item = pending.arguments.emplace_back(argument(arguments[i], info.forms[i]));
    item.name = info.names[i];
    if (may_be_bounded && is_bounded(item, creates(info))) {
      pending.bounded = true;
      pending.self_bounded |= i == 0;
    }
    if (!info.written[i]) continue;
    if (arguments[i].isTensor()) write(arguments[i].toTensor());
    if (arguments[i].isTensorList())
      for (const at::Tensor& tensor : arguments[i].toTensorList()) write(tensor);
  }
  if (may_be_bounded && creates(info) && has_bounded_size(pending)) pending.bounded = true;
  return pending;
}

void Recording::finish(const OpInfo& info, const Pending& pending, at::ArrayRef<c10::IValue> results) {
  std::lock_guard lock(mutex);
  c10::SmallVector<ValueId, 4> outputs;
  c10::SmallVector<const c10::TensorImpl*, 4> returned;
  const bool made_bound = bounds_made != pending.bounds;
  const auto is_large = [&](const at::Tensor& tensor) {
    for (const auto& [written, was_bounded] : pending.written)
      if (written.is_same(tensor)) return was_bounded;
    if (info.keeps_size) return pending.self_bounded;
    return made_bound || (pending.bounded && (tensor.numel() != 1 || creates(info)));
  };
  const auto add_value = [&](const at::Tensor& tensor) {
    outputs.push_back(output_value(tensor));
    if ((made_bound || pending.bounded) && is_large(tensor)) set_bounded(outputs.back());
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
  op.scope = scope_now();
  op.workspace = lifetimes->finish();
  op.node = node;
  op.bounded = made_bound || pending.bounded;
  // While a tracer's graph runs, the Python code that runs is not the model's.
  if (source_line) op.source = node == kNone ? graph.intern(source_line()) : graph.nodes[node].source;
  op.arguments = {static_cast<std::uint32_t>(graph.arguments.size()),
                  static_cast<std::uint32_t>(pending.arguments.size())};
  graph.arguments.insert(graph.arguments.end(), pending.arguments.begin(), pending.arguments.end());
  op.outputs = graph.add_refs({outputs.data(), outputs.size()});
  graph.ops.push_back(op);
  if (autograd) autograd->note(op.scope);
}

Argument Recording::tensor_argument(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const bool number =
      tensor.unsafeGetTensorImpl()->is_wrapped_number() && tensor.is_cpu() && !as_abstract(tensor);
  if (!number) return {.kind = ArgumentKind::kTensor, .integer = value_of(tensor)};
  // A Python number that the binding wrapped: it is a constant of the call, not a tensor of the model.
  if (tensor.scalar_type() == at::kDouble)
    return {.kind = ArgumentKind::kFloat, .real = *static_cast<const double*>(tensor.const_data_ptr())};
  if (tensor.scalar_type() == at::kLong)
    return {.kind = ArgumentKind::kInt,
            .integer = *static_cast<const std::int64_t*>(tensor.const_data_ptr())};
  if (tensor.scalar_type() == at::kBool)
    return {.kind = ArgumentKind::kBool, .integer = *static_cast<const bool*>(tensor.const_data_ptr())};
  return {.kind = ArgumentKind::kTensor, .integer = value_of(tensor)};
}

Argument Recording::argument(const c10::IValue& value, ArgumentForm form) {
  const auto text = [&](std::string_view string) {
    return Argument{.kind = ArgumentKind::kString, .integer = graph.intern(string)};
  };
  if (value.isNone()) return {};
  if (value.isTensor()) return tensor_argument(value.toTensor());
  if (value.isInt()) {
    const auto number = value.toInt();
    switch (form) {
      case ArgumentForm::kDType:
        return {.kind = ArgumentKind::kDType,
                .integer = static_cast<std::int64_t>(dtype_of(static_cast<at::ScalarType>(number)))};
      case ArgumentForm::kLayout:
        return text(to_string(static_cast<c10::Layout>(number)));
      case ArgumentForm::kMemoryFormat:
        return text(memory_format_name(number));
      case ArgumentForm::kPlain:
        return {.kind = ArgumentKind::kInt, .integer = number};
    }
  }
  if (value.isBool()) return {.kind = ArgumentKind::kBool, .integer = value.toBool()};
  if (value.isDouble()) return {.kind = ArgumentKind::kFloat, .real = value.toDouble()};
  if (value.isString()) return text(value.toStringRef());
  if (value.isDevice()) return text(value.toDevice().str());
  if (value.isIntList()) {
    const auto list = value.toIntList();
    Argument result{.kind = ArgumentKind::kIntList};
    result.range = {static_cast<std::uint32_t>(graph.dims.size()), static_cast<std::uint32_t>(list.size())};
    for (std::int64_t item : list) graph.dims.push_back(item);
    return result;
  }
  if (value.isTensorList() || value.isOptionalTensorList()) {
    c10::SmallVector<ValueId, 8> ids;
    const auto add = [&](const at::Tensor& tensor) {
      ids.push_back(tensor.defined() ? value_of(tensor) : kNone);
    };
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorList()) add(tensor);
    else
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorList())
        add(tensor.value_or(at::Tensor()));
    return {.kind = ArgumentKind::kTensorList, .range = graph.add_refs({ids.data(), ids.size()})};
  }
  if (value.isBoolList()) {
    Argument result{.kind = ArgumentKind::kBoolList};
    const auto list = value.toBoolList();
    result.range = {static_cast<std::uint32_t>(graph.dims.size()), static_cast<std::uint32_t>(list.size())};
    for (bool item : list) graph.dims.push_back(item);
    return result;
  }
  if (value.isDoubleList())
    return {.kind = ArgumentKind::kFloatList, .range = graph.add_reals(value.toDoubleVector())};
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return text(std::to_string(number.real()) + "+" + std::to_string(number.imag()) + "j");
  }
  if (const auto weight = packed_weight(value); weight.defined()) return tensor_argument(weight);
  return text(value.tagKind());
}

ValueId Recording::new_value(const at::Tensor& tensor, Id storage, ValueKind kind, std::string_view name) {
  Value value;
  // Rows of different lengths, in a real run: their elements one after the other.
  const std::int64_t elements = tensor.is_nested() ? tensor.numel() : 0;
  const auto sizes = tensor.is_nested() ? c10::IntArrayRef(elements) : tensor.sizes();
  value.shape = graph.add_dims({sizes.data(), sizes.size()});
  if (tensor.layout() == c10::kStrided && !tensor.is_nested()) {
    const auto strides = tensor.strides();
    value.strides = graph.add_dims({strides.data(), strides.size()});
    value.offset = tensor.storage_offset();
  }
  value.storage = storage;
  value.kind = kind;
  value.dtype = dtype_of(tensor.scalar_type());
  if (!name.empty()) value.name = graph.intern(name);
  const auto where = tensor.device();
  value.device = where == device || where.is_meta() ? device_name_ : graph.intern(where.str());
  graph.values.push_back(value);
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId Recording::value_of(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor)) {
    if (impl->identity.recording == id && impl->identity.value != kNone) return impl->identity.value;
    const bool foreign = impl->identity.recording != id;
    if (foreign) own(tensor, new_storage(tensor.storage().nbytes()), ValueKind::kConstant);
    return impl->identity.value = unmade_value(tensor, impl->identity.storage, impl->identity.kind);
  }
  auto [slot, fresh] = real_values_.try_emplace(tensor.unsafeGetTensorImpl(), RealEntry(tensor));
  if (fresh) slot->second.value = unmade_value(tensor, storage_id(tensor), kind_of(tensor));
  return slot->second.value;
}

// A tensor that no recorded op returned: another handle on a result (autograd saves results detached), or a
// by-product of an op recorded whole (a norm's statistics), which is then a constant to whoever reads it.
ValueId Recording::unmade_value(const at::Tensor& tensor, Id storage, ValueKind kind) {
  if (kind != ValueKind::kActivation || tensor.layout() != c10::kStrided)
    return new_value(tensor, storage, kind);
  if (storage < made_.size() && made_[storage] != kNone) {
    const auto& last = graph.values[made_[storage]];
    const bool same = std::ranges::equal(graph.shape(last), tensor.sizes()) &&
                      last.offset == tensor.storage_offset() &&
                      std::ranges::equal(graph.strides(last), tensor.strides()) &&
                      last.dtype == dtype_of(tensor.scalar_type());
    if (same) return made_[storage];
    const auto part = new_value(tensor, storage, ValueKind::kConstant);
    if (is_bounded(made_[storage])) set_bounded(part);
    return part;
  }
  return new_value(tensor, storage, ValueKind::kConstant);
}

ValueId Recording::made(Id storage, ValueId value) {
  if (storage >= made_.size()) made_.resize(graph.storages.size(), kNone);
  return made_[storage] = value;
}

ValueId Recording::output_value(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor)) {
    if (impl->identity.recording != id) own_new(tensor);
    const auto storage = impl->identity.storage;
    return impl->identity.value = made(storage, new_value(tensor, storage, kind_of(tensor)));
  }
  const bool has_storage = tensor.has_storage() && !tensor.is_meta();
  if (has_storage && !storages_.contains(tensor.storage().unsafeGetStorageImpl())) {
    auto& created = entry_made_now(tensor);
    created.preexisting = false;
    created.kind = ValueKind::kActivation;
  }
  const auto kind = kind_of(tensor);
  const auto storage = storage_id(tensor);
  const auto value = made(storage, new_value(tensor, storage, kind));
  auto [slot, fresh] = real_values_.try_emplace(tensor.unsafeGetTensorImpl(), RealEntry(tensor));
  // The model's own tensors keep their named value.
  if (fresh || !is_weight(kind)) slot->second.value = value;
  return value;
}

void Recording::note(std::string kind, const OpInfo* info, std::string message) {
  Diagnostic diagnostic{std::move(kind), {}, scope_path(), std::move(message)};
  if (info) diagnostic.op = std::string(graph.text(graph.targets[info->target].name));
  if (noted_.insert(diagnostic.kind + '\n' + diagnostic.op + '\n' + diagnostic.message).second)
    graph.diagnostics.push_back(std::move(diagnostic));
}

std::map<std::string, std::uint32_t> Recording::runs(std::uint32_t OpInfo::*count) const {
  std::map<std::string, std::uint32_t> result;
  for (const auto& [key, info] : infos_)
    if (info.get()->*count)
      result[std::string(graph.text(graph.targets[info->target].name))] += info.get()->*count;
  return result;
}

Graph Recording::take() {
  for (const auto& [op, count] : slow_runs()) graph.capture.slow_path.push_back({op, count});
  graph.capture.tracer = eager ? "eager" : "static";
  note_bounds();
  take_lifetimes();
  graph.verify();
  return std::move(graph);
}

}  // namespace opscope::engine
