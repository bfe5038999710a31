// Shape rules of arithmetic, comparison and other pointwise ops, of activation functions, their gradients and
// dropout. One rule is behind them all: broadcast the operands, promote their types, lay the result out as
// TensorIterator does. What differs between ops is a `Pointwise` value.
#include <ATen/MemoryOverlap.h>

#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

enum class Result { kPromoted, kFloat, kBool };
// Operand types that the CPU kernels take; what is outside is left to PyTorch, which mostly raises.
enum class Domain { kAny, kNoBool, kReal, kRealNoBool, kFloating, kFloatingOrComplex, kIntegral };

struct Pointwise {
  std::size_t operands = 1;  // leading arguments that are tensors, or numbers as tensors without dimensions
  std::size_t bounds = 0;    // numbers after them that take part in promotion, not in the layout
  Result result = Result::kPromoted;
  Domain domain = Domain::kAny;
  bool one_dtype = false;  // no promotion: tensors must agree
  bool reversed = false;   // the kernel takes its operands in the other order: rsub
  bool like_self = false;  // written into empty_like(self), not into what TensorIterator allocates
};

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

bool run_pointwise(RuleCall& call, const Pointwise& op, bool in_place) {
  if (in_place && call.tensor(0)) at::assert_no_internal_overlap(*call.tensor(0));
  Gathered found;
  if (!gather(call, op, found) || !accepts(op.domain, found.dtype)) return false;
  at::ScalarType dtype = found.dtype;
  if (op.result == Result::kFloat) dtype = to_floating(dtype);
  if (op.result == Result::kBool) dtype = at::kBool;
  if (in_place) {
    const at::Tensor& self = call.at(0).toTensor();
    for (const Operand& input : found.operands)
      if (!expands_to(input.sizes, self.sizes())) return false;
    return can_write(self, self.sizes(), dtype) && call.same(0);
  }
  if (op.reversed) std::reverse(found.operands.begin(), found.operands.end());
  if (op.like_self) return call.output(found.operands[0].sizes, preserved_strides(found.operands[0]), dtype);
  return emit_iterated(call, found.operands, dtype);
}

template <Pointwise kOp, bool kInPlace = false>
bool pointwise(RuleCall& call) {
  return run_pointwise(call, kOp, kInPlace);
}

// The row of ops that also exist in place.
template <Pointwise kOp>
constexpr ShapeRuleRow in_both(std::string_view names, std::string_view overloads = kAnyOverload) {
  return {names, overloads, pointwise<kOp>, pointwise<kOp, true>};
}

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
constexpr Pointwise kGradient{.operands = 2, .domain = Domain::kFloating, .one_dtype = true};
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
  return emit_iterated(call, operands, promotion.result());
}

// Writing through overlapping elements is still allowed here.
template <bool kInPlace>
bool masked_fill(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *mask = call.tensor(1);
  if (!self || !mask || mask->scalar_type() != at::kBool) return false;
  const at::Tensor* value = call.tensor(2);
  if (value ? value->dim() != 0 : !is_number(call.at(2))) return false;
  const auto dtype = value ? value->scalar_type() : call.at(2).toScalar().type();
  return c10::canCast(dtype, self->scalar_type()) && emit_masked<kInPlace>(call, *self, *mask);
}
constexpr Pointwise kFloatingOrComplex{.domain = Domain::kFloatingOrComplex};
constexpr Pointwise kFloatingLikeSelf{.domain = Domain::kFloating, .like_self = true};

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
  return emit_iterated(call, {operand(*input), {input->sizes(), strides}}, input->scalar_type()) &&
         call.output(input->sizes(), strides, at::kBool);
}

bool glu(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  std::int64_t dim = call.integer(1, -1);
  if (!self || self->dim() == 0 || !wrap_dim(dim, self->dim()) || self->size(dim) % 2 != 0) return false;
  const Sizes sizes = with_size(*self, dim, self->size(dim) / 2);
  const Operand half{sizes, self->strides()};
  return emit_iterated(call, {half, half}, self->scalar_type());
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
  return self && accepts(Domain::kRealNoBool, self->scalar_type()) && call.same(0);
}

// Its CPU kernel writes contiguous memory.
bool log_sigmoid(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  return self && call.output(self->sizes(), self->scalar_type());
}

// Its kernels write contiguous memory, which PyTorch's own shape function does not say.
template <std::size_t kLower>
bool rrelu(RuleCall& call) {
  if (!is_number(call.at(kLower)) || !is_number(call.at(kLower + 1))) return false;
  const at::Tensor* self = call.floats(0);
  const bool in_order = call.at(kLower).toScalar().toDouble() <= call.at(kLower + 1).toScalar().toDouble();
  return self && in_order && call.output(self->sizes(), self->scalar_type());
}

// With what its backward needs again: the CPU keeps exponentials, a GPU nothing.
bool log_sigmoid_forward(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  return self && call.device().is_cpu() && log_sigmoid(call) && log_sigmoid(call);
}

constexpr ShapeRuleRow kPointwiseRules[] = {
    {"aten::__and__ aten::__or__ aten::__xor__", kAnyOverload, pointwise<kBinaryIntegral>},
    in_both<kUnaryRealNoBool>("aten::abs aten::ceil aten::floor aten::relu aten::trunc"),
    in_both<kUnaryFloat>("aten::acos aten::asin aten::atan aten::cos aten::cosh aten::exp aten::exp2 "
                         "aten::expm1 aten::log aten::log10 aten::log1p aten::log2 aten::reciprocal "
                         "aten::rsqrt aten::sigmoid aten::sin aten::sinh aten::sqrt aten::tan aten::tanh"),
    {"aten::add", "Scalar Tensor", with_alpha<kBinary, false>, with_alpha<kBinary, true>},
    in_both<kThreeFloating>("aten::addcdiv"),
    in_both<kThree>("aten::addcmul"),
    {"aten::alpha_dropout", "", dropout},
    in_both<kBinaryFloatReal>("aten::atan2 aten::xlogy"),
    in_both<kBinaryIntegral>("aten::bitwise_and aten::bitwise_or aten::bitwise_xor"),
    in_both<kUnaryIntegral>("aten::bitwise_not"),
    in_both<kUnaryFloating>("aten::celu aten::elu aten::frac aten::gelu aten::hardsigmoid aten::hardswish "
                            "aten::leaky_relu aten::mish aten::selu"),
    in_both<kTwoBounds>("aten::clamp", ""),
    in_both<kThreeRealNoBool>("aten::clamp", "Tensor"),
    in_both<kOneBound>("aten::clamp_max aten::clamp_min", ""),
    {"aten::clamp_max aten::clamp_min", "Tensor", pointwise<kBinaryRealNoBool>},
    in_both<kBinaryFloat>("aten::div", "Scalar Tensor"),
    {"aten::div", "Scalar_mode Tensor_mode", div_mode<false>, div_mode<true>},
    {"aten::dropout aten::feature_dropout", "", dropout, dropout_},
    in_both<kBinaryBool>("aten::eq aten::logical_and aten::logical_or aten::logical_xor aten::ne"),
    in_both<kUnaryFloatReal>("aten::erf aten::erfc aten::erfinv aten::logit"),
    in_both<kBinaryRealNoBool>("aten::floor_divide aten::fmod"),
    {"aten::fmax aten::fmin aten::maximum aten::minimum", "", pointwise<kBinaryReal>},
    in_both<kBinaryBoolReal>("aten::ge aten::gt aten::le aten::lt"),
    {"aten::gelu_backward aten::hardsigmoid_backward aten::hardtanh_backward aten::leaky_relu_backward "
     "aten::sigmoid_backward aten::silu_backward aten::tanh_backward aten::threshold_backward",
     "", pointwise<kGradient>},
    {"aten::glu", "", glu},
    {"aten::hardshrink aten::softplus aten::softshrink", "", pointwise<kUnaryFloating>},
    in_both<kFloatingLikeSelf>("aten::hardtanh aten::relu6"),
    {"aten::isfinite aten::isnan", "", pointwise<kUnaryBool>},
    {"aten::isinf", "", pointwise<kUnaryBoolReal>},
    in_both<kLerp>("aten::lerp", "Scalar"),
    in_both<kLerpTensor>("aten::lerp", "Tensor"),
    {"aten::log_sigmoid", "", log_sigmoid},
    {"aten::log_sigmoid_forward", "", log_sigmoid_forward},
    {"aten::logaddexp", "", pointwise<Pointwise{.operands = 2, .domain = Domain::kFloating}>},
    in_both<kUnaryBool>("aten::logical_not"),
    {"aten::masked_fill", kAnyOverload, masked_fill<false>, masked_fill<true>},
    {"aten::max aten::min", "other", pointwise<kBinaryReal>},
    in_both<kBinary>("aten::mul"),
    in_both<kLikeSelf>("aten::nan_to_num"),
    {"aten::native_dropout", "", native_dropout},
    in_both<kUnaryNoBool>("aten::neg aten::square"),
    {"aten::pow", "Scalar", pow_scalar},
    {"aten::pow", "Tensor_Scalar", pointwise<kPowScalar>},
    {"aten::pow", "Tensor_Tensor", pointwise<kBinaryNoBool>},
    {"aten::pow_", "Scalar", pointwise<kPowScalar, true>},
    {"aten::pow_", "Tensor", pointwise<kBinaryNoBool, true>},
    {"aten::prelu", "", prelu},
    {"aten::remainder", "Scalar Tensor", pointwise<kBinaryRealNoBool>},
    {"aten::remainder_", kAnyOverload, pointwise<kBinaryRealNoBool, true>},
    in_both<kUnaryRealNoBool>("aten::round", ""),
    {"aten::rrelu", "", rrelu<1>},
    {"aten::rrelu_with_noise", "", rrelu<2>},
    {"aten::rsub", kAnyOverload, with_alpha<kReversed, false>},
    in_both<kUnaryReal>("aten::sign"),
    in_both<kFloatingOrComplex>("aten::silu"),
    {"aten::sub", "Scalar Tensor", with_alpha<kBinaryNoBool, false>, with_alpha<kBinaryNoBool, true>},
    {"aten::threshold", "", pointwise<kUnaryRealNoBool>, threshold_},
    in_both<kBinaryFloat>("aten::true_divide"),
    {"aten::where", "Scalar ScalarOther ScalarSelf self", where},
};

}  // namespace

std::span<const ShapeRuleRow> pointwise_shape_rules() { return kPointwiseRules; }

}  // namespace opscope::engine
