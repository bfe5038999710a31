// Activation functions: n elements, flops and specials by the letter of each definition. Dropout is here too;
// in eval it returns its input.
// Softmax and its kin: n elements in r rows. Maximum (n - r compares), subtract (n), exp (n), sum (n - r),
// divide (n); the logarithm subtracts the row's log instead of dividing.
#include "ops/rules.h"

namespace opscope {
namespace {

// 0.5 * x * (1 + erf(x / sqrt 2)), or with tanh(c * (x + 0.044715 * x^3)) in place of erf.
MaybeWork gelu(const OpCall& call) {
  return call.string("approximate") == "tanh" ? pointwise<8, 1>(call) : pointwise<4, 1>(call);
}

bool drops(const OpCall& call) {
  return call.boolean("train").value_or(call.boolean("training").value_or(true));
}

// A random number against p, then the scale: one compare and one multiply.
MaybeWork dropout(const OpCall& call) { return drops(call) ? pointwise<2>(call) : no_work(call); }

MaybeTraffic dropout_traffic(const OpCall& call) {
  return drops(call) ? default_traffic(call) : copy_or_view(call);
}

constexpr Family row{.category = Category::kActivation, .fusion = Fusion::kPointwise};

constexpr OpRow dropout_row(std::string_view name) {
  constexpr Family kDropout{
      .category = Category::kRandom, .fusion = Fusion::kPointwise, .traffic = dropout_traffic};
  return kDropout(name, dropout, "2*n flops (compare, scale); in eval nothing");
}

struct Rows {
  Count n, r;
  Letters letters() const { return {{"n", n}, {"r", r}}; }
};

std::optional<Rows> rows_of(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  const TensorView& x = call.inputs[0];
  const std::int64_t dim = call.integer("dim").value_or(-1), rank = static_cast<std::int64_t>(x.rank());
  if (rank != 0 && (dim < -rank || dim >= rank)) return std::nullopt;
  return Rows{x.numel, x.numel / Count{x.dim(dim)}};
}

// kMask: flops per element before the softmax. kLog: logarithms per row.
template <unsigned kMask, unsigned kLog>
MaybeWork softmax(const OpCall& call) {
  const auto rows = rows_of(call);
  if (!rows) return std::nullopt;
  return Work{.other_flops = rows->n * (4 + kMask) - rows->r * 2, .specials = rows->n + rows->r * kLog};
}

// With y the result: the row's sum of g*y is taken from g, times y. With y a logarithm: the
// row's sum of g, times exp(y), is taken from g.
template <unsigned kFlops, unsigned kSpecials>
MaybeWork softmax_backward(const OpCall& call) {
  const auto rows = rows_of(call);
  if (!rows) return std::nullopt;
  return Work{.other_flops = rows->n * kFlops - rows->r, .specials = rows->n * kSpecials};
}

constexpr Family softmax_row{
    .category = Category::kSoftmax, .fusion = Fusion::kReduction, .letters = letters_from<rows_of>};

constexpr std::string_view kSoftmax = "4*n - 2*r flops (max, subtract, sum, divide) + n exps";
constexpr std::string_view kLogSoftmax = "4*n - 2*r flops (max, subtract, sum, subtract) + n exps + r logs";
constexpr std::string_view kMasked = "5*n - 2*r flops (mask, max, subtract, sum, divide) + n exps";

constexpr OpRow kRows[] = {
    dropout_row("aten::_fused_dropout aten::native_dropout"),
    softmax_row("aten::_log_softmax aten::log_softmax aten::special_log_softmax", softmax<0, 1>, kLogSoftmax),
    softmax_row("aten::_log_softmax_backward_data", softmax_backward<3, 1>,
                "3*n - r flops (sum, multiply, subtract) + n exps"),
    softmax_row("aten::_masked_softmax aten::_safe_softmax", softmax<1, 0>, kMasked),
    row("aten::_prelu_kernel aten::prelu aten::rrelu_with_noise", pointwise<2>,
        "2*n flops (compare, multiply)"),
    softmax_row("aten::_softmax aten::softmax", softmax<0, 0>, kSoftmax) | kSoftmaxItself,
    softmax_row("aten::_softmax_backward_data", softmax_backward<4, 0>,
                "4*n - r flops (multiply, sum, subtract, multiply)"),
    dropout_row("aten::alpha_dropout aten::feature_alpha_dropout aten::feature_dropout") | kMayReturnInput,
    row("aten::celu", pointwise<3, 1>, "3*n flops (compare, divide, multiply) + n exps") | kInPlaceSwitch,
    dropout_row("aten::dropout") | kMayReturnInput | kInPlaceSwitch,
    row("aten::elu aten::selu", pointwise<3, 1>, "3*n flops (compare, two multiplies) + n exps") |
        kInPlaceSwitch,
    row("aten::gelu", gelu, "4*n flops + n erfs, or 8*n flops + n tanhs") | kHasInPlace | kCopiedInPlace,
    row("aten::glu", pointwise<4, 1>, "4*n flops (sigmoid, multiply) + n exps"),
    row("aten::hardshrink", pointwise<2>, "2*n compares"),
    row("aten::hardsigmoid", pointwise<4>, "4*n flops (add, two compares, divide)") | kInPlaceSwitch |
        kCopiedInPlace,
    row("aten::hardswish", pointwise<5>, "5*n flops (add, two compares, multiply, divide)") | kInPlaceSwitch |
        kCopiedInPlace,
    row("aten::hardtanh aten::relu6", pointwise<2>, "2*n compares") | kInPlaceSwitch | kCopiedInPlace,
    row("aten::leaky_relu aten::rrelu", pointwise<2>, "2*n flops (compare, multiply)") | kInPlaceSwitch,
    row("aten::log_sigmoid aten::log_sigmoid_forward", pointwise<4, 2>,
        "4*n flops (min, abs, negate, subtract) + n exps + n logs"),
    row("aten::mish", pointwise<1, 3>, "n multiplies + n exps + n logs + n tanhs") | kInPlaceSwitch |
        kCopiedInPlace,
    row("aten::relu", pointwise<1>, "n compares") | kInPlaceSwitch,
    row("aten::sigmoid", pointwise<3, 1>, "3*n flops (negate, add, divide) + n exps") | kHasInPlace,
    row("aten::silu", pointwise<4, 1>, "4*n flops (sigmoid, multiply) + n exps") | kInPlaceSwitch |
        kCopiedInPlace,
    row("aten::softplus", pointwise<3, 2>, "3*n flops (multiply, divide, compare) + n exps + n logs"),
    row("aten::softshrink", pointwise<3>, "3*n flops (two compares, subtract)"),
    row("aten::special_expit", pointwise<3, 1>, "3*n flops (negate, add, divide) + n exps"),
    softmax_row("aten::special_softmax", softmax<0, 0>, kSoftmax),
    row("aten::tanh", pointwise_special, "n tanhs") | kHasInPlace,
    row("aten::threshold", pointwise<1>, "n compares") | kInPlaceSwitch | kCopiedInPlace,
};

}  // namespace

std::span<const OpRow> activation_rules() { return kTable<kRows>; }

}  // namespace opscope
