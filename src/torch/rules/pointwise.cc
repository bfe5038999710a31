// Shape rules of arithmetic, comparison and other pointwise ops, of activation functions and dropout.
#include "torch/rules/pointwise.h"

#include <ATen/MemoryOverlap.h>

namespace opscope::engine {

bool accepts(Domain domain, at::ScalarType dtype) {
  switch (domain) {
    case Domain::kAny:
      return true;
    case Domain::kNoBool:
      return dtype != at::kBool;
    case Domain::kReal:
      return !c10::isComplexType(dtype);
    case Domain::kRealNoBool:
      return !c10::isComplexType(dtype) && dtype != at::kBool;
    case Domain::kFloating:
      return c10::isFloatingType(dtype);
    case Domain::kFloatingOrComplex:
      return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
    case Domain::kIntegral:
      return c10::isIntegralType(dtype, /*includeBool=*/true);
  }
  return false;
}

bool can_write(const at::Tensor& self, c10::IntArrayRef sizes, at::ScalarType dtype) {
  at::assert_no_internal_overlap(self);
  return self.sizes() == sizes && c10::canCast(dtype, self.scalar_type());
}

namespace {

// The operands of a call, their common dtype as it builds up.
struct Gathered {
  c10::SmallVector<Operand, 4> operands;
  at::ScalarType dtype = at::ScalarType::Undefined;
  bool mixed = false;
  std::size_t tensors = 0;

  void add(const at::Tensor& tensor) {
    operands.push_back(operand(tensor));
    mixed = mixed || (tensors > 0 && tensor.scalar_type() != dtype);
    if (tensors++ == 0) dtype = tensor.scalar_type();
  }
};

// 0: bool, 1: integer, 2: floating, 3: complex. A number of no higher category leaves a tensor's dtype alone.
int category(at::ScalarType dtype) {
  if (c10::isComplexType(dtype)) return 3;
  if (c10::isFloatingType(dtype)) return 2;
  return dtype == at::kBool ? 0 : 1;
}

int category(const c10::IValue& number) {
  if (number.isComplexDouble()) return 3;
  if (number.isDouble()) return 2;
  return number.isBool() ? 0 : 1;
}

bool gather(RuleCall& call, const Pointwise& op, Gathered& found) {
  int highest = 0;
  for (std::size_t i = 0; i < op.operands + op.bounds; ++i) {
    const c10::IValue& value = call.at(i);
    if (value.isTensor()) {
      const at::Tensor* tensor = call.tensor(i);
      if (!tensor) return false;
      found.add(*tensor);
    } else if (is_number(value)) {
      highest = std::max(highest, category(value));
      if (i < op.operands) found.operands.push_back({});
    } else if (!value.isNone() || i == 0) {
      return false;
    }
  }
  if (found.tensors == 0) return false;
  if (found.mixed && op.one_dtype) return false;
  if (!found.mixed && highest <= category(found.dtype)) return true;
  Promotion promotion;
  for (std::size_t i = 0; i < op.operands + op.bounds; ++i) {
    if (call.at(i).isTensor()) promotion.add(call.at(i).toTensor());
    if (is_number(call.at(i))) promotion.add(call.at(i));
  }
  found.dtype = promotion.result();
  return true;
}

}  // namespace

bool run_pointwise(RuleCall& call, const Pointwise& op, bool in_place) {
  if (in_place && call.tensor(0)) at::assert_no_internal_overlap(*call.tensor(0));
  Gathered found;
  if (!gather(call, op, found) || !accepts(op.domain, found.dtype)) return false;
  at::ScalarType dtype = found.dtype;
  if (op.result == Result::kFloat) dtype = to_floating(dtype);
  if (op.result == Result::kBool) dtype = at::kBool;
  Layout layout;
  if (in_place) {
    const at::Tensor& self = call.at(0).toTensor();
    for (const Operand& input : found.operands)
      if (!expands_to(input.sizes, self.sizes())) return false;
    return can_write(self, self.sizes(), dtype) && call.same(0);
  }
  if (op.reversed) std::reverse(found.operands.begin(), found.operands.end());
  if (op.like_self) return call.output(found.operands[0].sizes, preserved_strides(found.operands[0]), dtype);
  return iterator_layout(found.operands, layout) && call.output(layout.sizes, layout.strides, dtype);
}

namespace {

constexpr Pointwise kUnaryReal{.domain = Domain::kReal};
constexpr Pointwise kLikeSelf{.domain = Domain::kReal, .like_self = true};
constexpr Pointwise kUnaryRealNoBool{.domain = Domain::kRealNoBool};
constexpr Pointwise kUnaryNoBool{.domain = Domain::kNoBool};
constexpr Pointwise kUnaryFloat{.result = Result::kFloat};
constexpr Pointwise kUnaryFloatReal{.result = Result::kFloat, .domain = Domain::kReal};
constexpr Pointwise kUnaryFloating{.domain = Domain::kFloating};
constexpr Pointwise kUnaryBool{.result = Result::kBool};
constexpr Pointwise kUnaryBoolReal{.result = Result::kBool, .domain = Domain::kReal};
constexpr Pointwise kUnaryIntegral{.domain = Domain::kIntegral};
constexpr Pointwise kBinary{.operands = 2};
constexpr Pointwise kBinaryNoBool{.operands = 2, .domain = Domain::kNoBool};
constexpr Pointwise kReversed{.operands = 2, .domain = Domain::kNoBool, .reversed = true};
constexpr Pointwise kBinaryReal{.operands = 2, .domain = Domain::kReal};
constexpr Pointwise kBinaryRealNoBool{.operands = 2, .domain = Domain::kRealNoBool};
constexpr Pointwise kBinaryFloat{.operands = 2, .result = Result::kFloat};
constexpr Pointwise kBinaryFloatReal{.operands = 2, .result = Result::kFloat, .domain = Domain::kReal};
constexpr Pointwise kBinaryBool{.operands = 2, .result = Result::kBool};
constexpr Pointwise kBinaryBoolReal{.operands = 2, .result = Result::kBool, .domain = Domain::kReal};
constexpr Pointwise kBinaryIntegral{.operands = 2, .domain = Domain::kIntegral};
constexpr Pointwise kOneBound{.bounds = 1, .domain = Domain::kRealNoBool};
constexpr Pointwise kTwoBounds{.bounds = 2, .domain = Domain::kRealNoBool};
constexpr Pointwise kThree{.operands = 3, .domain = Domain::kNoBool};
constexpr Pointwise kThreeRealNoBool{.operands = 3, .domain = Domain::kRealNoBool};
constexpr Pointwise kThreeFloating{.operands = 3, .domain = Domain::kFloatingOrComplex};
constexpr Pointwise kLerp{.operands = 2, .domain = Domain::kFloatingOrComplex, .one_dtype = true};
constexpr Pointwise kLerpTensor{.operands = 3, .domain = Domain::kFloatingOrComplex, .one_dtype = true};
constexpr Pointwise kPowScalar{.bounds = 1, .domain = Domain::kFloatingOrComplex};

// div and div_ with a rounding mode: true division without one, the operands' own type with one.
template <bool kInPlace>
bool div_mode(RuleCall& call) {
  return run_pointwise(call, call.none(2) ? kBinaryFloat : kBinaryRealNoBool, kInPlace);
}

bool is_bool(const c10::IValue& value) {
  return value.isBool() ||
         (value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == at::kBool);
}

// Alpha is checked by PyTorch against integer results: only plain cases are taken. Subtraction refuses bools.
template <Pointwise kOp, bool kInPlace>
bool with_alpha(RuleCall& call) {
  if (!call.at(2).isInt() && !call.at(2).isDouble()) return false;
  if (call.at(2).isDouble() && call.at(0).isTensor() &&
      c10::isIntegralType(call.at(0).toTensor().scalar_type(), true))
    return false;
  if (kOp.domain == Domain::kNoBool && (is_bool(call.at(0)) || is_bool(call.at(1)))) return false;
  return run_pointwise(call, kOp, kInPlace);
}

// A number to the power of a tensor fills contiguous memory.
bool pow_scalar(RuleCall& call) {
  const at::Tensor* exponent = call.tensor(1);
  if (!exponent || !is_number(call.at(0))) return false;
  Promotion promotion;
  promotion.add(call.at(0));
  promotion.add(*exponent);
  return accepts(Domain::kNoBool, promotion.result()) && call.output(exponent->sizes(), promotion.result());
}

bool where(RuleCall& call) {
  const at::Tensor* condition = call.tensor(0);
  if (!condition || (condition->scalar_type() != at::kBool && condition->scalar_type() != at::kByte))
    return false;
  c10::SmallVector<Operand, 4> operands{operand(*condition)};
  Promotion promotion;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (const at::Tensor* tensor = call.tensor(i)) {
      operands.push_back(operand(*tensor));
      promotion.add(*tensor);
    } else if (is_number(call.at(i))) {
      operands.push_back({});
      promotion.add(call.at(i));
    } else {
      return false;
    }
  }
  Layout layout;
  return iterator_layout(operands, layout) && call.output(layout.sizes, layout.strides, promotion.result());
}

bool valid_fill(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *mask = call.tensor(1);
  if (!self || !mask || mask->scalar_type() != at::kBool) return false;
  if (const at::Tensor* value = call.tensor(2))
    return value->dim() == 0 && c10::canCast(value->scalar_type(), self->scalar_type());
  if (!is_number(call.at(2))) return false;
  return c10::canCast(call.at(2).toScalar().type(), self->scalar_type());
}

bool masked_fill(RuleCall& call) {
  if (!valid_fill(call)) return false;
  const at::Tensor& self = call.at(0).toTensor();
  Sizes sizes = sizes_of(self);
  return broadcast(sizes, call.at(1).toTensor().sizes()) && call.output(sizes, self.scalar_type());
}

// Writing through overlapping elements is still allowed here.
bool masked_fill_(RuleCall& call) {
  if (!valid_fill(call)) return false;
  return expands_to(call.at(1).toTensor().sizes(), call.at(0).toTensor().sizes()) && call.same(0);
}

constexpr Pointwise kFloatingOnly{.domain = Domain::kFloating};
constexpr Pointwise kFloatingOrComplex{.domain = Domain::kFloatingOrComplex};
constexpr Pointwise kFloatingLikeSelf{.domain = Domain::kFloating, .like_self = true};
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

constexpr ShapeRuleRow kPointwiseRules[] = {
    {"aten::__and__", kAnyOverload, pointwise<kBinaryIntegral>},
    {"aten::__or__", kAnyOverload, pointwise<kBinaryIntegral>},
    {"aten::__xor__", kAnyOverload, pointwise<kBinaryIntegral>},
    OPSCOPE_POINTWISE("abs", kUnaryRealNoBool),
    OPSCOPE_POINTWISE("acos", kUnaryFloat),
    {"aten::add", "Scalar", with_alpha<kBinary, false>},
    {"aten::add", "Tensor", with_alpha<kBinary, false>},
    {"aten::add_", "Scalar", with_alpha<kBinary, true>},
    {"aten::add_", "Tensor", with_alpha<kBinary, true>},
    OPSCOPE_POINTWISE("addcdiv", kThreeFloating),
    OPSCOPE_POINTWISE("addcmul", kThree),
    {"aten::alpha_dropout", "", dropout},
    OPSCOPE_POINTWISE("asin", kUnaryFloat),
    OPSCOPE_POINTWISE("atan", kUnaryFloat),
    OPSCOPE_POINTWISE("atan2", kBinaryFloatReal),
    OPSCOPE_POINTWISE("bitwise_and", kBinaryIntegral),
    OPSCOPE_POINTWISE("bitwise_not", kUnaryIntegral),
    OPSCOPE_POINTWISE("bitwise_or", kBinaryIntegral),
    OPSCOPE_POINTWISE("bitwise_xor", kBinaryIntegral),
    OPSCOPE_POINTWISE("ceil", kUnaryRealNoBool),
    OPSCOPE_POINTWISE("celu", kFloatingOnly),
    {"aten::clamp", "", pointwise<kTwoBounds>},
    {"aten::clamp", "Tensor", pointwise<kThreeRealNoBool>},
    {"aten::clamp_", "", pointwise<kTwoBounds, true>},
    {"aten::clamp_", "Tensor", pointwise<kThreeRealNoBool, true>},
    {"aten::clamp_max", "", pointwise<kOneBound>},
    {"aten::clamp_max", "Tensor", pointwise<kBinaryRealNoBool>},
    {"aten::clamp_max_", "", pointwise<kOneBound, true>},
    {"aten::clamp_min", "", pointwise<kOneBound>},
    {"aten::clamp_min", "Tensor", pointwise<kBinaryRealNoBool>},
    {"aten::clamp_min_", "", pointwise<kOneBound, true>},
    OPSCOPE_POINTWISE("cos", kUnaryFloat),
    OPSCOPE_POINTWISE("cosh", kUnaryFloat),
    {"aten::div", "Scalar", pointwise<kBinaryFloat>},
    {"aten::div", "Scalar_mode", div_mode<false>},
    {"aten::div", "Tensor", pointwise<kBinaryFloat>},
    {"aten::div", "Tensor_mode", div_mode<false>},
    {"aten::div_", "Scalar", pointwise<kBinaryFloat, true>},
    {"aten::div_", "Scalar_mode", div_mode<true>},
    {"aten::div_", "Tensor", pointwise<kBinaryFloat, true>},
    {"aten::div_", "Tensor_mode", div_mode<true>},
    {"aten::dropout", "", dropout},
    {"aten::dropout_", "", dropout_},
    OPSCOPE_POINTWISE("elu", kFloatingOnly),
    OPSCOPE_POINTWISE("eq", kBinaryBool),
    OPSCOPE_POINTWISE("erf", kUnaryFloatReal),
    OPSCOPE_POINTWISE("erfc", kUnaryFloatReal),
    OPSCOPE_POINTWISE("erfinv", kUnaryFloatReal),
    OPSCOPE_POINTWISE("exp", kUnaryFloat),
    OPSCOPE_POINTWISE("exp2", kUnaryFloat),
    OPSCOPE_POINTWISE("expm1", kUnaryFloat),
    {"aten::feature_dropout", "", dropout},
    {"aten::feature_dropout_", "", dropout_},
    OPSCOPE_POINTWISE("floor", kUnaryRealNoBool),
    OPSCOPE_POINTWISE("floor_divide", kBinaryRealNoBool),
    {"aten::fmax", "", pointwise<kBinaryReal>},
    {"aten::fmin", "", pointwise<kBinaryReal>},
    OPSCOPE_POINTWISE("fmod", kBinaryRealNoBool),
    OPSCOPE_POINTWISE("frac", kUnaryFloating),
    OPSCOPE_POINTWISE("ge", kBinaryBoolReal),
    OPSCOPE_POINTWISE("gelu", kFloatingOnly),
    {"aten::glu", "", glu},
    OPSCOPE_POINTWISE("gt", kBinaryBoolReal),
    {"aten::hardshrink", "", pointwise<kFloatingOnly>},
    OPSCOPE_POINTWISE("hardsigmoid", kFloatingOnly),
    OPSCOPE_POINTWISE("hardswish", kFloatingOnly),
    OPSCOPE_POINTWISE("hardtanh", kFloatingLikeSelf),
    {"aten::isfinite", "", pointwise<kUnaryBool>},
    {"aten::isinf", "", pointwise<kUnaryBoolReal>},
    {"aten::isnan", "", pointwise<kUnaryBool>},
    OPSCOPE_POINTWISE("le", kBinaryBoolReal),
    OPSCOPE_POINTWISE("leaky_relu", kFloatingOnly),
    {"aten::lerp", "Scalar", pointwise<kLerp>},
    {"aten::lerp", "Tensor", pointwise<kLerpTensor>},
    {"aten::lerp_", "Scalar", pointwise<kLerp, true>},
    {"aten::lerp_", "Tensor", pointwise<kLerpTensor, true>},
    OPSCOPE_POINTWISE("log", kUnaryFloat),
    OPSCOPE_POINTWISE("log10", kUnaryFloat),
    OPSCOPE_POINTWISE("log1p", kUnaryFloat),
    OPSCOPE_POINTWISE("log2", kUnaryFloat),
    {"aten::log_sigmoid", "", log_sigmoid},
    {"aten::logaddexp", "", pointwise<Pointwise{.operands = 2, .domain = Domain::kFloating}>},
    OPSCOPE_POINTWISE("logical_and", kBinaryBool),
    OPSCOPE_POINTWISE("logical_not", kUnaryBool),
    OPSCOPE_POINTWISE("logical_or", kBinaryBool),
    OPSCOPE_POINTWISE("logical_xor", kBinaryBool),
    OPSCOPE_POINTWISE("logit", kUnaryFloatReal),
    OPSCOPE_POINTWISE("lt", kBinaryBoolReal),
    {"aten::masked_fill", kAnyOverload, masked_fill},
    {"aten::masked_fill_", kAnyOverload, masked_fill_},
    {"aten::max", "other", pointwise<kBinaryReal>},
    {"aten::maximum", "", pointwise<kBinaryReal>},
    {"aten::min", "other", pointwise<kBinaryReal>},
    {"aten::minimum", "", pointwise<kBinaryReal>},
    OPSCOPE_POINTWISE("mish", kFloatingOnly),
    OPSCOPE_POINTWISE("mul", kBinary),
    OPSCOPE_POINTWISE("nan_to_num", kLikeSelf),
    {"aten::native_dropout", "", native_dropout},
    OPSCOPE_POINTWISE("ne", kBinaryBool),
    OPSCOPE_POINTWISE("neg", kUnaryNoBool),
    {"aten::pow", "Scalar", pow_scalar},
    {"aten::pow", "Tensor_Scalar", pointwise<kPowScalar>},
    {"aten::pow", "Tensor_Tensor", pointwise<kBinaryNoBool>},
    {"aten::pow_", "Scalar", pointwise<kPowScalar, true>},
    {"aten::pow_", "Tensor", pointwise<kBinaryNoBool, true>},
    {"aten::prelu", "", prelu},
    OPSCOPE_POINTWISE("reciprocal", kUnaryFloat),
    OPSCOPE_POINTWISE("relu", kRealNumber),
    OPSCOPE_POINTWISE("relu6", kFloatingLikeSelf),
    {"aten::remainder", "Scalar", pointwise<kBinaryRealNoBool>},
    {"aten::remainder", "Tensor", pointwise<kBinaryRealNoBool>},
    {"aten::remainder_", kAnyOverload, pointwise<kBinaryRealNoBool, true>},
    {"aten::round", "", pointwise<kUnaryRealNoBool>},
    {"aten::round_", "", pointwise<kUnaryRealNoBool, true>},
    OPSCOPE_POINTWISE("rsqrt", kUnaryFloat),
    {"aten::rsub", kAnyOverload, with_alpha<kReversed, false>},
    OPSCOPE_POINTWISE("selu", kFloatingOnly),
    OPSCOPE_POINTWISE("sigmoid", kUnaryFloat),
    OPSCOPE_POINTWISE("sign", kUnaryReal),
    OPSCOPE_POINTWISE("silu", kFloatingOrComplex),
    OPSCOPE_POINTWISE("sin", kUnaryFloat),
    OPSCOPE_POINTWISE("sinh", kUnaryFloat),
    {"aten::softplus", "", pointwise<kFloatingOnly>},
    {"aten::softshrink", "", pointwise<kFloatingOnly>},
    OPSCOPE_POINTWISE("sqrt", kUnaryFloat),
    OPSCOPE_POINTWISE("square", kUnaryNoBool),
    {"aten::sub", "Scalar", with_alpha<kBinaryNoBool, false>},
    {"aten::sub", "Tensor", with_alpha<kBinaryNoBool, false>},
    {"aten::sub_", "Scalar", with_alpha<kBinaryNoBool, true>},
    {"aten::sub_", "Tensor", with_alpha<kBinaryNoBool, true>},
    OPSCOPE_POINTWISE("tan", kUnaryFloat),
    OPSCOPE_POINTWISE("tanh", kUnaryFloat),
    {"aten::threshold", "", pointwise<kRealNumber>},
    {"aten::threshold_", "", threshold_},
    OPSCOPE_POINTWISE("true_divide", kBinaryFloat),
    OPSCOPE_POINTWISE("trunc", kUnaryRealNoBool),
    {"aten::where", "Scalar", where},
    {"aten::where", "ScalarOther", where},
    {"aten::where", "ScalarSelf", where},
    {"aten::where", "self", where},
    OPSCOPE_POINTWISE("xlogy", kBinaryFloatReal),
};

}  // namespace

std::span<const ShapeRuleRow> pointwise_shape_rules() { return kPointwiseRules; }

}  // namespace opscope::engine
