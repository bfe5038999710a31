// Quantised ops. Packed weights are seen as the tensors inside them; where a capture has none, a product's
// inner size comes from its input, and a convolution's window is unknown.
#include "ops/rules.h"

namespace opscope {
namespace {

// [.., k] by a packed [n, k]; each result gets a bias and a scale, and kExtra more.
template <unsigned kExtra>
MaybeWork packed_linear(const OpCall& call) {
  const TensorView* x = call.tensor("X");
  if (x == nullptr || x->rank() == 0 || call.outputs.empty() || call.outputs[0].rank() == 0)
    return std::nullopt;
  const TensorView& out = call.outputs[0];
  return Work{.macs = x->numel * Count{out.dim(-1)}, .other_flops = out.numel * (2 + kExtra)};
}

Letters linear_letters(const OpCall& call) {
  const TensorView* x = call.tensor("X");
  if (x == nullptr || call.outputs.empty()) return {};
  const TensorView& out = call.outputs[0];
  return {{"m", out.numel / Count{out.dim(-1)}}, {"k", x->dim(-1)}, {"n", out.dim(-1)}};
}

// The elements of one filter of the packed [k, c/g, ..].
std::optional<Count> packed_filter(const OpCall& call) {
  const TensorView* weight = either(call, "packed_weight", "weight");
  if (weight == nullptr || weight->rank() < 3 || weight->dim(0) <= 0 || call.outputs.empty())
    return std::nullopt;
  return weight->numel / Count{weight->dim(0)};
}

// Each result is a product with one filter, then a bias, a scale and kExtra more.
template <unsigned kExtra>
MaybeWork packed_conv(const OpCall& call) {
  const auto w = packed_filter(call);
  if (!w) return std::nullopt;
  const Count n = call.outputs[0].numel;
  return Work{.macs = n * *w, .other_flops = n * (2 + kExtra)};
}

Letters conv_letters(const OpCall& call) {
  const auto w = packed_filter(call);
  return w ? Letters{{"n", call.outputs[0].numel}, {"w", *w}} : Letters{};
}

// bitsandbytes: [.., k] by a weight of n rows that is packed in one column, and dequantised on the way; a
// bias.
MaybeWork four_bit_product(const OpCall& call) {
  const TensorView* x = call.tensor("A");
  if (x == nullptr || x->rank() == 0 || call.outputs.empty() || call.outputs[0].rank() == 0)
    return std::nullopt;
  const TensorView& out = call.outputs[0];
  return Work{
      .macs = x->numel * Count{out.dim(-1)},
      .other_flops = Count{x->dim(-1)} * Count{out.dim(-1)} + (call.has("bias") ? out.numel : Count{})};
}

// [.., k] by [n, k] in int8; kScales multiplies for each result, and a bias.
template <unsigned kScales>
MaybeWork int8_product(const OpCall& call) {
  const TensorView *a = call.tensor("A"), *b = call.tensor("B");
  if (a == nullptr || b == nullptr || b->rank() != 2 || a->rank() == 0 || a->dim(-1) != b->dim(1) ||
      call.outputs.empty())
    return std::nullopt;
  const Count n = call.outputs[0].numel;
  return Work{.macs = a->numel * Count{b->dim(0)}, .other_flops = n * (kScales + (call.has("bias") ? 1 : 0))};
}

MaybeWork scaled_back(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  return Work{.other_flops = call.outputs[0].numel * (call.has("bias") ? 3 : 2)};
}

Letters product_letters(const OpCall& call) {
  const TensorView* x = call.tensor("A");
  if (x == nullptr || call.outputs.empty()) return {};
  const TensorView& out = call.outputs[0];
  return {{"m", out.numel / Count{out.dim(-1)}},
          {"k", x->dim(-1)},
          {"n", out.dim(-1)},
          {"c", call.has("bias") ? 1 : 0}};
}

constexpr Family row{.category = Category::kQuantised, .fusion = Fusion::kPointwise};

// A product with packed weights, whose sizes are read back from them.
template <LettersFunction kLetters>
constexpr Family packed_row{.category = Category::kQuantised,
                            .fusion = Fusion::kAnchor,
                            .confidence = Confidence::kEstimated,
                            .letters = kLetters};
constexpr auto linear_row = packed_row<linear_letters>;
constexpr auto conv_row = packed_row<conv_letters>;
constexpr auto product_row = packed_row<product_letters>;

constexpr std::string_view kConv = "n*w MACs, w the elements of a filter, + 6*n flops (bias, quantise)";
constexpr std::string_view kConvRelu =
    "n*w MACs, w the elements of a filter, + 7*n flops (bias, compare, quantise)";

// How libraries store a KV cache differs, and none of them is asked.
constexpr Family kv_row{
    .category = Category::kQuantised, .fusion = Fusion::kPointwise, .confidence = Confidence::kEstimated};

constexpr OpRow kRows[] = {
    row("aten::_choose_qparams_per_tensor", per_input<2>, "2*m compares"),
    row("aten::_fused_moving_avg_obs_fq_helper aten::fused_moving_avg_obs_fake_quant", pointwise<9>,
        "9*n flops (minimum, maximum, quantise and back)"),
    row("aten::dequantize", pointwise<2>, "2*n flops (subtract, multiply)"),
    row("aten::fake_quantize_per_channel_affine aten::fake_quantize_per_channel_affine_cachemask "
        "aten::fake_quantize_per_tensor_affine aten::fake_quantize_per_tensor_affine_cachemask",
        pointwise<7>, "7*n flops (quantise and back)"),
    row("aten::int_repr quantized::cat", no_work, "none"),
    row("aten::quantize_per_channel aten::quantize_per_tensor aten::quantize_per_tensor_dynamic",
        pointwise<5>, "5*n flops (scale, round, shift, two compares)"),
    row("bitsandbytes::dequantize_4bit bitsandbytes::dequantize_blockwise", pointwise<1>, "n multiplies"),
    product_row("bitsandbytes::gemm_4bit bitsandbytes::gemv_4bit", four_bit_product,
                "m*k*n MACs + k*n multiplies (dequantise) + c*m*n adds (bias)"),
    product_row("bitsandbytes::int8_linear_matmul", int8_product<0>, "m*k*n MACs"),
    row("bitsandbytes::int8_mm_dequant", scaled_back, "2*n multiplies, and n adds with a bias"),
    product_row("bitsandbytes::int8_scaled_mm", int8_product<2>,
                "m*k*n MACs + 2*m*n multiplies (scales) + c*m*n adds (bias)"),
    row("bitsandbytes::int8_vectorwise_dequant", pointwise<2>, "2*n multiplies"),
    row("bitsandbytes::int8_vectorwise_quant", per_input<4>,
        "4*m flops (absolute value, compare, scale, round)"),
    kv_row("opscope::kv_decode", pointwise<2>, "2*n flops (scale, shift)"),
    kv_row("opscope::kv_encode", per_input<7>, "7*m flops (extremes, subtract, scale, round, two compares)"),
    row("quantized::add", pointwise<10>, "4*n dequantise, n adds, 5*n quantise"),
    row("quantized::add_relu", pointwise<11>, "as add, and a compare"),
    row("quantized::batch_norm2d", pointwise<9>, "2*n dequantise, 2*n flops (scale, shift), 5*n quantise"),
    conv_row("quantized::conv1d quantized::conv2d quantized::conv3d", packed_conv<4>, kConv),
    conv_row("quantized::conv1d_relu quantized::conv2d_relu quantized::conv3d_relu", packed_conv<5>,
             kConvRelu),
    row("quantized::hardswish", pointwise<12>, "2*n dequantise, 5*n flops, 5*n quantise"),
    row("quantized::leaky_relu", pointwise<9>, "2*n dequantise, 2*n flops, 5*n quantise"),
    linear_row("quantized::linear", packed_linear<4>, "m*k*n MACs + 6*m*n flops (bias, quantise)"),
    linear_row("quantized::linear_dynamic quantized::linear_dynamic_fp16", packed_linear<0>,
               "m*k*n MACs + 2*m*n flops (bias, scale)"),
    linear_row("quantized::linear_relu", packed_linear<5>,
               "m*k*n MACs + 7*m*n flops (bias, compare, quantise)"),
    linear_row("quantized::linear_relu_dynamic", packed_linear<1>,
               "m*k*n MACs + 3*m*n flops (bias, scale, compare)"),
    row("quantized::mul", pointwise<10>, "4*n dequantise, n multiplies, 5*n quantise"),
    row("quantized::mul_relu", pointwise<11>, "as mul, and a compare"),
    row("quantized::sigmoid", pointwise<10, 1>, "2*n dequantise, 3*n flops + n exps, 5*n quantise"),
};

}  // namespace

std::span<const OpRow> quantised_rules() { return kTable<kRows>; }

}  // namespace opscope
