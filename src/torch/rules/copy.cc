// Shape rules of copies, casts and factories that take their options from a tensor, and of tensors going into
// and out of quantised dtypes. An abstract tensor of such a dtype has no quantiser: its scale and zero point
// are data, and what asks for them gets one that changes nothing.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

constexpr auto kPreserve = at::MemoryFormat::Preserve;

at::MemoryFormat format_at(const RuleCall& call, std::size_t i, at::MemoryFormat otherwise = kPreserve) {
  return call.at(i).isInt() ? static_cast<at::MemoryFormat>(call.at(i).toInt()) : otherwise;
}

// None, or the device that results are on anyway.
bool stays(RuleCall& call, std::size_t i) {
  if (call.none(i)) return true;
  if (!call.at(i).isDevice()) return false;
  const c10::Device device = call.at(i).toDevice();
  const c10::Device own = call.device();
  return device == own || (device.type() == own.type() && !device.has_index());
}

// layout, device and pin_memory, as factories have them one after another.
bool plain_options(RuleCall& call, std::size_t layout) {
  const bool strided =
      call.none(layout) || call.integer(layout, -1) == static_cast<std::int64_t>(c10::kStrided);
  return strided && stays(call, layout + 1) && !call.flag(layout + 2);
}

// New memory; false for a format that the rank does not allow.
bool emit_like(RuleCall& call, const at::Tensor& self, at::ScalarType dtype, at::MemoryFormat format) {
  if (format == at::MemoryFormat::ChannelsLast && self.dim() != 4) return false;
  if (format == at::MemoryFormat::ChannelsLast3d && self.dim() != 5) return false;
  if (format == kPreserve) return call.output(self.sizes(), preserved_strides(operand(self)), dtype);
  return call.output(self.sizes(), dtype, format);
}

bool contiguous(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  const auto format = format_at(call, 1, at::MemoryFormat::Contiguous);
  if (!self || format == kPreserve) return false;
  return self->is_contiguous(format) ? call.same(0) : emit_like(call, *self, self->scalar_type(), format);
}

bool clone(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && emit_like(call, *self, self->scalar_type(), format_at(call, 1));
}

bool emit_cast(RuleCall& call, const at::Tensor& self, at::ScalarType dtype, at::MemoryFormat format) {
  if (c10::isComplexType(self.scalar_type()) && !c10::isComplexType(dtype)) return false;
  return emit_like(call, self, dtype, format);
}

bool emit_to(RuleCall& call, at::ScalarType dtype, bool copy, at::MemoryFormat format) {
  const at::Tensor& self = call.at(0).toTensor();
  const bool fits = format == kPreserve || self.suggest_memory_format() == format;
  if (copy || !fits || dtype != self.scalar_type()) return emit_cast(call, self, dtype, format);
  return call.same(0);
}

// A tensor that is on the recording's device, or real weights that stand for it.
bool at_home(RuleCall& call, const at::Tensor* self) {
  return self && (shown_device(*self) == call.device() || self->is_meta());
}

bool to_dtype(RuleCall& call) {  // self, dtype, non_blocking, copy, memory_format
  return at_home(call, call.tensor(0)) && call.at(1).isInt() &&
         emit_to(call, call.dtype(1, at::kFloat), call.flag(3), format_at(call, 4));
}

bool to_device(RuleCall& call) {  // self, device, dtype, non_blocking, copy, memory_format
  const at::Tensor* self = call.tensor(0);
  if (!at_home(call, self) || call.none(1) || !stays(call, 1)) return false;
  return emit_to(call, call.dtype(2, self->scalar_type()), call.flag(4), format_at(call, 5));
}

bool to_other(RuleCall& call) {  // self, other, non_blocking, copy, memory_format
  const at::Tensor *self = call.tensor(0), *other = call.tensor(1);
  if (!at_home(call, self) || !at_home(call, other)) return false;
  return emit_to(call, other->scalar_type(), call.flag(3), format_at(call, 4));
}

// self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format
bool to_layout(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!at_home(call, self) || !plain_options(call, 2)) return false;
  return emit_to(call, call.dtype(1, self->scalar_type()), call.flag(6), format_at(call, 7));
}

bool to_copy(RuleCall& call) {  // self, dtype, layout, device, pin_memory, non_blocking, memory_format
  const at::Tensor* self = call.tensor(0);
  if (!at_home(call, self) || !plain_options(call, 2)) return false;
  return emit_cast(call, *self, call.dtype(1, self->scalar_type()), format_at(call, 6));
}

bool type_as(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *other = call.tensor(1);
  return at_home(call, self) && at_home(call, other) && emit_to(call, other->scalar_type(), false, kPreserve);
}

bool copy_(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *source = call.tensor(1);
  if (!self || !source || !expands_to(source->sizes(), self->sizes())) return false;
  return can_write(*self, self->sizes(), self->scalar_type()) && call.same(0);
}

// zero_, fill_ and random fills: whatever was there is replaced.
bool overwrite(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self) return false;
  if (call.size() > 1 && call.at(1).isTensor() && call.at(1).toTensor().dim() != 0) return false;
  return can_write(*self, self->sizes(), self->scalar_type()) && call.same(0);
}

bool overwrite_floating(RuleCall& call) { return call.floats(0) && overwrite(call); }

// *_like(self, [extra arguments,] dtype, layout, device, pin_memory, memory_format)
template <std::size_t kDType, bool kRandom = false>
bool like(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || !plain_options(call, kDType + 1)) return false;
  const auto dtype = call.dtype(kDType, self->scalar_type());
  if (kRandom && !c10::isFloatingType(dtype)) return false;
  return emit_like(call, *self, dtype, format_at(call, kDType + 4));
}

// new_*(self, size, [fill value,] dtype, layout, device, pin_memory)
template <std::size_t kDType>
bool new_tensor(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || !call.at(1).isList() || !plain_options(call, kDType + 1)) return false;
  const Sizes sizes = call.ints(1);
  return !any_negative(sizes) && call.output(sizes, call.dtype(kDType, self->scalar_type()));
}

bool itself(RuleCall& call) { return call.tensor(0) && call.same(0); }

// New random numbers; so are those of normal and poisson, contiguous whatever the layout of their parameters.
bool bernoulli(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  return self && call.output(self->sizes(), self->scalar_type());
}

// A mean and a deviation for each element.
bool of_two_each(RuleCall& call) {
  const at::Tensor* first = call.floats(0);
  const at::Tensor* second = call.floats(1);
  return first && second && first->sizes() == second->sizes() &&
         first->scalar_type() == second->scalar_type() && bernoulli(call);
}

// A number for each count, or for each probability where those are more.
bool binomial(RuleCall& call) {
  const at::Tensor* counts = call.floats(0);
  const at::Tensor* chances = call.floats(1);
  if (!counts || !chances || counts->scalar_type() != chances->scalar_type()) return false;
  if (!at::is_expandable_to(chances->sizes(), counts->sizes())) std::swap(counts, chances);
  return at::is_expandable_to(chances->sizes(), counts->sizes()) &&
         call.output(counts->sizes(), counts->scalar_type());
}

bool normal_of_deviation(RuleCall& call) {
  const at::Tensor* deviation = call.floats(1);
  return deviation && call.output(deviation->sizes(), deviation->scalar_type());
}

bool uniform(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  return self && emit_like(call, *self, self->scalar_type(), kPreserve);
}

// One probability for all elements.
bool bernoulli_of_one(RuleCall& call) { return is_probability(call.at(1)) && bernoulli(call); }

// New memory in the format nearest to the input's: contiguous, or channels last.
bool emit_quantised(RuleCall& call, const at::Tensor& self, at::ScalarType dtype) {
  return call.output(self.sizes(), dtype, suggested_format(operand(self)));
}

// quantize_*(self, [scale, zero point, [axis,]] dtype)
template <std::size_t kDType>
bool quantize(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || self->scalar_type() != at::kFloat || !call.at(kDType).isInt()) return false;
  const auto target = call.dtype(kDType, at::kQInt8);
  return c10::isQIntType(target) && emit_quantised(call, *self, target);
}

const at::Tensor* quantised(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && c10::isQIntType(self->scalar_type()) ? self : nullptr;
}

bool dequantize(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  return self && emit_quantised(call, *self, at::kFloat);
}

bool int_repr(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  return self && emit_quantised(call, *self, c10::toUnderlying(self->scalar_type()));
}

bool scale(RuleCall& call) { return quantised(call) && call.push(1.0); }

bool zero_point(RuleCall& call) { return quantised(call) && call.push(std::int64_t{0}); }

// One tensor in, one like it out.
bool same_shape(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  return self && emit_quantised(call, *self, self->scalar_type());
}

bool quantised_batch_norm(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  if (!self || self->dim() != 4) return false;
  return call.output(self->sizes(), self->scalar_type(), at::MemoryFormat::ChannelsLast);
}

// leaky_relu and relu6 can also be told to work in place.
template <std::size_t kInPlace>
bool same_shape_unless_in_place(RuleCall& call) {
  return !call.flag(kInPlace) && same_shape(call);
}

bool two_alike(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  const at::Tensor* other = call.tensor(1);
  if (!self || !other || other->scalar_type() != self->scalar_type()) return false;
  return self->sizes() == other->sizes() && same_shape(call);
}

constexpr ShapeRuleRow kCopyRules[] = {
    {"aten::_to_copy", "", to_copy},
    {"aten::bernoulli", "", bernoulli},
    {"aten::bernoulli", "p", bernoulli_of_one},
    {"aten::bernoulli_", "float", overwrite},
    {"aten::binomial", "", binomial},
    {"aten::clone", "", clone},
    {"aten::contiguous", "", contiguous},
    {"aten::copy_", "", copy_},
    {"aten::dequantize", "self", dequantize},
    {"aten::empty_like aten::ones_like aten::zeros_like", "", like<1>},
    {"aten::fill_", "Scalar Tensor", overwrite},
    {"aten::full_like", "", like<2>},
    {"aten::int_repr", "", int_repr},
    {"aten::lift_fresh aten::resolve_conj aten::resolve_neg", "", itself},
    {"aten::new_empty aten::new_ones aten::new_zeros", "", new_tensor<2>},
    {"aten::new_full", "", new_tensor<3>},
    {"aten::normal", "Tensor_Tensor", of_two_each},
    {"aten::normal", "Tensor_float", bernoulli},
    {"aten::normal", "float_Tensor", normal_of_deviation},
    {"aten::normal_ aten::uniform_", "", overwrite_floating},
    {"aten::poisson", "", bernoulli},
    {"aten::q_scale", "", scale},
    {"aten::q_zero_point", "", zero_point},
    {"aten::quantize_per_channel", "", quantize<4>},
    {"aten::quantize_per_tensor", "", quantize<3>},
    {"aten::quantize_per_tensor", "tensor_qparams", quantize<3>},
    {"aten::quantize_per_tensor_dynamic", "", quantize<1>},
    {"aten::rand_like aten::randn_like", "", like<1, true>},
    {"aten::to", "device", to_device},
    {"aten::to", "dtype", to_dtype},
    {"aten::to", "dtype_layout", to_layout},
    {"aten::to", "other", to_other},
    {"aten::type_as", "", type_as},
    {"aten::uniform", "", uniform},
    {"aten::zero_", "", overwrite},
    {"quantized::add quantized::add_relu quantized::mul quantized::mul_relu", "", two_alike},
    {"quantized::batch_norm2d quantized::batch_norm2d_relu", "", quantised_batch_norm},
    {"quantized::hardswish quantized::sigmoid", "", same_shape},
    {"quantized::leaky_relu", "", same_shape_unless_in_place<2>},
    {"quantized::relu6", "", same_shape_unless_in_place<1>},
};

}  // namespace

std::span<const ShapeRuleRow> copy_shape_rules() { return kCopyRules; }

}  // namespace opscope::engine
