// Reductions: m elements in, n out. Folding m into n takes m - n steps; what is done to each element before
// and to each result after is in the row.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

// max(a, b) of two tensors is element-wise.
MaybeWork extreme(const OpCall& call) {
  return call.tensor("other") != nullptr ? pointwise<1>(call) : reduce<>(call);
}

MaybeWork trace(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  const TensorView& x = call.inputs[0];
  return Work{.other_flops = Count{std::min(x.dim(0), x.dim(1))} - 1};
}

// The order is 2 unless given: squares and a root. 1 takes absolute values, 0 and the infinities compare, any
// other takes a power of each element and a root.
MaybeWork vector_norm(const OpCall& call) {
  const std::string_view name = call.has("ord") ? "ord" : "p";
  const auto order = call.string(name).empty() ? call.real(name).value_or(2) : 2.0;
  if (order == 2) return reduce<1, 0, 1>(call);
  const bool simple = order == 0 || order == 1 || order * 0 != 0;
  return simple ? reduce<1>(call) : reduce<1, 0, 1, 1>(call);
}

// Every row of x1 with every row of x2, k wide.
MaybeWork pair_distances(const OpCall& call) {
  const TensorView *a = call.tensor("x1"), *b = call.tensor("x2");
  if (a == nullptr || b == nullptr || call.outputs.empty() || a->rank() < 2 || a->dim(-1) != b->dim(-1))
    return std::nullopt;
  const Count n = call.outputs[0].numel;
  return Work{.other_flops = n * Count{a->dim(-1)} * 3, .specials = n};
}

Letters distance_letters(const OpCall& call) {
  const TensorView* a = call.tensor("x1");
  if (a == nullptr || call.outputs.empty()) return {};
  return {{"n", call.outputs[0].numel}, {"k", a->dim(-1)}};
}

// a.b / (|a| |b|): three products and their sums, then two clamps, a multiply and a divide.
MaybeWork cosine_similarity(const OpCall& call) {
  const TensorView *a = call.tensor("x1"), *b = call.tensor("x2");
  if (a == nullptr || b == nullptr || call.outputs.empty()) return std::nullopt;
  const Count m = std::max(a->numel, b->numel), n = call.outputs[0].numel;
  return Work{.other_flops = m * 6 + n * 4, .specials = n * 2};
}

constexpr OpRule row(std::string_view name, WorkFunction work, std::string_view formula) {
  return {.name = name,
          .category = Category::kReduction,
          .fusion = Fusion::kReduction,
          .work = work,
          .formula = formula};
}

constexpr OpRule distance_row(std::string_view name, WorkFunction work, std::string_view formula) {
  OpRule rule = row(name, work, formula);
  rule.letters = distance_letters;
  return rule;
}

constexpr OpRule estimated_row(std::string_view name, WorkFunction work, std::string_view formula) {
  OpRule rule = row(name, work, formula);
  rule.confidence = Confidence::kEstimated;
  return rule;
}

constexpr OpRule kRules[] = {
    distance_row("aten::_cdist_forward", pair_distances, "3*n*k flops (subtract, square, add) + n sqrts"),
    distance_row("aten::_euclidean_dist", pair_distances, "3*n*k flops (subtract, square, add) + n sqrts"),
    row("aten::all", reduce<>, "m - n compares"),
    row("aten::allclose", per_input<5>, "5*m flops"),
    row("aten::amax", reduce<>, "m - n compares"),
    row("aten::amin", reduce<>, "m - n compares"),
    row("aten::aminmax", per_input<2>, "2*m compares"),
    row("aten::any", reduce<>, "m - n compares"),
    row("aten::argmax", reduce<>, "m - n compares"),
    row("aten::argmin", reduce<>, "m - n compares"),
    distance_row("aten::cdist", pair_distances, "3*n*k flops (subtract, square, add) + n sqrts"),
    row("aten::cosine_similarity", cosine_similarity,
        "6*m flops (three products summed) + 4*n flops + 2*n sqrts"),
    row("aten::count_nonzero", reduce<1>, "m compares + m - n adds"),
    row("aten::cummax", per_input<1>, "m compares"),
    row("aten::cummin", per_input<1>, "m compares"),
    row("aten::dist", reduce<2, 0, 1>, "m - n adds + 2*m flops (subtract, square) + n sqrts"),
    row("aten::equal", per_input<1>, "m compares"),
    row("aten::frobenius_norm", vector_norm, "m - n adds + m multiplies + n sqrts, by its order"),
    row("aten::linalg_matrix_norm", vector_norm, "m - n adds + m multiplies + n sqrts, by its order"),
    row("aten::linalg_norm", vector_norm, "m - n adds + m multiplies + n sqrts, by its order"),
    row("aten::linalg_vector_norm", vector_norm, "m - n adds + m multiplies + n sqrts, by its order"),
    row("aten::logcumsumexp", per_input<4, 2>, "4*m flops + m exps + m logs"),
    row("aten::logsumexp", reduce<2, 1, 1, 1>, "3*m flops (max, subtract, add) + m exps + n logs"),
    row("aten::max", extreme, "m - n compares; with another tensor, n"),
    row("aten::mean", reduce<0, 1>, "m - n adds + n divides"),
    estimated_row("aten::median", per_input<2>, "2*m compares (selection)"),
    row("aten::min", extreme, "m - n compares; with another tensor, n"),
    row("aten::nanmean", reduce<0, 1>, "m - n adds + n divides"),
    estimated_row("aten::nanmedian", per_input<2>, "2*m compares (selection)"),
    row("aten::nansum", reduce<>, "m - n adds"),
    row("aten::norm", vector_norm, "m - n adds + m multiplies + n sqrts, by its order"),
    row("aten::pairwise_distance", reduce<3, 0, 1>,
        "m - n adds + 3*m flops (subtract, add, square) + n sqrts"),
    row("aten::prod", reduce<>, "m - n multiplies"),
    row("aten::special_logsumexp", reduce<2, 1, 1, 1>, "3*m flops (max, subtract, add) + m exps + n logs"),
    row("aten::std", reduce<3, 2, 1>,
        "m - n adds + 3*m flops (subtract, square, add) + 2*n divides + n sqrts"),
    row("aten::std_mean", reduce<3, 2, 1>,
        "m - n adds + 3*m flops (subtract, square, add) + 2*n divides + n sqrts"),
    row("aten::sum", reduce<>, "m - n adds"),
    row("aten::trace", trace, "diagonal - 1 adds"),
    row("aten::var", reduce<3, 2>, "m - n adds + 3*m flops (subtract, square, add) + 2*n divides"),
    row("aten::var_mean", reduce<3, 2>, "m - n adds + 3*m flops (subtract, square, add) + 2*n divides"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace opscope
