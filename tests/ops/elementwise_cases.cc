// Ops whose work is a fixed number of flops and specials for each element, grouped by that number. Written
// from each op's definition and docs/conventions.md: what is computed for one element, operation by
// operation.
#include "ops/op_case.h"

namespace opscope {
namespace {

using Names = std::vector<std::string_view>;

// One add, multiply, divide, compare, select, rounding, sign or bit operation.
const Names kOneFlop = {
    "abs",
    "absolute",
    "add",
    "sub",
    "subtract",
    "rsub",
    "mul",
    "multiply",
    "square",
    "div",
    "divide",
    "true_divide",
    "reciprocal",
    "neg",
    "negative",
    "conj_physical",
    "_conj_physical",
    "deg2rad",
    "rad2deg",
    // compares and selects
    "eq",
    "ne",
    "not_equal",
    "lt",
    "less",
    "le",
    "less_equal",
    "gt",
    "greater",
    "ge",
    "greater_equal",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "clamp_min",
    "clamp_max",
    "clamp",
    "clip",
    "where",
    "masked_fill",
    "isnan",
    "isinf",
    "isposinf",
    "isneginf",
    "isfinite",
    "isreal",
    "heaviside",
    "relu",
    "threshold",
    "threshold_backward",
    "bernoulli",
    "equal",
    "nonzero",
    "nonzero_numpy",
    "nonzero_static",
    "argwhere",
    // rounding, signs, parts of a float
    "floor",
    "ceil",
    "round",
    "trunc",
    "fix",
    "sign",
    "sgn",
    "signbit",
    "copysign",
    "frexp",
    "nextafter",
    // bits and truth
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "__and__",
    "__or__",
    "__xor__",
    "__lshift__",
    "__rshift__",
    "__iand__",
    "__ior__",
    "__ixor__",
    "__ilshift__",
    "__irshift__",
    "gcd",
    "lcm",
    // running folds, and gradients that are added where they came from
    "cumsum",
    "cumprod",
    "cummax",
    "cummin",
    "bincount",
    "embedding_backward",
    "embedding_dense_backward",
    "index_select_backward",
    "masked_select_backward",
    "unfold_backward",
    "max_pool2d_with_indices_backward",
    "max_pool3d_with_indices_backward",
    "adaptive_max_pool2d_backward",
    "adaptive_max_pool3d_backward",
    "upsample_nearest1d_backward",
    "upsample_nearest2d_backward",
    "upsample_nearest3d_backward",
    "fractional_max_pool2d_backward",
    "fractional_max_pool3d_backward",
    "reflection_pad1d_backward",
    "reflection_pad2d_backward",
    "reflection_pad3d_backward",
    "replication_pad1d_backward",
    "replication_pad2d_backward",
    "replication_pad3d_backward",
    "rrelu_with_noise_backward",
    // over lists
    "_foreach_abs",
    "_foreach_add",
    "_foreach_sub",
    "_foreach_mul",
    "_foreach_div",
    "_foreach_neg",
    "_foreach_reciprocal",
    "_foreach_sign",
    "_foreach_maximum",
    "_foreach_minimum",
    "_foreach_clamp_min",
    "_foreach_clamp_max",
};

// One special function.
const Names kOneSpecial = {
    "exp",
    "exp2",
    "expm1",
    "special_exp2",
    "special_expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "special_log1p",
    "sqrt",
    "rsqrt",
    "pow",
    "float_power",
    "sin",
    "cos",
    "tan",
    "asin",
    "arcsin",
    "acos",
    "arccos",
    "atan",
    "arctan",
    "atan2",
    "arctan2",
    "angle",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "erfinv",
    "special_erf",
    "special_erfc",
    "special_ndtri",
    "lgamma",
    "special_gammaln",
    "digamma",
    "special_digamma",
    "polygamma",
    "igamma",
    "igammac",
    "i0",
    "special_i0e",
    "special_i1",
    "special_i1e",
    "binomial",
    "poisson",
    "_foreach_exp",
    "_foreach_rsqrt",
    "_foreach_sqrt",
    "_foreach_pow",
    "special_airy_ai",
    "special_bessel_j0",
    "special_bessel_j1",
    "special_bessel_y0",
    "special_bessel_y1",
    "special_erfcx",
    "special_modified_bessel_i0",
    "special_modified_bessel_i1",
    "special_modified_bessel_k0",
    "special_modified_bessel_k1",
    "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1",
    "special_zeta",
};

const std::vector<ElementwiseGroup>& groups() {
  static const std::vector<ElementwiseGroup> kGroups = {
      {1, 0, kOneFlop},
      {0, 1, kOneSpecial},
      // a + b*c, a + b/c
      {2, 0, {"addcmul", "addcdiv", "_foreach_addcmul", "_foreach_addcdiv"}},
      // floor(a/b), x - trunc(x)
      {2, 0, {"floor_divide", "frac"}},
      // two bounds
      {2,
       0,
       {"hardtanh", "relu6", "hardshrink", "hardtanh_backward", "softshrink_backward",
        "hardshrink_backward"}},
      // x > 0 ? x : a*x
      {2, 0, {"leaky_relu", "prelu", "_prelu_kernel", "rrelu", "rrelu_with_noise", "leaky_relu_backward"}},
      // keep or not, and the scale
      {2,
       0,
       {"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "native_dropout",
        "_fused_dropout", "native_dropout_backward"}},
      // mean + deviation*z; (q - zero)*scale; smallest and largest so far; cumulative sum and scale;
      // selection
      {2,
       0,
       {"normal", "dequantize", "opscope::kv_decode", "_choose_qparams_per_tensor", "multinomial", "median",
        "nanmedian"}},
      // p - rate*g; finite or not, and the scale
      {2, 0, {"_fused_sgd", "_amp_foreach_non_finite_check_and_unscale"}},
      // a + w*(b - a); a1*b2 - a2*b1; NaN and the two infinities
      {1, 1, {"special_spherical_bessel_j0"}},
      {3, 2, {"special_log_ndtr"}},
      {3, 0, {"lerp", "_foreach_lerp", "cross", "linalg_cross", "nan_to_num"}},
      // |x| > l ? x -+ l : 0
      {3, 0, {"softshrink"}},
      // g*(1 - y)*y; g*(1 - y*y); 2*(x - t)*g; two bounds and g/6; a compare and two products
      {3,
       0,
       {"sigmoid_backward", "tanh_backward", "mse_loss_backward", "hardsigmoid_backward",
        "_prelu_kernel_backward"}},
      // a - round(a/b)*b
      {4, 0, {"fmod", "remainder"}},
      // clamp(x + 3, 0, 6)/6
      {4, 0, {"hardsigmoid"}},
      // two taps of a weight and an add
      {4, 0, {"upsample_linear1d_backward"}},
      // x*clamp(x + 3, 0, 6)/6; its gradient: two bounds, (x/3 + 0.5)*g
      {5, 0, {"hardswish", "hardswish_backward"}},
      // clamp((x - t)/beta, -1, 1)*g
      {5, 0, {"smooth_l1_loss_backward", "huber_loss_backward"}},
      // clamp(round(x/scale) + zero, lowest, highest)
      {5, 0, {"quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic"}},
      // two bounds, (x - lowest)*scale, count
      {5, 0, {"histc"}},
      // |a - b| <= atol + rtol*|b|
      {6, 0, {"isclose"}},
      // (x - t)/max((1 - x)*x, eps)*g
      {6, 0, {"binary_cross_entropy_backward"}},
      // quantise (5) and back (2)
      {7,
       0,
       {"fake_quantize_per_tensor_affine", "fake_quantize_per_tensor_affine_cachemask",
        "fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask",
        "opscope::kv_encode"}},
      // the same after a minimum and a maximum
      {9, 0, {"fused_moving_avg_obs_fake_quant", "_fused_moving_avg_obs_fq_helper"}},
      // 4, 8 and 16 taps of a weight and an add
      {8, 0, {"upsample_bilinear2d_backward"}},
      {16, 0, {"upsample_trilinear3d_backward"}},
      {32, 0, {"upsample_bicubic2d_backward"}},
      // two sums of products, the input's gradient and the affine ones
      {13,
       0,
       {"native_batch_norm_backward", "cudnn_batch_norm_backward", "batch_norm_backward",
        "native_layer_norm_backward", "native_group_norm_backward", "_fused_rms_norm_backward"}},
      // x*log(y), x*2^e
      {1, 1, {"xlogy", "special_xlogy", "special_xlog1py", "ldexp"}},
      // log(x/(1 - x)); sin(pi*x)/(pi*x); -x*log(x)
      {2, 1, {"logit", "special_logit", "sinc", "special_entr"}},
      // r*cos(a), r*sin(a)
      {2, 2, {"polar"}},
      // 1/(1 + exp(-x)); sqrt(a*a + b*b); 0.5*(1 + erf(x*c))
      {3, 1, {"sigmoid", "special_expit", "hypot", "special_ndtr"}},
      // x > 0 ? s*x : a*expm1(b*x)
      {3, 1, {"elu", "celu", "selu", "elu_backward"}},
      // the sigmoid, and a product; 0.5*x*(1 + erf(x*c))
      {4, 1, {"silu", "glu", "gelu", "log_sigmoid_backward"}},
      // b*x > limit ? g : g*z/(z + 1) with z = exp(b*x)
      {5, 1, {"softplus_backward"}},
      // b*x > limit ? x : log1p(exp(b*x))/b
      {3, 2, {"softplus"}},
      // min(x, 0) - log1p(exp(-|x|))
      {4, 2, {"log_sigmoid", "log_sigmoid_forward"}},
      // max + log1p(exp(min - max))
      {4, 2, {"logaddexp", "logaddexp2", "logcumsumexp"}},
      // x*tanh(log1p(exp(x)))
      {1, 3, {"mish"}},
      // g*s*(1 + x*(1 - s)) after s = sigmoid(x)
      {8, 1, {"silu_backward"}},
      // g*(cdf + x*pdf): cdf = 0.5*(1 + erf(x*c)), pdf = c*exp(-0.5*x*x)
      {9, 2, {"gelu_backward"}},
      // g*(t + x*s*(1 - t*t)): t = tanh(log1p(exp(x))), s = sigmoid(x)
      {9, 4, {"mish_backward"}},
      // h + g*g, p - rate*g/(sqrt(h) + eps)
      {6, 1, {"_fused_adagrad"}},
      // m + (g - m)*a, v*b + g*g*c, p - rate*m/(sqrt(v)/d + eps)
      {12, 1, {"_fused_adam", "_fused_adamw"}},
      // each input back from integers (2), the op, and to integers again (5)
      {2 + 2 + 1 + 5, 0, {"quantized::add", "quantized::mul"}},
      {2 + 2 + 2 + 5, 0, {"quantized::add_relu", "quantized::mul_relu"}},
      {2 + 2 + 5, 0, {"quantized::batch_norm2d", "quantized::leaky_relu"}},
      {2 + 5 + 5, 0, {"quantized::hardswish"}},
      {2 + 3 + 5, 1, {"quantized::sigmoid"}},
  };
  return kGroups;
}

}  // namespace

std::span<const ElementwiseGroup> elementwise_groups() { return groups(); }

}  // namespace opscope
