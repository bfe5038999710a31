// Shape rules of tensors going into and out of quantised dtypes. An abstract tensor of such a dtype has no
// quantiser: its scale and zero point are data, and what asks for them gets one that changes nothing.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// New memory in the format nearest to the input's: contiguous, or channels last.
bool emit(RuleCall& call, const at::Tensor& self, at::ScalarType dtype) {
  return call.output(self.sizes(), dtype, suggested_format(operand(self)));
}

bool quantize(RuleCall& call, std::size_t dtype) {
  const at::Tensor* self = call.tensor(0);
  if (!self || self->scalar_type() != at::kFloat || !call.at(dtype).isInt()) return false;
  const auto target = call.dtype(dtype, at::kQInt8);
  return c10::isQIntType(target) && emit(call, *self, target);
}

bool quantize_per_tensor(RuleCall& call) { return quantize(call, 3); }   // self, scale, zero_point, dtype
bool quantize_per_channel(RuleCall& call) { return quantize(call, 4); }  // self, scales, zeros, axis, dtype
bool quantize_dynamic(RuleCall& call) { return quantize(call, 1); }      // self, dtype, reduce_range

const at::Tensor* quantised(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && c10::isQIntType(self->scalar_type()) ? self : nullptr;
}

bool dequantize(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  return self && emit(call, *self, at::kFloat);
}

bool int_repr(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  return self && emit(call, *self, c10::toUnderlying(self->scalar_type()));
}

bool scale(RuleCall& call) { return quantised(call) && call.push(1.0); }

bool zero_point(RuleCall& call) { return quantised(call) && call.push(std::int64_t{0}); }

// One tensor in, one like it out.
bool same_shape(RuleCall& call) {
  const at::Tensor* self = quantised(call);
  return self && emit(call, *self, self->scalar_type());
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

constexpr ShapeRuleRow kQuantisedRules[] = {
    {"aten::dequantize", "self", dequantize},
    {"aten::int_repr", "", int_repr},
    {"aten::q_scale", "", scale},
    {"aten::q_zero_point", "", zero_point},
    {"aten::quantize_per_channel", "", quantize_per_channel},
    {"aten::quantize_per_tensor", "", quantize_per_tensor},
    {"aten::quantize_per_tensor", "tensor_qparams", quantize_per_tensor},
    {"aten::quantize_per_tensor_dynamic", "", quantize_dynamic},
    {"quantized::add", "", two_alike},
    {"quantized::add_relu", "", two_alike},
    {"quantized::batch_norm2d", "", quantised_batch_norm},
    {"quantized::batch_norm2d_relu", "", quantised_batch_norm},
    {"quantized::hardswish", "", same_shape},
    {"quantized::leaky_relu", "", same_shape_unless_in_place<2>},
    {"quantized::mul", "", two_alike},
    {"quantized::mul_relu", "", two_alike},
    {"quantized::relu6", "", same_shape_unless_in_place<1>},
    {"quantized::sigmoid", "", same_shape},
};

}  // namespace

std::span<const ShapeRuleRow> quantised_shape_rules() { return kQuantisedRules; }

}  // namespace opscope::engine
