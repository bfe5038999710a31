// Losses: flops for each of the m elements, and one more where they are summed or averaged (reduction 1 or
// 2).
#include "ops/rules.h"

namespace opscope {
namespace {

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
  Traffic traffic;
  add_read(traffic, *scores, target->numel * Count{element_bytes(scores->dtype)});
  for (const TensorView& in : call.inputs)
    if (in.value != scores->value) add_read(traffic, in);
  add_writes(traffic, call);
  return traffic;
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

// Steps of the forward recursion: a target of l labels has 2*l + 1 states at each time.
std::optional<Count> ctc_cells(const OpCall& call) {
  const TensorView *scores = call.tensor("log_probs"), *targets = call.tensor("targets");
  if (scores == nullptr || targets == nullptr || scores->rank() < 2) return std::nullopt;
  const auto times = call.ints("input_lengths"), labels = call.ints("target_lengths");
  Count cells = 0;
  for (std::size_t i = 0; i < times.size() && i < labels.size(); ++i)
    cells += Count{times[i]} * (Count{labels[i]} * 2 + 1);
  if (!times.empty()) return cells;
  const Count batch = scores->rank() > 2 ? Count{scores->dim(1)} : Count{1};
  return Count{scores->dim(0)} * (targets->numel * 2 + batch);
}

// Each adds up three states in logarithms (two compares, three subtracts, two adds, three exps and a log),
// then the maximum and the score.
MaybeWork ctc_loss(const OpCall& call) {
  const auto cells = ctc_cells(call);
  if (!cells) return std::nullopt;
  return Work{.other_flops = *cells * 9, .specials = *cells * 4};
}

Letters ctc_letters(const OpCall& call) {
  const auto cells = ctc_cells(call);
  return cells ? Letters{{"c", *cells}} : Letters{};
}

constexpr Family row{.category = Category::kLoss, .fusion = Fusion::kReduction};

// Estimated: which transitions are allowed depends on the labels.
constexpr OpRow ctc_row(std::string_view name) {
  return row(name, ctc_loss, "9*c flops + 4*c specials for c cells of the recursion") | ctc_letters |
         Confidence::kEstimated;
}

constexpr auto kTarget = indexes("target", Within::kClasses, "self");

constexpr OpRow kRows[] = {
    ctc_row("aten::_ctc_loss aten::ctc_loss") | kRowsByData,
    row("aten::binary_cross_entropy", loss<6, 2>, "6*m flops + 2*m logs + m to fold") | kTakesProbabilities,
    row("aten::binary_cross_entropy_with_logits", loss<6, 2>, "6*m flops + m exps + m logs + m to fold"),
    row("aten::cross_entropy_loss", cross_entropy,
        "4*n - 2*r flops + n exps + r logs (log-softmax) + 2*r flops") |
        cross_entropy_letters | kTarget,
    row("aten::huber_loss aten::smooth_l1_loss", loss<5>,
        "5*m flops (subtract, abs, compare, two multiplies) + m to fold"),
    row("aten::kl_div", loss<2, 1>, "2*m flops (subtract, multiply) + m logs + m to fold"),
    row("aten::l1_loss", loss<2>, "2*m flops (subtract, abs) + m to fold"),
    row("aten::mse_loss", loss<2>, "2*m flops (subtract, square) + m to fold"),
    row("aten::multi_margin_loss", loss<3>, "3*m flops (subtract, add, compare) + m to fold") | kTarget,
    row("aten::nll_loss aten::nll_loss2d aten::nll_loss2d_forward aten::nll_loss_forward aten::nll_loss_nd",
        nll_loss, "2 flops for each target; 3 with class weights", nll_traffic) |
        kTarget,
    row("aten::poisson_nll_loss", loss<2, 1>, "2*m flops (multiply, subtract) + m exps + m to fold"),
    row("aten::soft_margin_loss", loss<3, 2>, "3*m flops + m exps + m logs + m to fold"),
};

}  // namespace

std::span<const OpRow> loss_rules() { return kTable<kRows>; }

}  // namespace opscope
