// An op's arguments as the graph has them.
#include <ATen/native/quantized/PackedParams.h>

#include <array>
#include <sstream>

#include "torch/recording/values.h"

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

// The weight inside the object that a quantised op is given in place of a tensor; undefined: it holds none.
at::Tensor packed_weight(const c10::IValue& value) {
  if (!value.isCustomClass()) return {};
  const auto type = value.toObjectRef().type()->name()->name();
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  if (type == "LinearPackedParamsBase")
    return std::get<0>(value.toCustomClass<LinearPackedParamsBase>()->unpack());
  if (type == "Conv2dPackedParamsBase")
    return std::get<0>(value.toCustomClass<ConvPackedParamsBase<2>>()->unpack());
  if (type == "Conv3dPackedParamsBase")
    return std::get<0>(value.toCustomClass<ConvPackedParamsBase<3>>()->unpack());
  return {};
}

// The numbers of a list, among the graph's dimensions.
Argument numbers(Graph& graph, ArgumentKind kind, at::ArrayRef<c10::IValue> list) {
  Argument result{.kind = kind};
  result.range = {static_cast<std::uint32_t>(graph.dims.size()), static_cast<std::uint32_t>(list.size())};
  for (const auto& item : list) graph.dims.push_back(item.isBool() ? item.toBool() : item.toInt());
  return result;
}

}  // namespace

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
  if (const auto weight = packed_weight(value); weight.defined()) return tensor_argument(weight);
  return text(value.tagKind());
}

}  // namespace opscope::engine
