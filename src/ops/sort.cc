// Sorting and searching: comparisons by the usual bounds, so estimated.
#include <bit>

#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

// log2, rounded up.
Count log2_of(Count value) { return value.value() < 2 ? 0 : std::bit_width(value.value() - 1); }

// m elements in rows of s.
MaybeWork sort(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  const TensorView& x = call.inputs[0];
  return Work{.other_flops = x.numel * log2_of(Count{x.dim(call.integer("dim").value_or(-1))})};
}

MaybeWork sort_all(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  return Work{.other_flops = call.inputs[0].numel * log2_of(call.inputs[0].numel)};
}

// A heap of the best k, held against every element.
MaybeWork topk(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  return Work{.other_flops = call.inputs[0].numel * (log2_of(Count{call.integer("k").value_or(1)}) + 1)};
}

// Binary search of n values in s sorted ones.
MaybeWork search(const OpCall& call) {
  const TensorView* sorted = call.tensor("sorted_sequence");
  if (sorted == nullptr) sorted = call.tensor("boundaries");
  if (sorted == nullptr || call.outputs.empty()) return std::nullopt;
  return Work{.other_flops = call.outputs[0].numel * log2_of(Count{sorted->dim(-1)} + 1)};
}

constexpr Family row{
    .category = Category::kSort, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};

constexpr OpRow kRules[] = {
    row("aten::_unique", sort_all, "m*log2(m) compares") | kSizedByData | limited_by("unique"),
    row("aten::_unique2", sort_all, "m*log2(m) compares") | kSizedByData | limited_by("unique"),
    row("aten::argsort", sort, "m*log2(s) compares in rows of s") | kOrders,
    row("aten::bucketize", search, "n*log2(s) compares among s"),
    row("aten::kthvalue", topk, "m*(log2(k)+1) compares"),
    row("aten::mode", sort, "m*log2(s) compares in rows of s"),
    row("aten::msort", sort, "m*log2(s) compares in rows of s"),
    row("aten::nanquantile", sort_all, "m*log2(m) compares"),
    row("aten::quantile", sort_all, "m*log2(m) compares"),
    row("aten::searchsorted", search, "n*log2(s) compares among s") | kKeepsSize,
    row("aten::sort", sort, "m*log2(s) compares in rows of s") | kOrders,
    row("aten::topk", topk, "m*(log2(k)+1) compares") | kSpreads,
    row("aten::unique_consecutive", per_input<1>, "m compares") | kSizedByData | limited_by("unique"),
    row("aten::unique_dim", sort_all, "m*log2(m) compares") | kSizedByData | limited_by("unique"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> sort_rules() { return kRules; }

}  // namespace opscope
