// Gradients of common ops, as autograd runs them. n elements of the gradient returned first, m of the
// gradient given. Convolution's is with the convolutions, attention's with attention.
#include "ops/rules.h"

namespace opscope {
namespace {

MaybeWork gelu_backward(const OpCall& call) {
  return call.string("approximate") == "tanh" ? pointwise<17, 1>(call) : pointwise<9, 2>(call);
}

// Of a*s with s = sigmoid(b): s, g*s, and g*s*a*(1 - s), for n/2 pairs of a and b.
MaybeWork glu_backward(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const Count pairs = call.outputs[0].numel / 2;
  return Work{.other_flops = pairs * 7, .specials = pairs};
}

// A row of the gradient is added for each index.
MaybeWork bag_backward(const OpCall& call) {
  const TensorView *grad = call.tensor("grad"), *indices = call.tensor("indices");
  if (grad == nullptr || indices == nullptr || grad->rank() != 2) return std::nullopt;
  return Work{.other_flops = indices->numel * Count{grad->dim(1)}};
}

// Only the picked scores have a gradient.
MaybeWork target_flops(const OpCall& call) {
  const TensorView* target = call.tensor("target");
  return target != nullptr ? std::optional(Work{.other_flops = target->numel * 2}) : std::nullopt;
}

constexpr OpRow row(std::string_view name, Category category, WorkFunction work, std::string_view formula,
                    Confidence confidence = Confidence::kExact) {
  const auto fusion = category == Category::kActivation ? Fusion::kPointwise : Fusion::kBarrier;
  return Family{.category = category, .fusion = fusion, .confidence = confidence}(name, work, formula);
}

constexpr auto kActivation = Category::kActivation;
constexpr auto kNorm = Category::kNorm;
constexpr auto kPool = Category::kPool;
constexpr auto kLoss = Category::kLoss;
constexpr auto kIndex = Category::kIndex;
constexpr auto kEstimated = Confidence::kEstimated;

constexpr auto kTarget = indexes("target", Within::kClasses, "self");
constexpr auto kPlane = indexes("indices", Within::kPlane, "self");
constexpr auto kVolume = indexes("indices", Within::kVolume, "self");
constexpr auto kWeights = indexes("indices", Within::kNumber, "num_weights");

constexpr OpRow kRows[] = {
    row("aten::_embedding_bag_backward aten::_embedding_bag_dense_backward", Category::kEmbedding,
        bag_backward, "a row of adds for each index"),
    // Sums over each row of two products, then the input's gradient from them: by the usual derivation, some
    // 11 flops an element, and two more for the affine gradients.
    row("aten::_fused_rms_norm_backward aten::batch_norm_backward aten::cudnn_batch_norm_backward "
        "aten::native_batch_norm_backward aten::native_group_norm_backward aten::native_layer_norm_backward",
        kNorm, per_input<13>, "13*m flops", kEstimated),
    row("aten::_prelu_kernel_backward aten::hardsigmoid_backward aten::sigmoid_backward aten::tanh_backward",
        kActivation, pointwise<3>, "3*n flops"),
    row("aten::_weight_norm_interface_backward", kNorm, pointwise<7>, "7*n flops", kEstimated),
    row("aten::adaptive_max_pool2d_backward aten::max_pool2d_with_indices_backward", kPool, per_input<1>,
        "m adds") |
        kPlane,
    row("aten::adaptive_max_pool3d_backward aten::max_pool3d_with_indices_backward", kPool, per_input<1>,
        "m adds") |
        kVolume,
    row("aten::binary_cross_entropy_backward", kLoss, pointwise<6>, "6*n flops") | kTakesProbabilities,
    row("aten::diagonal_backward aten::select_backward aten::slice_backward", kIndex, no_work, "none"),
    row("aten::elu_backward", kActivation, pointwise<3, 1>, "3*n flops + n exps"),
    row("aten::embedding_backward aten::embedding_dense_backward", Category::kEmbedding, per_input<1>,
        "m adds") |
        kWeights,
    row("aten::fractional_max_pool2d_backward aten::fractional_max_pool3d_backward", kPool, per_input<1>,
        "m adds"),
    row("aten::gelu_backward", kActivation, gelu_backward,
        "9*n flops + n erfs + n exps, or 17*n flops + n tanhs"),
    row("aten::glu_backward", kActivation, glu_backward, "7 flops + an exp for each pair of halves"),
    row("aten::grid_sampler_2d_backward", Category::kResize, per_input<24>, "24*m flops", kEstimated),
    row("aten::grid_sampler_3d_backward", Category::kResize, per_input<64>, "64*m flops", kEstimated),
    row("aten::hardshrink_backward aten::hardtanh_backward aten::softshrink_backward", kActivation,
        pointwise<2>, "2*n compares"),
    row("aten::hardswish_backward", kActivation, pointwise<5>, "5*n flops"),
    row("aten::huber_loss_backward aten::smooth_l1_loss_backward", kLoss, pointwise<5>, "5*n flops"),
    row("aten::index_select_backward", kIndex, per_input<1>, "m adds") |
        indexes("index", Within::kListed, "self_sizes"),
    row("aten::leaky_relu_backward", kActivation, pointwise<2>, "2*n flops"),
    row("aten::log_sigmoid_backward", kActivation, pointwise<4, 1>, "4*n flops + n exps"),
    row("aten::masked_select_backward aten::reflection_pad1d_backward aten::reflection_pad2d_backward "
        "aten::reflection_pad3d_backward aten::replication_pad1d_backward aten::replication_pad2d_backward "
        "aten::replication_pad3d_backward aten::unfold_backward",
        kIndex, per_input<1>, "m adds"),
    row("aten::mish_backward", kActivation, pointwise<9, 4>, "9*n flops + 4*n specials"),
    row("aten::mse_loss_backward", kLoss, pointwise<3>, "3*n flops"),
    row("aten::native_dropout_backward", kActivation, pointwise<2>, "2*n multiplies"),
    row("aten::nll_loss2d_backward aten::nll_loss_backward", kLoss, target_flops, "2 flops for each target") |
        kTarget,
    row("aten::rrelu_with_noise_backward", kActivation, pointwise<1>, "n multiplies"),
    row("aten::silu_backward", kActivation, pointwise<8, 1>, "8*n flops + n exps"),
    row("aten::softplus_backward", kActivation, pointwise<5, 1>, "5*n flops + n exps"),
    row("aten::threshold_backward", kActivation, pointwise<1>, "n selects"),
    row("aten::upsample_bicubic2d_backward", Category::kResize, per_input<32>, "32*m flops"),
    row("aten::upsample_bilinear2d_backward", Category::kResize, per_input<8>, "8*m flops"),
    row("aten::upsample_linear1d_backward", Category::kResize, per_input<4>, "4*m flops"),
    row("aten::upsample_nearest1d_backward aten::upsample_nearest2d_backward "
        "aten::upsample_nearest3d_backward",
        Category::kResize, per_input<1>, "m adds"),
    row("aten::upsample_trilinear3d_backward", Category::kResize, per_input<16>, "16*m flops"),
};

}  // namespace

std::span<const OpRow> backward_rules() { return kTable<kRows>; }

}  // namespace opscope
