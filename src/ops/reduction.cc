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

// The smallest and the largest.
MaybeWork aminmax(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  return Work{.other_flops = (call.inputs[0].numel - call.outputs[0].numel) * 2};
}

// isclose for each element, and one answer.
MaybeWork allclose(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  const Count m = call.inputs[0].numel;
  return Work{.other_flops = m * 6 + (m - 1)};
}

constexpr Family row{.category = Category::kReduction, .fusion = Fusion::kReduction};

constexpr Family estimated_row{
    .category = Category::kReduction, .fusion = Fusion::kReduction, .confidence = Confidence::kEstimated};

constexpr OpRow kRules[] = {
    row("aten::_is_all_true", reduce<>, "m - n compares"),
    row("aten::_is_any_true", reduce<>, "m - n compares"),
    row("aten::all", reduce<>, "m - n compares"),
    row("aten::allclose", allclose, "6*m flops (as isclose) + m - 1 to fold") | kGivesNumber,
    row("aten::amax", reduce<>, "m - n compares") | kKeepsElements,
    row("aten::amin", reduce<>, "m - n compares") | kKeepsElements,
    row("aten::aminmax", aminmax, "2*(m - n) compares"),
    row("aten::any", reduce<>, "m - n compares"),
    row("aten::argmax", reduce<>, "m - n compares") | kSpreads,
    row("aten::argmin", reduce<>, "m - n compares") | kSpreads,
    row("aten::count_nonzero", reduce<1>, "m compares + m - n adds"),
    row("aten::cummax", per_input<1>, "m compares"),
    row("aten::cummin", per_input<1>, "m compares"),
    row("aten::equal", per_input<1>, "m compares") | kGivesNumber,
    row("aten::logcumsumexp", per_input<4, 2>, "4*m flops + m exps + m logs"),
    row("aten::logsumexp", reduce<2, 1, 1, 1>, "3*m flops (max, subtract, add) + m exps + n logs"),
    row("aten::max", extreme, "m - n compares; with another tensor, n") | kKeepsElements | kSpreads,
    row("aten::mean", reduce<0, 1>, "m - n adds + n divides"),
    estimated_row("aten::median", per_input<2>, "2*m compares (selection)"),
    row("aten::min", extreme, "m - n compares; with another tensor, n") | kKeepsElements | kSpreads,
    row("aten::nanmean", reduce<0, 1>, "m - n adds + n divides"),
    estimated_row("aten::nanmedian", per_input<2>, "2*m compares (selection)"),
    row("aten::nansum", reduce<>, "m - n adds"),
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

std::span<const OpRow> reduction_rules() { return kRules; }

}  // namespace opscope
