// What training adds: losses, the gradients of common ops as autograd runs them, and optimiser steps.
// Convolution's gradient is with the convolutions, attention's with attention.
#include <cmath>

#include "ops/rules.h"

namespace opscope {
namespace {

using enum Category;

// --- Losses: flops for each of the m elements, and one more where they are summed or averaged (reduction 1
// or 2)

// Class weights multiply each element; weights of the positive class are (w - 1)*t + 1, then a multiply.
template <unsigned kFlops, unsigned kSpecials = 0>
MaybeWork loss(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  const Count m = call.inputs[0].numel;
  const Count folding = call.integer("reduction").value_or(1) != 0 ? 1 : 0;
  Count weighing = call.tensor("weight") != nullptr ? 1 : 0;
  if (call.tensor("pos_weight") != nullptr) weighing += 4;
  return Work{.other_flops = m * (folding + weighing + kFlops), .specials = m * kSpecials};
}

// t targets: pick, negate (weigh), fold.
MaybeWork nll_loss(const OpCall& call) {
  const TensorView* target = call.tensor("target");
  if (target == nullptr) return std::nullopt;
  return Work{.other_flops = target->numel * (call.tensor("weight") != nullptr ? 3 : 2)};
}

// Reads one score for each target.
MaybeTraffic nll_traffic(const OpCall& call) {
  const TensorView *scores = call.tensor("self"), *target = call.tensor("target");
  if (scores == nullptr || target == nullptr) return std::nullopt;
  return read_part(call, *scores, target->numel);
}

// A sparse gradient is the rows as they come.
MaybeWork embedding_backward(const OpCall& call) {
  return call.boolean("sparse").value_or(false) ? Work{} : per_input<1>(call);
}

// Every target of a row against every other class, at most half of them targets: a quarter of c*c pairs, each
// with two subtracts, a compare and an add.
MaybeWork multilabel_margin(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  if (x == nullptr) return std::nullopt;
  return Work{.other_flops = x->numel * Count{x->dim(-1)}};
}
Letters multilabel_letters(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  return x == nullptr ? Letters{} : Letters{{"m", x->numel}, {"c", Count{x->dim(-1)}}};
}

// The scores of b rows of k for c classes, then their log-softmax; and the gradients that are made with it.
struct LinearLoss {
  Count b, k, c, products = 1;
  Work work() const {
    const Count scores = b * c;
    return {.macs = scores * k * products,
            .other_flops = scores * (products > Count{1} ? 4 : 3),
            .specials = scores + b};
  }
  Letters letters() const { return {{"b", b}, {"k", k}, {"c", c}, {"g", products}}; }
};

std::optional<LinearLoss> linear_loss_of(const OpCall& call) {
  const TensorView *x = call.tensor("input"), *weight = call.tensor("linear_weight");
  if (x == nullptr || weight == nullptr || x->rank() != 2 || weight->rank() != 2) return std::nullopt;
  LinearLoss loss{.b = x->dim(0), .k = x->dim(1), .c = weight->dim(0)};
  const bool with_gradients = call.name() == "torch_nn::_linear_cross_entropy_batch_chunked";
  for (const std::string_view gradient : {"compute_input_grad", "compute_linear_weight_grad"})
    if (with_gradients && call.boolean(gradient).value_or(false)) loss.products += 1;
  return loss;
}

// A log-softmax over n scores in r rows, then the pick; with probabilities or smoothing as targets, a
// product.
MaybeWork cross_entropy(const OpCall& call) {
  const TensorView *scores = call.tensor("self"), *target = call.tensor("target");
  if (scores == nullptr || target == nullptr || scores->rank() == 0) return std::nullopt;
  const Count n = scores->numel, r = n / Count{scores->dim(scores->rank() == 1 ? 0 : 1)};
  const bool dense = info(target->dtype).is_float || call.real("label_smoothing").value_or(0) != 0;
  const Count weighing = call.tensor("weight") != nullptr ? r : Count{};
  return Work{.other_flops = n * 4 - r * 2 + (dense ? n * 2 : Count{}) + r * 2 + weighing, .specials = n + r};
}

Letters cross_entropy_letters(const OpCall& call) {
  const TensorView* scores = call.tensor("self");
  if (scores == nullptr) return {};
  return {{"n", scores->numel}, {"r", scores->numel / Count{scores->dim(scores->rank() == 1 ? 0 : 1)}}};
}

// Steps of the forward recursion: each adds up three states in logarithms (two compares, three subtracts, two
// adds, three exps and a log), then the maximum and the score.
struct CtcCells {
  Count c;
  Work work() const { return {.other_flops = c * 9, .specials = c * 4}; }
  Letters letters() const { return {{"c", c}}; }
};

// A target of l labels has 2*l + 1 states at each time.
std::optional<CtcCells> ctc_cells(const OpCall& call) {
  const TensorView *scores = call.tensor("log_probs"), *targets = call.tensor("targets");
  if (scores == nullptr || targets == nullptr || scores->rank() < 2) return std::nullopt;
  const auto times = call.ints("input_lengths"), labels = call.ints("target_lengths");
  Count cells = 0;
  for (std::size_t i = 0; i < times.size() && i < labels.size(); ++i)
    cells += Count{times[i]} * (Count{labels[i]} * 2 + 1);
  if (!times.empty()) return CtcCells{cells};
  const Count batch = scores->rank() > 2 ? Count{scores->dim(1)} : Count{1};
  return CtcCells{Count{scores->dim(0)} * (targets->numel * 2 + batch)};
}

// The recursion backwards, as long as forward; then each cell is added to the sum of its label in logarithms
// (6 flops, 3 specials), and each of m scores gets its gradient (5 flops, 2 exps).
std::optional<Work> ctc_backward(const OpCall& call) {
  const auto cells = ctc_cells(call);
  if (!cells) return std::nullopt;
  Work work = cells->work();
  const Count m = call.tensor("log_probs")->numel;
  return work += {.other_flops = cells->c * 6 + m * 5, .specials = cells->c * 3 + m * 2};
}

Letters ctc_backward_letters(const OpCall& call) {
  const auto cells = ctc_cells(call);
  return cells ? Letters{{"c", cells->c}, {"m", call.tensor("log_probs")->numel}} : Letters{};
}

constexpr Family loss_row{.category = kLoss, .fusion = Fusion::kReduction};

// Estimated: which transitions are allowed depends on the labels.
constexpr OpRow ctc_row(std::string_view name) {
  return loss_row(name, work_from<ctc_cells>, "9*c flops + 4*c specials for c cells of the recursion") |
         letters_from<ctc_cells> | Confidence::kEstimated;
}

constexpr auto kTarget = indexes("target", Within::kClasses, "self");

// --- Gradients of distances: c coordinates of all pairs, each a difference, its gradient and an add

std::optional<Count> pair_coordinates(const OpCall& call) {
  const TensorView *x1 = call.tensor("x1"), *distances = call.tensor("cdist");
  if (x1 == nullptr || distances == nullptr || x1->rank() < 2) return std::nullopt;
  return distances->numel * Count{x1->dim(-1)};
}

// Order 1 and 2: subtract, sign or divide, multiply, add. Infinity: a compare more. Others: two powers and
// two flops more. Order 0 is flat.
MaybeWork cdist_backward(const OpCall& call) {
  const auto c = pair_coordinates(call);
  const auto p = call.real("p");
  if (!c || !p) return std::nullopt;
  if (*p == 0) return Work{};
  if (*p == 1 || *p == 2) return Work{.other_flops = *c * 4};
  if (std::isinf(*p)) return Work{.other_flops = *c * 5};
  return Work{.other_flops = *c * 6, .specials = *c * 2};
}

Letters pair_letters(const OpCall& call) {
  const auto c = pair_coordinates(call);
  return c ? Letters{{"c", *c}} : Letters{};
}

// --- Gradients: n elements of the one returned first, m of the one given

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

constexpr OpRow gradient_row(std::string_view name, Category category, WorkFunction work,
                             std::string_view formula, Confidence confidence = Confidence::kExact) {
  const auto fusion = category == kActivation ? Fusion::kPointwise : Fusion::kBarrier;
  return Family{.category = category, .fusion = fusion, .confidence = confidence}(name, work, formula);
}

constexpr auto kEstimated = Confidence::kEstimated;

constexpr auto kPlane = indexes("indices", Within::kPlane, "self");
constexpr auto kVolume = indexes("indices", Within::kVolume, "self");
constexpr auto kWeights = indexes("indices", Within::kNumber, "num_weights");

// --- Fused optimiser steps and the list-wise arithmetic that the others are made of: n elements over all
// tensors of the list

Count elements(std::span<const TensorView> tensors) {
  Count n = 0;
  for (const TensorView& tensor : tensors) n += tensor.numel;
  return n;
}

template <unsigned kFlops, unsigned kSpecials = 0>
MaybeWork each(const OpCall& call) {
  const Count n = elements(call.tensors("self"));
  return Work{.other_flops = n * kFlops, .specials = n * kSpecials};
}

// alpha, or scalars of their own, multiply one side first.
template <unsigned kFlops>
MaybeWork each_scaled(const OpCall& call) {
  const bool scaled = call.real("alpha").value_or(1) != 1 || call.real("value").value_or(1) != 1;
  return scaled || call.has("scalars") ? each<kFlops + 1>(call) : each<kFlops>(call);
}

// m elements in t tensors, folded into one number each.
MaybeWork each_max(const OpCall& call) {
  const auto tensors = call.tensors("self");
  return Work{.other_flops = elements(tensors) - tensors.size()};
}

MaybeWork each_norm(const OpCall& call) {
  if (call.real("ord").value_or(2) != 2) return std::nullopt;
  const auto tensors = call.tensors("self");
  const Count n = elements(tensors), t = tensors.size();
  return Work{.other_flops = n + (n - t), .specials = t};
}

// The sum of squares 2, a root and eps 1, step 3; weight decay 2.
MaybeWork adagrad(const OpCall& call) {
  return call.real("weight_decay").value_or(0) != 0 ? each<8, 1>(call) : each<6, 1>(call);
}

// First moment 3, second moment 4, denominator 2 and a root, step 3; weight decay, on the gradient, 2 more,
// or on the parameter, 1; amsgrad a compare.
template <unsigned kDecay>
MaybeWork adam(const OpCall& call) {
  const Count decay = call.real("weight_decay").value_or(0) != 0 ? kDecay : 0;
  const Count amsgrad = call.boolean("amsgrad").value_or(false) ? 1 : 0;
  const Count n = elements(call.tensors("self"));
  return Work{.other_flops = n * (decay + amsgrad + 12), .specials = n};
}

// Step 2, weight decay 2, momentum 3 and with Nesterov 2 more.
MaybeWork sgd(const OpCall& call) {
  Count per_element = 2;
  if (call.real("weight_decay").value_or(0) != 0) per_element += 2;
  if (call.real("momentum").value_or(0) != 0) per_element += call.boolean("nesterov").value_or(false) ? 5 : 3;
  return Work{.other_flops = elements(call.tensors("self")) * per_element};
}

Letters list_letters(const OpCall& call) { return {{"n", elements(call.tensors("self"))}}; }

constexpr Family list_row{
    .category = Category::kPointwise, .fusion = Fusion::kPointwise, .letters = list_letters};

constexpr OpRow kRows[] = {
    gradient_row("aten::_cdist_backward", kReduction, cdist_backward,
                 "4*c flops for orders 1 and 2; 5*c for inf; 6*c flops + 2*c powers for others") |
        pair_letters,
    ctc_row("aten::_ctc_loss aten::ctc_loss") | kRowsByData,
    loss_row("aten::_ctc_loss_backward", ctc_backward,
             "15*c flops + 7*c specials for c cells of the recursion + 5*m flops + 2*m exps") |
        ctc_backward_letters | Confidence::kEstimated | kRowsByData,
    loss_row("aten::binary_cross_entropy", loss<6, 2>, "6*m flops + 2*m logs + m to fold") |
        kTakesProbabilities,
    loss_row("aten::binary_cross_entropy_with_logits", loss<6, 2>, "6*m flops + m exps + m logs + m to fold"),
    loss_row("aten::cross_entropy_loss", cross_entropy,
             "4*n - 2*r flops + n exps + r logs (log-softmax) + 2*r flops") |
        cross_entropy_letters | kTarget,
    loss_row("aten::huber_loss aten::smooth_l1_loss", loss<5>,
             "5*m flops (subtract, abs, compare, two multiplies) + m to fold"),
    loss_row("aten::kl_div", loss<2, 1>, "2*m flops (subtract, multiply) + m logs + m to fold"),
    loss_row("aten::l1_loss", loss<2>, "2*m flops (subtract, abs) + m to fold"),
    loss_row("aten::mse_loss", loss<2>, "2*m flops (subtract, square) + m to fold"),
    loss_row("aten::multi_margin_loss", loss<3>, "3*m flops (subtract, add, compare) + m to fold") | kTarget,
    loss_row("aten::multilabel_margin_loss aten::multilabel_margin_loss_forward", multilabel_margin,
             "m*c flops (4 for each of c*c/4 pairs in a row)") |
        Confidence::kEstimated | multilabel_letters,
    loss_row(
        "aten::nll_loss aten::nll_loss2d aten::nll_loss2d_forward aten::nll_loss_forward aten::nll_loss_nd",
        nll_loss, "2 flops for each target; 3 with class weights", nll_traffic) |
        kTarget,
    loss_row("aten::poisson_nll_loss", loss<2, 1>, "2*m flops (multiply, subtract) + m exps + m to fold"),
    loss_row("aten::soft_margin_loss", loss<3, 2>, "3*m flops + m exps + m logs + m to fold"),
    loss_row(
        "torch_nn::_linear_cross_entropy_batch_chunked "
        "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction",
        work_from<linear_loss_of>,
        "b*k*c*g MACs (g products: the scores, and the gradients asked for) + 3*b*c flops + b*c exps + b "
        "logs; b*c more with gradients") |
        Confidence::kEstimated | letters_from<linear_loss_of>,
    gradient_row("aten::_embedding_bag_backward aten::_embedding_bag_dense_backward", kEmbedding,
                 bag_backward, "a row of adds for each index"),
    // Sums over each row of two products, then the input's gradient from them: by the usual derivation, some
    // 11 flops an element, and two more for the affine gradients.
    gradient_row(
        "aten::_fused_rms_norm_backward aten::batch_norm_backward aten::cudnn_batch_norm_backward "
        "aten::native_batch_norm_backward aten::native_group_norm_backward aten::native_layer_norm_backward",
        kNorm, per_input<13>, "13*m flops", kEstimated),
    gradient_row(
        "aten::_prelu_kernel_backward aten::hardsigmoid_backward aten::sigmoid_backward aten::tanh_backward",
        kActivation, pointwise<3>, "3*n flops"),
    gradient_row("aten::_weight_norm_interface_backward", kNorm, pointwise<7>, "7*n flops", kEstimated),
    gradient_row("aten::adaptive_max_pool2d_backward aten::max_pool2d_with_indices_backward", kPool,
                 per_input<1>, "m adds") |
        kPlane,
    gradient_row("aten::adaptive_max_pool3d_backward aten::max_pool3d_with_indices_backward", kPool,
                 per_input<1>, "m adds") |
        kVolume,
    gradient_row("aten::binary_cross_entropy_backward", kLoss, pointwise<6>, "6*n flops") |
        kTakesProbabilities,
    gradient_row("aten::diagonal_backward aten::select_backward aten::slice_backward", kIndex, no_work,
                 "none"),
    gradient_row("aten::elu_backward", kActivation, pointwise<3, 1>, "3*n flops + n exps"),
    gradient_row("aten::embedding_backward aten::embedding_dense_backward", kEmbedding, embedding_backward,
                 "m adds; none for a sparse gradient") |
        kWeights,
    gradient_row("aten::fractional_max_pool2d_backward aten::fractional_max_pool3d_backward", kPool,
                 per_input<1>, "m adds"),
    gradient_row("aten::gelu_backward", kActivation, gelu_backward,
                 "9*n flops + n erfs + n exps, or 17*n flops + n tanhs"),
    gradient_row("aten::glu_backward", kActivation, glu_backward, "7 flops + an exp for each pair of halves"),
    gradient_row("aten::grid_sampler_2d_backward", kResize, per_input<24>, "24*m flops", kEstimated),
    gradient_row("aten::grid_sampler_3d_backward", kResize, per_input<64>, "64*m flops", kEstimated),
    gradient_row("aten::hardshrink_backward aten::hardtanh_backward aten::softshrink_backward", kActivation,
                 pointwise<2>, "2*n compares"),
    gradient_row("aten::hardswish_backward", kActivation, pointwise<5>, "5*n flops"),
    gradient_row("aten::huber_loss_backward aten::smooth_l1_loss_backward", kLoss, pointwise<5>, "5*n flops"),
    gradient_row("aten::index_select_backward", kIndex, per_input<1>, "m adds") |
        indexes("index", Within::kListed, "self_sizes"),
    gradient_row("aten::leaky_relu_backward", kActivation, pointwise<2>, "2*n flops"),
    gradient_row("aten::log_sigmoid_backward", kActivation, pointwise<4, 1>, "4*n flops + n exps"),
    gradient_row(
        "aten::masked_select_backward aten::reflection_pad1d_backward aten::reflection_pad2d_backward "
        "aten::reflection_pad3d_backward aten::replication_pad1d_backward aten::replication_pad2d_backward "
        "aten::replication_pad3d_backward aten::unfold_backward",
        kIndex, per_input<1>, "m adds"),
    gradient_row("aten::mish_backward", kActivation, pointwise<9, 4>, "9*n flops + 4*n specials"),
    gradient_row("aten::mse_loss_backward", kLoss, pointwise<3>, "3*n flops"),
    gradient_row("aten::native_dropout_backward", kActivation, pointwise<2>, "2*n multiplies"),
    gradient_row("aten::nll_loss2d_backward aten::nll_loss_backward", kLoss, target_flops,
                 "2 flops for each target") |
        kTarget,
    gradient_row("aten::rrelu_with_noise_backward", kActivation, pointwise<1>, "n multiplies"),
    gradient_row("aten::silu_backward", kActivation, pointwise<8, 1>, "8*n flops + n exps"),
    gradient_row("aten::softplus_backward", kActivation, pointwise<5, 1>, "5*n flops + n exps"),
    gradient_row("aten::threshold_backward", kActivation, pointwise<1>, "n selects"),
    gradient_row("aten::upsample_bicubic2d_backward", kResize, per_input<32>, "32*m flops"),
    gradient_row("aten::upsample_bilinear2d_backward", kResize, per_input<8>, "8*m flops"),
    gradient_row("aten::upsample_linear1d_backward", kResize, per_input<4>, "4*m flops"),
    gradient_row("aten::upsample_nearest1d_backward aten::upsample_nearest2d_backward "
                 "aten::upsample_nearest3d_backward",
                 kResize, per_input<1>, "m adds"),
    gradient_row("aten::upsample_trilinear3d_backward", kResize, per_input<16>, "16*m flops"),
    list_row("aten::_amp_foreach_non_finite_check_and_unscale", each<2>, "2*n flops (check, multiply)"),
    list_row("aten::_amp_update_scale", no_work, "none"),
    list_row("aten::_foreach_abs aten::_foreach_sign", each<1>, "n flops"),
    list_row("aten::_foreach_add", each_scaled<1>, "n adds; 2*n where alpha is not 1"),
    list_row("aten::_foreach_addcdiv", each_scaled<2>, "2*n flops (divide, add); 3*n where value is not 1"),
    list_row("aten::_foreach_addcmul", each_scaled<2>, "2*n flops (multiply, add); 3*n where value is not 1"),
    list_row(
        "aten::_foreach_clamp_max aten::_foreach_clamp_min aten::_foreach_maximum aten::_foreach_minimum",
        each<1>, "n compares"),
    list_row("aten::_foreach_copy aten::_foreach_zero", no_work, "none"),
    list_row("aten::_foreach_div aten::_foreach_reciprocal", each<1>, "n divides"),
    list_row("aten::_foreach_exp", each<0, 1>, "n exps"),
    list_row("aten::_foreach_lerp", each<3>, "3*n flops"),
    list_row("aten::_foreach_max", each_max, "n - t compares for t tensors"),
    list_row("aten::_foreach_mul", each<1>, "n multiplies"),
    list_row("aten::_foreach_neg", each<1>, "n negations"),
    list_row("aten::_foreach_norm", each_norm, "2*n - t flops + t sqrts for t tensors"),
    list_row("aten::_foreach_pow", each<0, 1>, "n specials"),
    list_row("aten::_foreach_rsqrt", each<0, 1>, "n rsqrts"),
    list_row("aten::_foreach_sqrt", each<0, 1>, "n sqrts"),
    list_row("aten::_foreach_sub", each_scaled<1>, "n subtracts; 2*n where alpha is not 1"),
    list_row("aten::_fused_adagrad", adagrad, "6*n flops + n sqrts; weight decay 2*n"),
    list_row("aten::_fused_adam", adam<2>, "12*n flops + n sqrts; weight decay 2*n, amsgrad n"),
    list_row("aten::_fused_adamw", adam<1>, "12*n flops + n sqrts; weight decay n, amsgrad n"),
    list_row("aten::_fused_sgd", sgd, "2*n flops; weight decay 2*n, momentum 3*n, nesterov 2*n"),
};

}  // namespace

std::span<const OpRow> training_rules() { return kTable<kRows>; }

}  // namespace opscope
