// Activation functions: n elements, flops and specials by the letter of each definition. Dropout is here too;
// in eval it returns its input.
#include "ops/families.h"
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

MaybeWork rrelu(const OpCall& call) { return pointwise<2>(call); }

constexpr Family row{.category = Category::kActivation, .fusion = Fusion::kPointwise};

constexpr OpRule dropout_row(std::string_view name) {
  return {.name = name,
          .category = Category::kRandom,
          .fusion = Fusion::kPointwise,
          .work = dropout,
          .traffic = dropout_traffic,
          .formula = "2*n flops (compare, scale); in eval nothing"};
}

constexpr OpRow kRules[] = {
    dropout_row("aten::_fused_dropout"),
    row("aten::_prelu_kernel", pointwise<2>, "2*n flops (compare, multiply)"),
    dropout_row("aten::alpha_dropout") | kMayReturnInput,
    row("aten::celu", pointwise<3, 1>, "3*n flops (compare, divide, multiply) + n exps") | kInPlaceSwitch,
    dropout_row("aten::dropout") | kMayReturnInput | kInPlaceSwitch,
    row("aten::elu", pointwise<3, 1>, "3*n flops (compare, two multiplies) + n exps") | kInPlaceSwitch,
    dropout_row("aten::feature_alpha_dropout") | kMayReturnInput,
    dropout_row("aten::feature_dropout") | kMayReturnInput,
    row("aten::gelu", gelu, "4*n flops + n erfs, or 8*n flops + n tanhs") | kHasInPlace,
    row("aten::glu", pointwise<4, 1>, "4*n flops (sigmoid, multiply) + n exps"),
    row("aten::hardshrink", pointwise<2>, "2*n compares"),
    row("aten::hardsigmoid", pointwise<4>, "4*n flops (add, two compares, divide)") | kInPlaceSwitch,
    row("aten::hardswish", pointwise<5>, "5*n flops (add, two compares, multiply, divide)") | kInPlaceSwitch,
    row("aten::hardtanh", pointwise<2>, "2*n compares") | kInPlaceSwitch,
    row("aten::leaky_relu", pointwise<2>, "2*n flops (compare, multiply)") | kInPlaceSwitch,
    row("aten::log_sigmoid", pointwise<4, 2>, "4*n flops (min, abs, negate, subtract) + n exps + n logs"),
    row("aten::log_sigmoid_forward", pointwise<4, 2>,
        "4*n flops (min, abs, negate, subtract) + n exps + n logs"),
    row("aten::mish", pointwise<1, 3>, "n multiplies + n exps + n logs + n tanhs") | kInPlaceSwitch,
    dropout_row("aten::native_dropout"),
    row("aten::prelu", pointwise<2>, "2*n flops (compare, multiply)"),
    row("aten::relu", pointwise<1>, "n compares") | kInPlaceSwitch,
    row("aten::relu6", pointwise<2>, "2*n compares") | kInPlaceSwitch,
    row("aten::rrelu", rrelu, "2*n flops (compare, multiply)") | kInPlaceSwitch,
    row("aten::rrelu_with_noise", rrelu, "2*n flops (compare, multiply)"),
    row("aten::selu", pointwise<3, 1>, "3*n flops (compare, two multiplies) + n exps") | kInPlaceSwitch,
    row("aten::sigmoid", pointwise<3, 1>, "3*n flops (negate, add, divide) + n exps") | kHasInPlace,
    row("aten::silu", pointwise<4, 1>, "4*n flops (sigmoid, multiply) + n exps") | kInPlaceSwitch,
    row("aten::softplus", pointwise<3, 2>, "3*n flops (multiply, divide, compare) + n exps + n logs"),
    row("aten::softshrink", pointwise<3>, "3*n flops (two compares, subtract)"),
    row("aten::special_expit", pointwise<3, 1>, "3*n flops (negate, add, divide) + n exps"),
    row("aten::tanh", pointwise_special, "n tanhs") | kHasInPlace,
    row("aten::threshold", pointwise<1>, "n compares") | kInPlaceSwitch,
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> activation_rules() { return kRules; }

}  // namespace opscope
