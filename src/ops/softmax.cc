// Softmax and its kin: n elements in r rows. Maximum (n - r compares), subtract (n), exp (n), sum (n - r),
// divide (n); the logarithm subtracts the row's log instead of dividing.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

struct Rows {
  Count n, r;
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

// With y the result: the row's sum of g*y is taken from g, times y. With y a logarithm: the row's sum of g,
// times exp(y), is taken from g.
template <unsigned kFlops, unsigned kSpecials>
MaybeWork softmax_backward(const OpCall& call) {
  const auto rows = rows_of(call);
  if (!rows) return std::nullopt;
  return Work{.other_flops = rows->n * kFlops - rows->r, .specials = rows->n * kSpecials};
}

Letters softmax_letters(const OpCall& call) {
  const auto rows = rows_of(call);
  if (!rows) return {};
  return {{"n", rows->n}, {"r", rows->r}};
}

constexpr Family row{
    .category = Category::kSoftmax, .fusion = Fusion::kReduction, .letters = softmax_letters};

constexpr std::string_view kSoftmax = "4*n - 2*r flops (max, subtract, sum, divide) + n exps";
constexpr std::string_view kLogSoftmax = "4*n - 2*r flops (max, subtract, sum, subtract) + n exps + r logs";
constexpr std::string_view kMasked = "5*n - 2*r flops (mask, max, subtract, sum, divide) + n exps";

constexpr OpRow kRules[] = {
    row("aten::_log_softmax", softmax<0, 1>, kLogSoftmax),
    row("aten::_log_softmax_backward_data", softmax_backward<3, 1>,
        "3*n - r flops (sum, multiply, subtract) + n exps"),
    row("aten::_masked_softmax", softmax<1, 0>, kMasked),
    row("aten::_safe_softmax", softmax<1, 0>, kMasked),
    row("aten::_softmax", softmax<0, 0>, kSoftmax) | kSoftmaxItself,
    row("aten::_softmax_backward_data", softmax_backward<4, 0>,
        "4*n - r flops (multiply, sum, subtract, multiply)"),
    row("aten::log_softmax", softmax<0, 1>, kLogSoftmax),
    row("aten::softmax", softmax<0, 0>, kSoftmax) | kSoftmaxItself,
    row("aten::special_log_softmax", softmax<0, 1>, kLogSoftmax),
    row("aten::special_softmax", softmax<0, 0>, kSoftmax),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> softmax_rules() { return kRules; }

}  // namespace opscope
