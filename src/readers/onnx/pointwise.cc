// Elementwise ONNX ops, reductions and softmaxes: mostly a name of ATen's for a name of ONNX's.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "readers/onnx/call.h"

namespace opscope {
namespace {

bool unary(OnnxCall& call, std::string_view aten) { return call.answer(aten, {call.tensor("self", 0)}); }

bool to_bool(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0)}, {call.shape(0), DType::kBool});
}

bool binary_as(OnnxCall& call, std::string_view aten, DType dtype) {
  if (!call.has(1)) return false;
  // Before opset 7 the second is laid over the first from an axis on.
  const bool is_laid_over = call.opset() < 7 && call.integer("broadcast", 0) != 0;
  const auto shape = is_laid_over ? std::optional(call.shape(0)) : broadcast(call.shape(0), call.shape(1));
  return shape && call.answer(aten, {call.tensor("self", 0), call.tensor("other", 1)}, {*shape, dtype});
}
bool binary(OnnxCall& call, std::string_view aten) { return binary_as(call, aten, call.dtype(0)); }
bool compare(OnnxCall& call, std::string_view aten) { return binary_as(call, aten, DType::kBool); }

bool power(OnnxCall& call, std::string_view aten) {
  const auto shape = broadcast(call.shape(0), call.shape(1));
  if (!shape) return false;
  const auto* exponent = call.single_number(1);
  return call.answer(
      aten,
      {call.tensor("self", 0),
       exponent != nullptr ? call.real_number("exponent", exponent->real(0)) : call.tensor("exponent", 1)},
      {*shape});
}

bool shift(OnnxCall& call, std::string_view) {
  return binary(
      call, call.text("direction", "") == "RIGHT" ? "aten::bitwise_right_shift" : "aten::bitwise_left_shift");
}

// Sum, Mean, Max and Min of any number of tensors: one op after the other.
bool variadic(OnnxCall& call, std::string_view aten) {
  std::optional<Shape> all = call.shape(0);
  const auto count = call.input_count();
  if (!call.has_first(count)) return false;
  for (std::size_t i = 1; i < count && all; ++i) all = broadcast(*all, call.shape(i));
  if (!all) return false;
  auto total = call.value(0);
  auto shape = call.shape(0);
  for (std::size_t i = 1; i < count; ++i) {
    shape = *broadcast(shape, call.shape(i));
    total = call.op(aten, {call.tensor_of("self", total), call.tensor("other", i)}, {shape});
  }
  if (call.node().op_type == "Mean" && count > 1)
    total = call.op("aten::div", {call.tensor_of("self", total), call.number("other", count)}, {shape});
  if (count == 1) total = call.op("aten::alias", {call.tensor("self", 0)}, {shape});
  call.result(0, total);
  return true;
}

bool where(OnnxCall& call, std::string_view aten) {
  const auto pair = broadcast(call.shape(1), call.shape(2));
  const auto shape = pair ? broadcast(*pair, call.shape(0)) : std::nullopt;
  return shape &&
         call.answer(aten, {call.tensor("condition", 0), call.tensor("self", 1), call.tensor("other", 2)},
                     {*shape, call.dtype(1)});
}

bool clip(OnnxCall& call, std::string_view) {
  const bool low = call.has(1) || call.attribute("min") != nullptr;
  const bool high = call.has(2) || call.attribute("max") != nullptr;
  const auto bound = [&](std::string_view name, std::size_t i) {
    if (const auto* number = call.single_number(i)) return call.real_number(name, number->real(0));
    return call.has(i) ? call.tensor(name, i) : call.real_number(name, call.real(name, 0));
  };
  const auto self = call.tensor("self", 0);
  if (low && high) return call.answer("aten::clamp", {self, bound("min", 1), bound("max", 2)});
  if (low) return call.answer("aten::clamp_min", {self, bound("min", 1)});
  if (high) return call.answer("aten::clamp_max", {self, bound("max", 2)});
  return call.answer("aten::alias", {self});
}

bool cast(OnnxCall& call, std::string_view aten) {
  const auto to = onnx_dtype(call.integer("to", 0));
  if (to == DType::kUndefined) return false;
  // The same bits as another type: a view.
  if (call.node().op_type == "BitCast")
    return call.answer(aten, {call.tensor("self", 0)}, {call.shape(0), to});
  return call.answer(aten, {call.tensor("self", 0), call.state().out.dtype("dtype", to)},
                     {call.shape(0), to});
}

// Only the second input's type counts: its shape may not be known.
bool cast_like(OnnxCall& call, std::string_view aten) {
  const auto to = call.dtype(1);
  if (to == DType::kUndefined || !call.info(0)->shape) return false;
  return call.answer(aten, {call.tensor("self", 0), call.state().out.dtype("dtype", to)},
                     {call.shape(0), to});
}

// A made-up tensor like the input, of the type that an attribute may name.
bool made_like(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0)},
                     {call.shape(0), call.dtype_attribute("dtype", call.dtype(0))});
}

// a * sigmoid(alpha * a) * b
bool swiglu(OnnxCall& call, std::string_view) {
  auto gate = call.value(0);
  if (call.real("alpha", 1) != 1) gate = call.op("aten::mul", {call.tensor("self", 0)});
  gate = call.op("aten::silu", {call.tensor_of("self", gate)});
  return call.answer("aten::mul", {call.tensor_of("self", gate), call.tensor("other", 1)});
}

bool prelu(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0), call.tensor("weight", 1)});
}

bool gelu(OnnxCall& call, std::string_view aten) {
  return call.answer(aten,
                     {call.tensor("self", 0), call.word("approximate", call.text("approximate", "none"))});
}

// x / (1 + |x|)
bool softsign(OnnxCall& call, std::string_view) {
  const auto size = call.op("aten::abs", {call.tensor("self", 0)});
  const auto below = call.op("aten::add", {call.tensor_of("self", size), call.number("other", 1)});
  return call.answer("aten::div", {call.tensor("self", 0), call.tensor_of("other", below)});
}

bool softmax(OnnxCall& call, std::string_view aten) {
  const auto axis = call.integer("axis", call.opset() >= 13 ? -1 : 1);
  return call.answer(aten, {call.tensor("self", 0), call.number("dim", axis)});
}

bool dropout(OnnxCall& call, std::string_view aten) {
  const auto* training = call.single_number(2);
  const bool drops = training != nullptr && training->integer(0) != 0;
  call.answer(aten, {call.tensor("input", 0), call.real_number("p", 0.5), call.flag("train", drops)});
  if (call.wants(1))
    call.result(1, call.op("aten::ones_like", {call.tensor("self", 0)}, {call.shape(0), DType::kBool}));
  return true;
}

bool cumulative(OnnxCall& call, std::string_view aten) {
  const auto* axis = call.single_number(1);
  return call.answer(aten,
                     {call.tensor("self", 0), call.number("dim", axis != nullptr ? axis->integer(0) : 0)});
}

// --- Reductions

struct Reduction {
  Shape shape;
  std::vector<std::int64_t> axes;
  bool keeps = true;
};

std::optional<Reduction> reduction(const OnnxCall& call) {
  Reduction out{.shape = {}, .axes = {}, .keeps = call.integer("keepdims", 1) != 0};
  const auto axes = call.integers("axes", 1);
  if (call.has(1) && !axes) {  // not known: as far as the file says what comes out
    const auto shape = call.declared_shape(0, false);
    if (!shape) return std::nullopt;
    out.shape = *shape;
    return out;
  }
  if ((!axes || axes->empty()) && call.integer("noop_with_empty_axes", 0) != 0) {
    out.shape = call.shape(0);
    return out;
  }
  std::vector<bool> folded(call.shape(0).size(), !axes || axes->empty());
  const auto named = axes_of(axes.value_or(Shape{}), folded.size());
  if (!named) return std::nullopt;
  for (const auto axis : *named) folded[axis] = true;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    if (folded[i]) out.axes.push_back(static_cast<std::int64_t>(i));
    if (!folded[i] || out.keeps) out.shape.push_back(folded[i] ? 1 : call.shape(0)[i]);
  }
  return out;
}

bool reduce(OnnxCall& call, std::string_view aten) {
  const auto r = reduction(call);
  return r && call.answer(aten,
                          {call.tensor("self", 0), call.list("dim", r->axes), call.flag("keepdim", r->keeps)},
                          {r->shape});
}

// A norm over axes: |x|, x^2 and root, as linalg_vector_norm counts it.
bool reduce_norm(OnnxCall& call, std::string_view aten) {
  const auto r = reduction(call);
  const int order = call.node().op_type == "ReduceL1" ? 1 : 2;
  return r && call.answer(aten,
                          {call.tensor("self", 0), call.number("ord", order), call.list("dim", r->axes),
                           call.flag("keepdim", r->keeps)},
                          {r->shape});
}

// First an elementwise op, then the sum; or the sum and then its logarithm.
bool reduce_in_two(OnnxCall& call, std::string_view) {
  const auto r = reduction(call);
  if (!r) return false;
  const bool squares = call.node().op_type == "ReduceSumSquare";
  auto x = call.value(0);
  if (squares) x = call.op("aten::mul", {call.tensor_of("self", x), call.tensor_of("other", x)});
  const OnnxOutput out{r->shape};
  const auto total = call.op(
      "aten::sum", {call.tensor_of("self", x), call.list("dim", r->axes), call.flag("keepdim", r->keeps)},
      call.settle(0, out));
  call.result(0,
              squares ? total : call.op("aten::log", {call.tensor_of("self", total)}, call.settle(0, out)));
  return true;
}

bool arg_reduce(OnnxCall& call, std::string_view aten) {
  const auto axis = call.axis(0);
  if (!axis) return false;
  Shape shape = call.shape(0);
  const bool keeps = call.integer("keepdims", 1) != 0;
  if (keeps)
    shape[*axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  return call.answer(aten, {call.tensor("self", 0), call.number("dim", *axis), call.flag("keepdim", keeps)},
                     {shape, DType::kInt64});
}

// Ops of one tensor whose name in ATen is ONNX's in small letters.
constexpr std::string_view kSameNames[] = {
    "Abs",       "Acos", "Acosh", "Asin", "Asinh",      "Atan", "Atanh", "Ceil",
    "Celu",      "Cos",  "Cosh",  "Elu",  "Erf",        "Exp",  "Floor", "HardSigmoid",
    "HardSwish", "Log",  "Mish",  "Neg",  "Reciprocal", "Relu", "Round", "Selu",
    "Sigmoid",   "Sign", "Sin",   "Sinh", "Softplus",   "Sqrt", "Tan",   "Tanh"};
static_assert(std::ranges::is_sorted(kSameNames));

constexpr auto kPointwiseRules = std::to_array<OnnxRule>({
    {"Add", binary, "aten::add"},
    {"And", compare, "aten::logical_and"},
    {"ArgMax", arg_reduce, "aten::argmax"},
    {"ArgMin", arg_reduce, "aten::argmin"},
    {"Bernoulli", made_like, "aten::bernoulli"},
    {"BitCast", cast, "aten::view"},
    {"BitShift", shift},
    {"BitwiseAnd", binary, "aten::bitwise_and"},
    {"BitwiseNot", unary, "aten::bitwise_not"},
    {"BitwiseOr", binary, "aten::bitwise_or"},
    {"BitwiseXor", binary, "aten::bitwise_xor"},
    {"Cast", cast, "aten::to"},
    {"CastLike", cast_like, "aten::to", 2, true},
    {"Clip", clip},
    {"CumProd", cumulative, "aten::cumprod"},
    {"CumSum", cumulative, "aten::cumsum"},
    {"Div", binary, "aten::div"},
    {"Dropout", dropout, "aten::dropout"},
    {"Equal", compare, "aten::eq"},
    {"EyeLike", made_like, "aten::eye"},
    {"Gelu", gelu, "aten::gelu"},
    {"Greater", compare, "aten::gt"},
    {"GreaterOrEqual", compare, "aten::ge"},
    {"Identity", unary, "aten::alias"},
    {"IsInf", to_bool, "aten::isinf"},
    {"IsNaN", to_bool, "aten::isnan"},
    {"LeakyRelu", unary, "aten::leaky_relu"},
    {"Less", compare, "aten::lt"},
    {"LessOrEqual", compare, "aten::le"},
    {"LogSoftmax", softmax, "aten::log_softmax"},
    {"Max", variadic, "aten::maximum"},
    {"Mean", variadic, "aten::add"},
    {"Min", variadic, "aten::minimum"},
    {"Mod", binary, "aten::remainder"},
    {"Mul", binary, "aten::mul"},
    {"Not", to_bool, "aten::logical_not"},
    {"Or", compare, "aten::logical_or"},
    {"PRelu", prelu, "aten::prelu", 2},
    {"Pow", power, "aten::pow", 2},
    {"RandomNormalLike", made_like, "aten::randn_like"},
    {"RandomUniformLike", made_like, "aten::rand_like"},
    {"ReduceL1", reduce_norm, "aten::linalg_vector_norm"},
    {"ReduceL2", reduce_norm, "aten::linalg_vector_norm"},
    {"ReduceLogSum", reduce_in_two},
    {"ReduceLogSumExp", reduce, "aten::logsumexp"},
    {"ReduceMax", reduce, "aten::amax"},
    {"ReduceMean", reduce, "aten::mean"},
    {"ReduceMin", reduce, "aten::amin"},
    {"ReduceProd", reduce, "aten::prod"},
    {"ReduceSum", reduce, "aten::sum"},
    {"ReduceSumSquare", reduce_in_two},
    {"ReverseSequence", unary, "aten::flip"},
    {"Shrink", unary, "aten::softshrink"},
    {"Softmax", softmax, "aten::softmax"},
    {"Softsign", softsign},
    {"Sub", binary, "aten::sub"},
    {"Sum", variadic, "aten::add"},
    {"SwiGLU", swiglu, {}, 2},
    {"Swish", unary, "aten::silu"},
    {"ThresholdedRelu", unary, "aten::threshold"},
    {"Where", where, "aten::where", 3},
    {"Xor", compare, "aten::logical_xor"},
});
static_assert(std::ranges::is_sorted(kPointwiseRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_pointwise_rules() { return kPointwiseRules; }

bool apply_same_name(OnnxCall& call) {
  const auto type = call.node().op_type;
  return call.has(0) && std::ranges::binary_search(kSameNames, type) &&
         unary(call, "aten::" + lower_case(type));
}

}  // namespace opscope
