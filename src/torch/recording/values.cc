#include "torch/recording/values.h"

#include <ATen/native/quantized/PackedParams.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace opscope::engine {

namespace {

std::string_view memory_format_name(std::int64_t format) {
  constexpr std::array kNames =
      std::to_array<std::string_view>({"contiguous", "preserve", "channels_last", "channels_last_3d"});
  const auto index = static_cast<std::size_t>(format);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string to_string(c10::Layout layout) {
  std::ostringstream text;
  text << layout;
  return text.str();
}

// What is inside the object that a quantised op is given in place of a tensor; no weight: it holds none.
struct Unpacked {
  at::Tensor weight;
  std::optional<at::Tensor> bias;

  // Halves where it was rounded to them, and unpacks as float32; else integers, with a float32 scale and an
  // int32 zero point for the tensor or each channel. The bias is float32.
  std::uint64_t bytes() const {
    const auto elements = static_cast<std::uint64_t>(weight.numel());
    const std::uint64_t rest = bias ? static_cast<std::uint64_t>(bias->numel()) * 4 : 0;
    if (!weight.is_quantized()) return elements * 2 + rest;
    const bool by_tensor = weight.qscheme() == c10::kPerTensorAffine;
    const auto scales = by_tensor ? 1 : static_cast<std::uint64_t>(weight.size(weight.q_per_channel_axis()));
    return elements * weight.element_size() + scales * 8 + rest;
  }
};

Unpacked unpacked(const c10::IValue& value) {
  const auto type = value.toObjectRef().type()->name()->name();
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  const auto of = [](const auto& packed) {
    auto [weight, bias] = packed->unpack();
    return Unpacked{std::move(weight), std::move(bias)};
  };
  if (type == "LinearPackedParamsBase") return of(value.toCustomClass<LinearPackedParamsBase>());
  if (type == "Conv2dPackedParamsBase") return of(value.toCustomClass<ConvPackedParamsBase<2>>());
  if (type == "Conv3dPackedParamsBase") return of(value.toCustomClass<ConvPackedParamsBase<3>>());
  return {};
}

// The numbers of a list, among the graph's dimensions.
Argument numbers(Graph& graph, ArgumentKind kind, at::ArrayRef<c10::IValue> list) {
  const Range range{static_cast<std::uint32_t>(graph.dims.size()), static_cast<std::uint32_t>(list.size())};
  for (const auto& item : list) graph.dims.push_back(item.isBool() ? item.toBool() : item.toInt());
  return {.kind = kind, .range = range};
}

}  // namespace

Values::Values(Graph& graph, Storages& storages, SizeBounds& bounds)
    : graph_(graph),
      storages_(storages),
      bounds_(bounds),
      device_name_(graph.intern(storages.device.str())) {}

void Values::set(const at::Tensor& real, ValueId value) {
  auto& slot = real_[real.unsafeGetTensorImpl()];
  if (slot.value == kNone) {
    slot.impl = {real.getIntrusivePtr()};
    if (!real.has_storage()) storages_.forget_value(real.unsafeGetTensorImpl());
  }
  slot.value = value;
}

ValueId Values::find(const at::Tensor& real) const {
  const auto found = real_.find(real.unsafeGetTensorImpl());
  return found != real_.end() ? found->second.value : kNone;
}

ValueId Values::add(const at::Tensor& tensor, Id storage, ValueKind kind, std::string_view name) {
  Value value;
  // Rows of different lengths, in a real run: their elements one after the other.
  const std::int64_t elements = tensor.is_nested() ? tensor.numel() : 0;
  const auto sizes = tensor.is_nested() ? c10::IntArrayRef(elements) : tensor.sizes();
  value.shape = graph_.add_dims({sizes.data(), sizes.size()});
  if (tensor.layout() == c10::kStrided && !tensor.is_nested()) {
    const auto strides = tensor.strides();
    value.strides = graph_.add_dims({strides.data(), strides.size()});
    value.offset = tensor.storage_offset();
  }
  if (is_sparse(tensor)) {
    const auto contents = contents_of(tensor);
    value.sparse = static_cast<Id>(graph_.sparse_forms.size());
    graph_.sparse_forms.push_back({.layout = graph_.intern(contents.layout),
                                   .stored = static_cast<std::uint64_t>(contents.stored),
                                   .index_bytes = contents.index_bytes});
  }
  value.storage = storage;
  value.kind = kind;
  value.dtype = dtype_of(tensor.scalar_type());
  value.name = graph_.add_text(name);
  const auto where = shown_device(tensor);
  // A model that is captured for another device is taken to be there, as after model.to(device).
  const bool moves = !storages_.is_real() && (kind == ValueKind::kParameter || kind == ValueKind::kBuffer);
  value.device =
      moves || where == storages_.device || where.is_meta() ? device_name_ : graph_.intern(where.str());
  graph_.values.push_back(value);
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId Values::of(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor)) {
    if (impl->identity.recording == storages_.capture && impl->identity.value != kNone)
      return impl->identity.value;
    const auto storage = storages_.id_of(tensor);  // another capture's tensor is a constant to this one
    return impl->identity.value = add_unmade(tensor, storage, impl->identity.kind);
  }
  if (const auto known = find(tensor); known != kNone) return known;
  const auto value = add_unmade(tensor, storages_.id_of(tensor), storages_.kind_of(tensor));
  set(tensor, value);
  return value;
}

// A tensor that no recorded op returned: another handle on a result (autograd saves results detached), or a
// by-product of an op recorded whole (a norm's statistics), which is then a constant to whoever reads it.
ValueId Values::add_unmade(const at::Tensor& tensor, Id storage, ValueKind kind) {
  if (kind != ValueKind::kActivation || tensor.layout() != c10::kStrided) return add(tensor, storage, kind);
  if (storage >= made_.size() || made_[storage] == kNone) return add(tensor, storage, ValueKind::kConstant);
  const auto& last = graph_.values[made_[storage]];
  const bool same = std::ranges::equal(graph_.shape(last), tensor.sizes()) &&
                    last.offset == tensor.storage_offset() &&
                    std::ranges::equal(graph_.strides(last), tensor.strides()) &&
                    last.dtype == dtype_of(tensor.scalar_type());
  if (same) return made_[storage];
  const auto part = add(tensor, storage, ValueKind::kConstant);
  if (bounds_.has(made_[storage])) bounds_.add(part);
  return part;
}

ValueId Values::made(Id storage, ValueId value) {
  if (storage >= made_.size()) made_.resize(graph_.storages.size(), kNone);
  return made_[storage] = value;
}

ValueId Values::made_by_op(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor)) {
    if (impl->identity.recording != storages_.capture) storages_.own_new(tensor);
    const auto storage = impl->identity.storage;
    return impl->identity.value = made(storage, add(tensor, storage, storages_.kind_of(tensor)));
  }
  if (tensor.has_storage() && !tensor.is_meta() && !storages_.has(tensor)) {
    auto& created = storages_.entry_made_now(tensor);
    created.preexisting = false;
    created.kind = ValueKind::kActivation;
  }
  const auto kind = is_sparse(tensor) ? ValueKind::kActivation : storages_.kind_of(tensor);
  const auto storage = storages_.id_of(tensor);
  const auto value = made(storage, add(tensor, storage, kind));
  if (!is_weight(kind) || find(tensor) == kNone) set(tensor, value);
  return value;
}

void Values::add_owned(ModuleId module, std::string_view name, std::string_view path,
                       const at::Tensor& tensor, bool parameter, bool unknown) {
  auto value = find(tensor);
  if (value == kNone) {
    const auto kind = parameter ? ValueKind::kParameter : ValueKind::kBuffer;
    auto* const abstract = as_abstract(tensor);
    auto storage = kNone;
    if (abstract) {
      storages_.own(tensor, storage = storages_.add(tensor.storage().nbytes()), kind);
    } else if (tensor.has_storage()) {
      auto& known = storages_.entry(tensor);
      known.kind = kind;
      known.unknown = unknown;
      storage = known.id;
    } else {
      storage = storages_.id_of(tensor);
    }
    value = add(tensor, storage, kind, path);
    graph_.values[value].trainable = parameter && tensor.requires_grad();
    set(tensor, value);
    if (abstract) abstract->identity.value = value;
  }
  graph_.owned.push_back({.module = module, .value = value, .name = graph_.intern(name)});
}

void Values::add_parts(const at::Tensor& whole, at::ArrayRef<at::Tensor> parts, std::string_view type,
                       bool unknown) {
  const auto id = find(whole);
  if (id == kNone || graph_.values[id].stored != kNone) return;
  std::uint64_t bytes = 0;
  for (const at::Tensor& part : parts) {
    bytes += part.nbytes();
    if (find(part) != kNone) continue;
    auto& known = storages_.entry(part);
    known.kind = graph_.values[id].kind;
    known.unknown = unknown;
    set(part, add(part, known.id, graph_.values[id].kind, graph_.text(graph_.values[id].name)));
  }
  auto& value = graph_.values[id];
  value.stored = static_cast<Id>(graph_.stored_forms.size());
  graph_.stored_forms.push_back({.scheme = graph_.intern(type), .bytes = bytes, .flops = 0});
  if (value.storage != kNone) graph_.storages[value.storage].bytes = 0;  // its parts have their own
}

// One object is one weight, however often it is used. It is a buffer of the module that first uses it.
ValueId Values::packed(const c10::IValue& value) {
  const auto holder = value.toObjectRef().getSlot(0).toCapsule();
  for (const Packed& known : packed_)
    if (known.holder == holder) return known.value;
  const Unpacked inside = unpacked(value);
  ValueId id = kNone;
  if (inside.weight.defined()) {
    auto& made = storages_.entry(inside.weight);
    made.kind = ValueKind::kBuffer;
    const Id storage = made.id;
    id = add(inside.weight, storage, ValueKind::kBuffer);
    graph_.values[id].stored = static_cast<Id>(graph_.stored_forms.size());
    graph_.stored_forms.push_back({.scheme = graph_.intern("packed"), .bytes = inside.bytes(), .flops = 0});
    graph_.storages[storage].bytes = inside.bytes();
    new_packed_.push_back(id);
  }
  packed_.push_back({holder, id});
  return id;
}

void Values::add_input(const at::Tensor& tensor, std::string_view name) {
  const auto value = add(tensor, storages_.id_of(tensor), ValueKind::kInput, name);
  if (auto* impl = as_abstract(tensor))
    impl->identity.value = value;
  else
    set(tensor, value);
  graph_.inputs.push_back(value);
}

void Values::add_output(const at::Tensor& tensor, std::string_view name) {
  const auto id = of(tensor);
  auto& value = graph_.values[id];
  if (value.kind == ValueKind::kActivation) value.kind = ValueKind::kOutput;
  if (value.name == 0) value.name = graph_.add_text(name);
  graph_.outputs.push_back(id);
}

void Values::mark(const at::Tensor& tensor, ValueKind kind, std::string_view name) {
  auto& value = graph_.values[of(tensor)];
  if (is_weight(value.kind) || value.kind == ValueKind::kInput) return;
  value.kind = kind;
  if (graph_.text(value.name) != name) value.name = graph_.add_text(name);
  marked_[value.storage] = kind;
}

void Values::take_mark(Value& value) const {
  const bool made = value.kind == ValueKind::kActivation || value.kind == ValueKind::kConstant;
  const auto marked = marked_.find(value.storage);
  if (made && marked != marked_.end()) value.kind = marked->second;
}

// --- an op's arguments as the graph has them

Argument Values::tensor_argument(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const bool number =
      tensor.unsafeGetTensorImpl()->is_wrapped_number() && tensor.is_cpu() && !as_abstract(tensor);
  // A Python number that the binding wrapped is a constant of the call, not a tensor of the model.
  if (number && tensor.scalar_type() == at::kDouble)
    return {.kind = ArgumentKind::kFloat, .real = *static_cast<const double*>(tensor.const_data_ptr())};
  if (number && tensor.scalar_type() == at::kLong)
    return {.kind = ArgumentKind::kInt,
            .integer = *static_cast<const std::int64_t*>(tensor.const_data_ptr())};
  if (number && tensor.scalar_type() == at::kBool)
    return {.kind = ArgumentKind::kBool, .integer = *static_cast<const bool*>(tensor.const_data_ptr())};
  return {.kind = ArgumentKind::kTensor, .integer = of(tensor)};
}

Argument Values::tensors_argument(const c10::IValue& value) {
  c10::SmallVector<ValueId, 8> ids;
  const auto add_one = [&](const at::Tensor& tensor) {
    ids.push_back(tensor.defined() ? of(tensor) : kNone);
  };
  if (value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorList()) add_one(tensor);
  else
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorList())
      add_one(tensor.value_or(at::Tensor()));
  return {.kind = ArgumentKind::kTensorList, .range = graph_.add_refs({ids.data(), ids.size()})};
}

Argument Values::argument(const c10::IValue& value, ArgumentForm form) {
  const auto text = [&](std::string_view string) {
    return Argument{.kind = ArgumentKind::kString, .integer = graph_.intern(string)};
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
  if (value.isIntList()) return numbers(graph_, ArgumentKind::kIntList, value.toListRef());
  if (value.isTensorList() || value.isOptionalTensorList()) return tensors_argument(value);
  if (value.isBoolList()) return numbers(graph_, ArgumentKind::kBoolList, value.toListRef());
  if (value.isDoubleList())
    return {.kind = ArgumentKind::kFloatList, .range = graph_.add_reals(value.toDoubleVector())};
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return text(std::to_string(number.real()) + "+" + std::to_string(number.imag()) + "j");
  }
  if (value.isCustomClass())
    if (const ValueId id = packed(value); id != kNone)
      return {.kind = ArgumentKind::kTensor, .integer = static_cast<std::int64_t>(id)};
  return text(value.tagKind());
}

}  // namespace opscope::engine
