// Reductions; sorting and searching, whose comparisons are estimated by the usual bounds; norms and distances
// of any order p, by definition: (sum |x|^p)^(1/p). m elements are folded into n results. Norms of a matrix
// as an operator need its singular values, by the count of linalg.cc: estimated.
#include <cmath>

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
  const TensorView* sorted = either(call, "sorted_sequence", "boundaries");
  if (sorted == nullptr || call.outputs.empty()) return std::nullopt;
  return Work{.other_flops = call.outputs[0].numel * log2_of(Count{sorted->dim(-1)} + 1)};
}

constexpr Family sort_row{
    .category = Category::kSort, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};

// kBefore flops for each element first. Order 2 squares and takes a root; 0 and the infinities compare, 1
// takes absolute values; any other takes absolute values, powers and a root.
Work norm_work(Count m, Count n, double order, bool is_complex, unsigned before = 0) {
  const Count parts = is_complex ? 2 : 1;
  Work work{.other_flops = m * parts * before};
  if (order == 2) return work += {.other_flops = m * parts + (m * parts - n), .specials = n};
  work += {.other_flops = m * (is_complex ? 3 : 1) + (m - n), .specials = is_complex ? m : Count{}};
  const bool simple = order == 0 || order == 1 || std::isinf(order);
  if (!simple) work.specials += m + n;
  return work;
}

// "ord" or "p", a number or a name; 2 unless given. nullopt for a name that is no sum over elements.
std::optional<double> order_of(const OpCall& call) {
  const std::string_view argument = call.has("ord") ? "ord" : "p", named = call.string(argument);
  if (!named.empty() && named != "fro") return std::nullopt;
  return named.empty() ? call.real(argument).value_or(2) : 2.0;
}

MaybeWork vector_norm(const OpCall& call) {
  const auto order = order_of(call);
  if (!order || call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const TensorView& x = call.inputs[0];
  return norm_work(x.numel, call.outputs[0].numel, *order, x.is_complex());
}

// Order 2 and the nuclear norm come from the singular values.
bool needs_singular_values(const OpCall& call) {
  return call.string("ord") == "nuc" || std::abs(call.real("ord").value_or(0)) == 2;
}

// As many flops as a singular value decomposition, for each element and the fewer of rows and columns, then
// the sum or the largest.
MaybeWork spectral_norm(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  if (x == nullptr || x->rank() < 2 || call.outputs.empty()) return std::nullopt;
  const auto dims = call.ints("dim");
  const bool given = dims.size() == 2;
  const Count k = std::min(x->dim(given ? dims[0] : -2), x->dim(given ? dims[1] : -1));
  return Work{.other_flops = x->numel * k * 14 + call.outputs[0].numel * (k - 1)};
}

// Order 1 and infinity are the largest sum of a column or row of absolute values: m - n steps in all, as for
// a vector.
MaybeWork matrix_norm(const OpCall& call) {
  if (needs_singular_values(call)) return spectral_norm(call);
  if (!call.string("ord").empty() || !call.has("ord")) return vector_norm(call);
  const double order = std::abs(call.real("ord").value_or(2));
  if ((order != 1 && !std::isinf(order)) || call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const TensorView& x = call.inputs[0];
  return norm_work(x.numel, call.outputs[0].numel, order, x.is_complex());
}

// Over two dimensions, or all of a matrix, a given order is that of a matrix norm; no order is 2 of a vector.
bool is_matrix_norm(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  if (x == nullptr || !call.has("ord")) return false;
  return (call.has("dim") ? call.ints("dim").size() : x->rank()) == 2;
}

MaybeWork any_norm(const OpCall& call) {
  return is_matrix_norm(call) ? matrix_norm(call) : vector_norm(call);
}

bool is_spectral(const OpCall& call) { return is_matrix_norm(call) && needs_singular_values(call); }

// Each slice along a dimension is scaled down to a norm, where it is larger: a compare, an add and a divide
// for its factor.
MaybeWork renorm(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  const auto dim = call.integer("dim");
  const auto order = call.real("p");
  if (x == nullptr || !dim || !order) return std::nullopt;
  const Count slices = x->dim(*dim);
  Work work = norm_work(x->numel, slices, *order, x->is_complex());
  return work += {.other_flops = slices * 3 + x->numel * lanes(*x)};
}

// Every element is folded into its segment's.
MaybeWork segment_reduce(const OpCall& call) {
  const TensorView* data = call.tensor("data");
  if (data == nullptr || call.outputs.empty()) return std::nullopt;
  const bool mean = call.string("reduce") == "mean";
  return Work{.other_flops = data->numel + (mean ? call.outputs[0].numel : Count{})};
}

// The edges are made of the smallest and the largest where no range is given, then a search for each of r
// points in d dimensions.
MaybeWork histogram(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  if (x == nullptr || call.outputs.empty()) return std::nullopt;
  Count bins = 0;
  for (const std::int64_t size : call.ints("bins")) bins = std::max(bins, Count{size});
  if (const auto count = call.integer("bins")) bins = *count;
  if (const TensorView* edges = call.tensor("bins")) bins = edges->numel;
  const Count extremes = call.has("range") || call.tensor("bins") != nullptr ? Count{} : x->numel * 2;
  const bool weighted = call.tensor("weight") != nullptr;
  return Work{.other_flops = extremes + x->numel * (log2_of(bins + 1) + (weighted ? 2 : 1))};
}

MaybeWork bin_edges(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  if (x == nullptr) return std::nullopt;
  Count edges = 0;
  for (const TensorView& out : call.outputs) edges += out.numel;
  return Work{.other_flops = (call.has("range") ? Count{} : x->numel * 2) + edges * 2};
}

// --- Distances ---

// Every row of x1 with every row of x2, k wide; whatever algorithm is chosen, by definition.
MaybeWork all_pairs(const OpCall& call) {
  const TensorView *a = call.tensor("x1"), *b = call.tensor("x2");
  if (a == nullptr || b == nullptr || call.outputs.empty() || a->rank() < 2 || a->dim(-1) != b->dim(-1))
    return std::nullopt;
  const Count n = call.outputs[0].numel;
  return norm_work(n * Count{a->dim(-1)}, n, call.real("p").value_or(2), a->is_complex(), 1);
}

// Every row with every later one.
MaybeWork own_pairs(const OpCall& call) {
  const TensorView* x = call.tensor("self");
  if (x == nullptr || call.outputs.empty()) return std::nullopt;
  const Count n = call.outputs[0].numel;
  return norm_work(n * Count{x->dim(-1)}, n, call.real("p").value_or(2), x->is_complex(), 1);
}
Letters own_pair_letters(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return {};
  return {{"n", call.outputs[0].numel}, {"k", Count{call.inputs[0].dim(-1)}}};
}

// Row by row; eps is added to each difference.
MaybeWork row_by_row(const OpCall& call) {
  const TensorView *a = call.tensor("x1"), *b = call.tensor("x2");
  if (a == nullptr || b == nullptr || call.outputs.empty()) return std::nullopt;
  const Count n = call.outputs[0].numel, k = std::max(a->dim(-1), b->dim(-1));
  return norm_work(n * k, n, call.real("p").value_or(2), a->is_complex(), 2);
}

Count broadcast_elements(const TensorView& a, const TensorView& b) {
  Count product = 1;
  for (std::size_t i = 1; i <= std::max(a.rank(), b.rank()); ++i) {
    const auto from_end = -static_cast<std::int64_t>(i);
    const std::int64_t x = a.dim(from_end), y = b.dim(from_end);
    product *= Count{x == 1 ? y : x};
  }
  return product;
}

// Of two whole tensors.
MaybeWork one_distance(const OpCall& call) {
  const TensorView *a = call.tensor("self"), *b = call.tensor("other");
  if (a == nullptr || b == nullptr) return std::nullopt;
  return norm_work(broadcast_elements(*a, *b), 1, call.real("p").value_or(2), a->is_complex(), 1);
}

Letters pair_letters(const OpCall& call) {
  const TensorView *a = call.tensor("x1"), *b = call.tensor("x2");
  if (a == nullptr || b == nullptr || call.outputs.empty()) return {};
  return {{"n", call.outputs[0].numel}, {"k", std::max(a->dim(-1), b->dim(-1))}};
}

// a.b / (|a| |b|): three products and their sums, then two clamps, a multiply and a divide.
MaybeWork cosine_similarity(const OpCall& call) {
  const TensorView *a = call.tensor("x1"), *b = call.tensor("x2");
  if (a == nullptr || b == nullptr || call.outputs.empty()) return std::nullopt;
  const Count m = broadcast_elements(*a, *b), n = call.outputs[0].numel;
  return Work{.other_flops = m * 3 + (m - n) * 3 + n * 4, .specials = n * 2};
}

constexpr Family pair_row{
    .category = Category::kReduction, .fusion = Fusion::kReduction, .letters = pair_letters};

constexpr std::string_view kNorm =
    "m + (m - n) flops + n sqrts for order 2; none for 0, 1, inf; m powers + n roots for others";
constexpr std::string_view kMatrixNorm =
    "m + (m - n) flops, + n sqrts for Frobenius; 14*m*k + n*(k-1) where it needs k singular values";
constexpr std::string_view kPairs =
    "n*(3*k-1) flops + n sqrts for order 2; none for 0, 1, inf; n*k powers + n roots for others";
constexpr std::string_view kRowByRow =
    "n*(4*k-1) flops + n sqrts for order 2; none for 0, 1, inf; n*k powers + n roots for others";

constexpr OpRow kRows[] = {
    pair_row("aten::_cdist_forward aten::_euclidean_dist aten::cdist", all_pairs, kPairs),
    sort_row("aten::_histogramdd_bin_edges", bin_edges, "2*m compares without a range + 2 flops an edge"),
    sort_row("aten::_histogramdd_from_bin_cts aten::_histogramdd_from_bin_tensors aten::histogram", histogram,
             "m*log2(s) compares among s bins + m adds, 2*m with weights; 2*m more without a range"),
    row("aten::_is_all_true aten::_is_any_true aten::all aten::any", reduce<>, "m - n compares"),
    sort_row("aten::_unique aten::_unique2 aten::unique_dim", sort_all, "m*log2(m) compares") | kSizedByData |
        limited_by("unique"),
    pair_row("aten::_pdist_forward aten::pdist", own_pairs, kPairs) | own_pair_letters,
    row("aten::allclose", allclose, "6*m flops (as isclose) + m - 1 to fold") | kGivesNumber,
    row("aten::amax aten::amin", reduce<>, "m - n compares") | kKeepsElements,
    row("aten::aminmax", aminmax, "2*(m - n) compares"),
    row("aten::argmax aten::argmin", reduce<>, "m - n compares") | kSpreads,
    sort_row("aten::argsort aten::sort", sort, "m*log2(s) compares in rows of s") | kOrders,
    sort_row("aten::bucketize", search, "n*log2(s) compares among s"),
    row("aten::cosine_similarity", cosine_similarity,
        "6*m - 3*n flops (three products summed) + 4*n flops + 2*n sqrts"),
    row("aten::count_nonzero", reduce<1>, "m compares + m - n adds"),
    row("aten::cummax aten::cummin", per_input<1>, "m compares"),
    row("aten::dist", one_distance,
        "3*m - 1 flops + a sqrt for order 2; none for 0, 1, inf; m powers + a root for others"),
    row("aten::equal", per_input<1>, "m compares") | kGivesNumber,
    row("aten::frobenius_norm aten::linalg_vector_norm aten::norm", vector_norm, kNorm),
    row("aten::hash_tensor", reduce<>, "m - n xors"),
    sort_row("aten::kthvalue", topk, "m*(log2(k)+1) compares"),
    row("aten::linalg_matrix_norm", matrix_norm, kMatrixNorm) | estimated_where<needs_singular_values>,
    row("aten::linalg_norm", any_norm, kMatrixNorm) | estimated_where<is_spectral>,
    row("aten::logcumsumexp", per_input<4, 2>, "4*m flops + m exps + m logs"),
    row("aten::logsumexp aten::special_logsumexp", reduce<2, 1, 1, 1>,
        "3*m flops (max, subtract, add) + m exps + n logs"),
    row("aten::max aten::min", extreme, "m - n compares; with another tensor, n") | kKeepsElements | kSpreads,
    row("aten::mean aten::nanmean", reduce<0, 1>, "m - n adds + n divides"),
    estimated_row("aten::median aten::nanmedian", per_input<2>, "2*m compares (selection)"),
    sort_row("aten::mode aten::msort", sort, "m*log2(s) compares in rows of s"),
    sort_row("aten::nanquantile aten::quantile", sort_all, "m*log2(m) compares"),
    row("aten::nansum aten::sum", reduce<>, "m - n adds"),
    pair_row("aten::pairwise_distance", row_by_row, kRowByRow),
    row("aten::prod", reduce<>, "m - n multiplies"),
    row("aten::renorm", renorm,
        "m + (m - s) flops + s sqrts for order 2 of s slices (others as norm) + 3*s + m multiplies"),
    sort_row("aten::searchsorted", search, "n*log2(s) compares among s") | kKeepsSize,
    row("aten::segment_reduce", segment_reduce, "m flops, + n divides for a mean"),
    row("aten::std aten::std_mean", reduce<3, 2, 1>,
        "m - n adds + 3*m flops (subtract, square, add) + 2*n divides + n sqrts"),
    sort_row("aten::topk", topk, "m*(log2(k)+1) compares") | kSpreads,
    row("aten::trace", trace, "diagonal - 1 adds"),
    sort_row("aten::unique_consecutive", per_input<1>, "m compares") | kSizedByData | limited_by("unique"),
    row("aten::var aten::var_mean", reduce<3, 2>,
        "m - n adds + 3*m flops (subtract, square, add) + 2*n divides"),
};

}  // namespace

std::span<const OpRow> reduction_rules() { return kTable<kRows>; }

}  // namespace opscope
