// Shape rules of activation functions and dropout.
#include "torch/rules/pointwise.h"

namespace opscope::engine {
namespace {

constexpr Pointwise kFloatingOnly{.domain = Domain::kFloating};
constexpr Pointwise kFloatingOrComplex{.domain = Domain::kFloatingOrComplex};
constexpr Pointwise kLikeSelf{.domain = Domain::kFloating, .like_self = true};
constexpr Pointwise kRealNumber{.domain = Domain::kRealNoBool};

bool is_probability(const c10::IValue& value) {
  return value.isDouble() && value.toDouble() >= 0 && value.toDouble() <= 1;
}

// Without training, or with nothing to drop, PyTorch returns its argument.
bool dropout(RuleCall& call) {
  const at::Tensor* input = call.tensor(0);
  if (!input || !is_probability(call.at(1))) return false;
  if (call.at(1).toDouble() == 0 || !call.flag(2) || input->numel() == 0) return call.same(0);
  return run_pointwise(call, kFloatingOrComplex, /*in_place=*/false);
}

bool dropout_(RuleCall& call) { return call.floats(0) && is_probability(call.at(1)) && call.same(0); }

bool native_dropout(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  if (!input || input->numel() == 0 || !is_probability(call.at(1))) return false;
  const Sizes strides = preserved_strides(operand(*input));
  Layout layout;
  if (!iterator_layout({operand(*input), {input->sizes(), strides}}, layout)) return false;
  call.output(layout.sizes, layout.strides, input->scalar_type());
  return call.output(input->sizes(), strides, at::kBool);
}

bool glu(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  std::int64_t dim = call.integer(1, -1);
  if (!self || self->dim() == 0 || !wrap_dim(dim, self->dim()) || self->size(dim) % 2 != 0) return false;
  const Sizes sizes = with_size(*self, dim, self->size(dim) / 2);
  const Operand half{sizes, self->strides()};
  Layout layout;
  if (!iterator_layout({half, half}, layout)) return false;
  return call.output(layout.sizes, layout.strides, self->scalar_type());
}

bool prelu(RuleCall& call) {
  const at::Tensor *self = call.floats(0), *weight = call.tensor(1);
  if (!self || !weight || weight->dim() > 1 || self->scalar_type() != weight->scalar_type()) return false;
  const std::int64_t channels = self->dim() > 1 ? self->size(1) : 1;
  if (weight->numel() != 1 && (weight->numel() != channels || self->dim() == 0)) return false;
  return call.output(self->sizes(), preserved_strides(operand(*self)), self->scalar_type());
}

// The one activation whose kernel does not mind overlapping elements.
bool threshold_(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && accepts(kRealNumber.domain, self->scalar_type()) && call.same(0);
}

// Its CPU kernel writes contiguous memory.
bool log_sigmoid(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  return self && call.output(self->sizes(), self->scalar_type());
}

constexpr ShapeRuleRow kActivationRules[] = {
    {"aten::alpha_dropout", "", dropout},
    OPSCOPE_POINTWISE("celu", kFloatingOnly),
    {"aten::dropout", "", dropout},
    {"aten::dropout_", "", dropout_},
    OPSCOPE_POINTWISE("elu", kFloatingOnly),
    {"aten::feature_dropout", "", dropout},
    {"aten::feature_dropout_", "", dropout_},
    OPSCOPE_POINTWISE("gelu", kFloatingOnly),
    {"aten::glu", "", glu},
    OPSCOPE_POINTWISE("hardsigmoid", kFloatingOnly),
    {"aten::hardshrink", "", pointwise<kFloatingOnly>},
    OPSCOPE_POINTWISE("hardswish", kFloatingOnly),
    OPSCOPE_POINTWISE("hardtanh", kLikeSelf),
    OPSCOPE_POINTWISE("leaky_relu", kFloatingOnly),
    {"aten::log_sigmoid", "", log_sigmoid},
    OPSCOPE_POINTWISE("mish", kFloatingOnly),
    {"aten::native_dropout", "", native_dropout},
    {"aten::prelu", "", prelu},
    OPSCOPE_POINTWISE("relu", kRealNumber),
    OPSCOPE_POINTWISE("relu6", kLikeSelf),
    OPSCOPE_POINTWISE("selu", kFloatingOnly),
    OPSCOPE_POINTWISE("silu", kFloatingOrComplex),
    {"aten::softplus", "", pointwise<kFloatingOnly>},
    {"aten::softshrink", "", pointwise<kFloatingOnly>},
    {"aten::threshold", "", pointwise<kRealNumber>},
    {"aten::threshold_", "", threshold_},
};

}  // namespace

std::span<const ShapeRuleRow> activation_shape_rules() { return kActivationRules; }

}  // namespace opscope::engine
