// Matrix products: z batches of [m,k] by [k,n]. A complex MAC is four real ones. Of a sparse matrix only the
// elements that are stored are multiplied; of two sparse ones, as many as meet if they are spread evenly.
#include <array>

#include "ops/rules.h"

namespace opscope {
namespace {

struct Product {
  Count z = 1, m = 1, k = 1, n = 1;
  Count per_output = 0;          // flops besides the MACs, for each of the z*m*n results
  bool in_torch_counter = true;  // false: runs as mv or dot, which FlopCounterMode does not count
  const TensorView *a = nullptr, *b = nullptr;
  Count macs() const { return z * m * k * n; }
  Count results() const { return z * m * n; }
  Letters letters() const { return {{"z", z}, {"m", m}, {"k", k}, {"n", n}, {"c", per_output}}; }
};
using MaybeProduct = std::optional<Product>;
using ReadProduct = MaybeProduct(const OpCall&);

// beta * self + alpha * (a @ b): the add, and each scale that is not one.
Count scaling(const OpCall& call) {
  const double beta = call.real("beta").value_or(1), alpha = call.real("alpha").value_or(1);
  return Count{beta != 0} + Count{beta != 0 && beta != 1} + Count{alpha != 1};
}

MaybeProduct two_matrices(const TensorView* a, const TensorView* b, Count per_output = 0) {
  if (a == nullptr || b == nullptr || a->rank() != 2 || b->rank() != 2 || a->dim(1) != b->dim(0))
    return std::nullopt;
  return Product{.m = a->dim(0), .k = a->dim(1), .n = b->dim(1), .per_output = per_output, .a = a, .b = b};
}

MaybeProduct two_batches(const TensorView* a, const TensorView* b, Count per_output = 0) {
  if (a == nullptr || b == nullptr || a->rank() != 3 || b->rank() != 3) return std::nullopt;
  if (a->dim(0) != b->dim(0) || a->dim(2) != b->dim(1)) return std::nullopt;
  return Product{.z = a->dim(0),
                 .m = a->dim(1),
                 .k = a->dim(2),
                 .n = b->dim(2),
                 .per_output = per_output,
                 .a = a,
                 .b = b};
}

MaybeProduct by_vector(const TensorView* a, const TensorView* v, Count per_output = 0) {
  if (a == nullptr || v == nullptr || a->rank() < 1 || v->rank() != 1 || a->dim(-1) != v->dim(0))
    return std::nullopt;
  return Product{.m = leading(*a, 1),
                 .k = v->dim(0),
                 .per_output = per_output,
                 .in_torch_counter = false,
                 .a = a,
                 .b = v};
}

MaybeProduct mm(const OpCall& call) { return two_matrices(call.tensor("self"), call.tensor("mat2")); }
MaybeProduct bmm(const OpCall& call) { return two_batches(call.tensor("self"), call.tensor("mat2")); }
MaybeProduct mv(const OpCall& call) { return by_vector(call.tensor("self"), call.tensor("vec")); }
MaybeProduct dot(const OpCall& call) { return by_vector(call.tensor("self"), call.tensor("tensor")); }
MaybeProduct vdot(const OpCall& call) { return by_vector(call.tensor("self"), call.tensor("other")); }
MaybeProduct addmm(const OpCall& call) {
  return two_matrices(call.tensor("mat1"), call.tensor("mat2"), scaling(call));
}
MaybeProduct addmv(const OpCall& call) {
  return by_vector(call.tensor("mat"), call.tensor("vec"), scaling(call));
}
MaybeProduct baddbmm(const OpCall& call) {
  return two_batches(call.tensor("batch1"), call.tensor("batch2"), scaling(call));
}

// The batches are summed into one matrix: that is a contraction over z*k.
MaybeProduct addbmm(const OpCall& call) {
  auto p = two_batches(call.tensor("batch1"), call.tensor("batch2"), scaling(call));
  if (!p) return p;
  return Product{
      .m = p->m, .k = p->z * p->k, .n = p->n, .per_output = p->per_output, .in_torch_counter = false};
}

MaybeProduct sparse_by_dense(const OpCall& call) {
  const TensorView* a = call.tensor("sparse");
  return a != nullptr ? two_matrices(a, call.tensor("dense"))
                      : two_matrices(either(call, "self", "mat1"), either(call, "mat2", "other"));
}

// Only where the result has an element: s of them, each a product of length k, and the scales.
struct Sampled {
  Count s, k, c;
  bool is_complex = false;
  Work work() const {
    return {.macs = s * k * (is_complex ? 4 : 1), .other_flops = s * c * (is_complex ? 2 : 1)};
  }
  Letters letters() const { return {{"s", s}, {"k", k}, {"c", c}}; }
};

std::optional<Sampled> sampled_of(const OpCall& call) {
  const TensorView *self = call.tensor("self"), *a = call.tensor("mat1");
  if (self == nullptr || a == nullptr || a->rank() < 2) return std::nullopt;
  return Sampled{.s = self->numel, .k = a->dim(-1), .c = scaling(call), .is_complex = any_complex(call)};
}

// Two of every four elements of the packed matrix are stored.
struct SemiStructured {
  Count rows, stored, results, c;
  Work work() const { return {.macs = rows * stored, .other_flops = results * c}; }
  Letters letters() const { return {{"r", rows}, {"s", stored}, {"n", results}, {"c", c}}; }
};

std::optional<SemiStructured> semi_structured_of(const OpCall& call) {
  const TensorView *weight = call.tensor("weight"),
                   *packed = weight != nullptr ? weight : call.tensor("mat1");
  const TensorView *x = call.tensor("input"), *dense = call.tensor("mat2");
  if (packed == nullptr || packed->rank() != 2 || call.outputs.empty()) return std::nullopt;
  if (weight != nullptr ? x == nullptr || x->rank() < 1 : dense == nullptr || dense->rank() != 2)
    return std::nullopt;
  return SemiStructured{.rows = weight != nullptr ? leading(*x, 1) : Count{dense->dim(-1)},
                        .stored = packed->numel,
                        .results = call.outputs[0].numel,
                        .c = call.tensor(weight != nullptr ? "bias" : "input") != nullptr ? 1 : 0};
}

// A bias for each result, and for _scaled_mm the two scales.
template <unsigned kExtra>
MaybeProduct mm_bias(const OpCall& call) {
  const Count bias = call.tensor("bias") != nullptr ? 1 : 0;
  return two_matrices(call.tensor("self"), call.tensor("mat2"), bias + kExtra);
}

MaybeProduct linear(const OpCall& call) {
  const TensorView* x = either(call, "input", "self");
  const TensorView* weight = call.tensor("weight");
  if (x == nullptr || weight == nullptr || weight->rank() < 1 || weight->rank() > 2) return std::nullopt;
  if (x->rank() < 1 || x->dim(-1) != weight->dim(-1)) return std::nullopt;
  const bool vector = weight->rank() == 1;
  return Product{.m = leading(*x, 1),
                 .k = x->dim(-1),
                 .n = vector ? 1 : weight->dim(0),
                 .per_output = call.tensor("bias") != nullptr ? 1 : 0,
                 .in_torch_counter = !vector,
                 .a = x,
                 .b = weight};
}

// Leading dimensions broadcast; a vector is a row on the left and a column on the right.
MaybeProduct matmul(const OpCall& call) {
  const TensorView *a = call.tensor("self"), *b = call.tensor("other");
  if (a == nullptr || b == nullptr || a->rank() == 0 || b->rank() == 0) return std::nullopt;
  if (b->rank() == 1) return by_vector(a, b);
  if (a->dim(-1) != b->dim(-2)) return std::nullopt;
  Product p{.m = a->rank() == 1 ? 1 : a->dim(-2), .k = a->dim(-1), .n = b->dim(-1), .a = a, .b = b};
  const auto batch_rank = static_cast<std::int64_t>(std::max(a->rank(), b->rank()));
  for (std::int64_t i = -3; i >= -batch_rank; --i) {
    const auto da = static_cast<std::int64_t>(a->rank()) + i >= 0 ? a->dim(i) : 1;
    const auto db = static_cast<std::int64_t>(b->rank()) + i >= 0 ? b->dim(i) : 1;
    if (da != db && da != 1 && db != 1) return std::nullopt;
    p.z *= Count{da == 1 ? db : da};
  }
  return p;
}

// Contracts the last dimensions of both.
MaybeProduct inner(const OpCall& call) {
  const TensorView *a = call.tensor("self"), *b = call.tensor("other");
  if (a == nullptr || b == nullptr) return std::nullopt;
  if (a->rank() == 0 || b->rank() == 0)  // a scalar times a tensor
    return Product{.m = a->numel, .n = b->numel, .in_torch_counter = false};
  if (a->dim(-1) != b->dim(-1)) return std::nullopt;
  return Product{
      .m = leading(*a, 1), .k = a->dim(-1), .n = leading(*b, 1), .in_torch_counter = b->rank() > 1};
}

MaybeProduct tensordot(const OpCall& call) {
  const TensorView *a = call.tensor("self"), *b = call.tensor("other");
  const auto dims = call.ints("dims_self");
  if (a == nullptr || b == nullptr || dims.size() != call.ints("dims_other").size()) return std::nullopt;
  Product p;
  for (const std::int64_t d : dims) {
    const auto rank = static_cast<std::int64_t>(a->rank());
    if (d < -rank || d >= rank) return std::nullopt;
    p.k *= Count{a->dim(d)};
  }
  if (!p.k) return Product{.k = 0};
  p.m = a->numel / p.k;
  p.n = b->numel / p.k;
  return p;
}

// Rows, columns or the contracted side are split into groups by `offs`; all groups together are one product.
MaybeProduct grouped_mm(const OpCall& call) {
  const bool is_torchs = call.tensor("self") != nullptr;
  const TensorView *a = call.tensor(is_torchs ? "self" : "input"),
                   *b = call.tensor(is_torchs ? "mat2" : "weight");
  if (a == nullptr || b == nullptr) return std::nullopt;
  const Count bias = call.tensor("bias") != nullptr ? 1 : 0;
  if (a->rank() < 2 || a->rank() > 3 || b->rank() < 2 || b->rank() > 3 || a->dim(-1) != b->dim(-2))
    return std::nullopt;
  return Product{.z = a->rank() == 3 && b->rank() == 3 ? a->dim(0) : 1,
                 .m = a->dim(-2),
                 .k = a->dim(-1),
                 .n = b->dim(-1),
                 .per_output = bias,
                 .in_torch_counter = false};
}

// The weight is packed: how wide it is shows in the output only. One scale for each result.
MaybeProduct packed_mm(const OpCall& call) {
  const TensorView* a = call.tensor("self");
  if (a == nullptr || a->rank() != 2 || call.outputs.empty()) return std::nullopt;
  const std::int64_t n = call.outputs[0].dim(-1);
  return Product{.m = a->dim(0), .k = a->dim(1), .n = n, .per_output = 1, .in_torch_counter = false};
}

MaybeProduct vecdot(const OpCall& call) {
  const TensorView* x = call.tensor("x");
  if (x == nullptr || x->rank() == 0 || call.outputs.empty()) return std::nullopt;
  const std::int64_t k = x->dim(call.integer("dim").value_or(-1));
  return Product{.z = call.outputs[0].numel, .k = k, .in_torch_counter = false};
}

// out[o] = sum_ij x1[i] W[o,i,j] x2[j]: first over i, then over j.
MaybeWork bilinear(const OpCall& call) {
  const TensorView *x1 = call.tensor("input1"), *x2 = call.tensor("input2"), *w = call.tensor("weight");
  if (x1 == nullptr || x2 == nullptr || w == nullptr || w->rank() != 3) return std::nullopt;
  if (x1->rank() == 0 || x2->rank() == 0 || x1->dim(-1) != w->dim(1) || x2->dim(-1) != w->dim(2))
    return std::nullopt;
  const Count rows = leading(*x1, 1), o = w->dim(0);
  return Work{.macs = rows * w->numel + rows * o * Count{w->dim(2)},
              .other_flops = call.tensor("bias") != nullptr ? rows * o : Count{}};
}

Letters bilinear_letters(const OpCall& call) {
  const TensorView *x1 = call.tensor("input1"), *w = call.tensor("weight");
  if (x1 == nullptr || w == nullptr) return {};
  return {{"N", leading(*x1, 1)},
          {"o", w->dim(0)},
          {"i", w->dim(1)},
          {"j", w->dim(2)},
          {"b", call.tensor("bias") != nullptr ? 1 : 0}};
}

// Three tensors as dimensions of one: `expandN` are those that the N-th does not have. The first two are
// multiplied and summed over what the third does not have, then the third is.
MaybeWork trilinear(const OpCall& call) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTensors{
      {{"i1", "expand1"}, {"i2", "expand2"}, {"i3", "expand3"}}};
  const TensorView* first = call.tensor("i1");
  if (first == nullptr) return std::nullopt;
  const std::size_t rank = first->rank() + call.ints("expand1").size();
  const auto has = [](std::span<const std::int64_t> dims, std::size_t d) {
    return std::ranges::count(dims, static_cast<std::int64_t>(d)) != 0;
  };
  std::vector<std::array<Count, 3>> sizes(rank, {1, 1, 1});
  for (std::size_t i = 0; i < kTensors.size(); ++i) {
    const TensorView* x = call.tensor(kTensors[i].first);
    const auto expanded = call.ints(kTensors[i].second);
    if (x == nullptr || x->rank() + expanded.size() != rank) return std::nullopt;
    std::size_t own = 0;
    for (std::size_t d = 0; d < rank && own < x->rank(); ++d)
      if (!has(expanded, d)) sizes[d][i] = Count{x->shape[own++]};
    if (own != x->rank()) return std::nullopt;
  }
  Count of_two = 1, of_three = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool is_gone = has(call.ints("sumdim"), d) && has(call.ints("expand3"), d);
    const Count pair = std::max(sizes[d][0], sizes[d][1]);
    of_two *= pair;
    of_three *= std::max(is_gone ? Count{1} : pair, sizes[d][2]);
  }
  return Work{.macs = of_two + of_three};
}

// self + vec1 x vec2: a multiply and an add each, and the scales that are not one.
MaybeWork addr(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const TensorView& out = call.outputs[0];
  return Work{.other_flops = out.numel * (scaling(call) + 1) * lanes(out)};
}

MaybeWork outer(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const TensorView& out = call.outputs[0];
  return Work{.other_flops = out.numel * (out.is_complex() ? 6 : 1)};
}

// Of the operands' elements, those that are stored.
Count stored_macs(const Product& p) {
  Count macs = p.macs();
  for (const TensorView* operand : {p.a, p.b})
    if (operand != nullptr && operand->is_sparse)
      macs = share_of(macs, operand->numel, opscope::numel(operand->shape));
  return macs;
}

template <ReadProduct kRead>
bool is_of_two_sparse(const OpCall& call) {
  const auto p = kRead(call);
  return p && p->a != nullptr && p->a->is_sparse && p->b != nullptr && p->b->is_sparse;
}

template <ReadProduct kRead>
MaybeWork product(const OpCall& call) {
  const auto p = kRead(call);
  if (!p || call.inputs.empty()) return std::nullopt;
  const bool is_complex = any_complex(call);
  return Work{.macs = stored_macs(*p) * (is_complex ? 4 : 1),
              .other_flops = p->results() * p->per_output * (is_complex ? 2 : 1)};
}

// The counter multiplies sizes and does not look at the dtype.
template <ReadProduct kRead>
Count torch_product(const OpCall& call) {
  const auto p = kRead(call);
  return p && p->in_torch_counter ? p->macs() * 2 : Count{};
}

template <ReadProduct kRead>
Count fvcore_product(const OpCall& call) {
  const auto p = kRead(call);
  return p ? p->macs() : Count{};
}

Count fvcore_linear(const OpCall& call) {
  const TensorView *x = call.tensor("input"), *weight = call.tensor("weight");
  return x != nullptr && weight != nullptr ? x->numel * Count{weight->dim(0)} : Count{};
}

// It does not broadcast, and fails on a vector to the right.
Count fvcore_matmul(const OpCall& call) {
  const TensorView *a = call.tensor("self"), *b = call.tensor("other");
  if (a == nullptr || b == nullptr || b->rank() < 2 || a->rank() == 0) return 0;
  return a->dim(-1) == b->dim(-2) ? a->numel * Count{b->dim(-1)} : Count{};
}

constexpr Family anchor_row{.category = Category::kMatmul, .fusion = Fusion::kAnchor};
constexpr Family outer_row{.category = Category::kMatmul, .fusion = Fusion::kPointwise};

template <ReadProduct kRead>
constexpr OpRow row(std::string_view name, std::string_view formula) {
  return anchor_row(name, product<kRead>, formula) | letters_from<kRead> |
         estimated_where<is_of_two_sparse<kRead>> | in_torch_counter(torch_product<kRead>);
}

// FlopCounterMode has no count for it.
template <ReadProduct kRead>
constexpr OpRow sparse_row(std::string_view name, std::string_view formula) {
  OpRow made = row<kRead>(name, formula);
  made.in_torch_counter = false;
  return made;
}

constexpr std::string_view kMm = "m*k*n MACs";
constexpr std::string_view kMmAnd = "m*k*n MACs + c*m*n flops (bias, scales)";
constexpr std::string_view kBmm = "z*m*k*n MACs";
constexpr std::string_view kBmmAnd = "z*m*k*n MACs + c*z*m*n flops (bias, scales)";

constexpr OpRow kRows[] = {
    row<addmm>("aten::_addmm_activation", kMmAnd),
    row<grouped_mm>("aten::_grouped_mm aten::_scaled_grouped_mm", kBmmAnd),
    row<mm>("aten::_int_mm", kMm),
    row<mm_bias<1>>("aten::_scaled_mm", kMmAnd),
    sparse_row<addmm>("aten::_sparse_addmm aten::sspaddmm", kMmAnd),
    sparse_row<sparse_by_dense>("aten::_sparse_mm aten::_sparse_mm_reduce_impl aten::_sparse_sparse_matmul "
                                "aten::hspmm aten::smm",
                                kMm),
    anchor_row("aten::_sparse_semi_structured_addmm aten::_sparse_semi_structured_linear "
               "aten::_sparse_semi_structured_mm",
               work_from<semi_structured_of>, "r*s MACs for s stored elements + c*n adds (bias)") |
        letters_from<semi_structured_of>,
    anchor_row("aten::_trilinear", trilinear,
               "a MAC for each product of the first two tensors, and for each of their sums with the third"),
    row<packed_mm>("aten::_weight_int4pack_mm aten::_weight_int8pack_mm", kMmAnd),
    row<addbmm>("aten::addbmm", kMmAnd),
    row<addmm>("aten::addmm", kMmAnd) | fvcore(fvcore_product<addmm>) | kLinearLayer,
    row<addmv>("aten::addmv", "m*k MACs + c*m flops (add, scales)"),
    outer_row("aten::addr", addr, "n multiplies + n adds"),
    row<baddbmm>("aten::baddbmm", kBmmAnd) | kBatchedProduct,
    anchor_row("aten::bilinear", bilinear, "N*o*i*j MACs + N*o*j MACs + b*N*o adds (bias)") |
        bilinear_letters,
    row<bmm>("aten::bmm", kBmm) | fvcore(fvcore_product<bmm>) | kBatchedProduct,
    row<dot>("aten::dot", "k MACs"),
    anchor_row("aten::einsum", einsum_work, "z*m*k*n MACs for each pair of operands") | einsum_letters |
        fvcore(einsum_fvcore) | in_torch_counter(einsum_torch) | kBatchedProduct,
    outer_row("aten::ger aten::outer", outer, "n multiplies"),
    row<inner>("aten::inner", kMm),
    row<matmul>("aten::linalg_matmul", kBmm),
    row<vecdot>("aten::linalg_vecdot", "z*k MACs"),
    row<linear>("aten::linear", kMmAnd) | fvcore(fvcore_linear) | kLinearLayer,
    row<matmul>("aten::matmul", kBmm) | fvcore(fvcore_matmul) | kBatchedProduct,
    row<linear>("aten::mkldnn_linear", kMmAnd),
    row<mm>("aten::mm", kMm) | fvcore(fvcore_product<mm>) | kLinearLayer,
    row<mv>("aten::mv", "m*k MACs"),
    anchor_row("aten::sparse_sampled_addmm", work_from<sampled_of>, "s*k MACs + c*s flops (add, scales)") |
        letters_from<sampled_of>,
    row<tensordot>("aten::tensordot", kMm),
    row<vdot>("aten::vdot", "k MACs"),
    // Its own, where torch's kernel is not used.
    row<grouped_mm>("transformers::grouped_mm_fallback", kBmmAnd),
};

}  // namespace

std::span<const OpRow> matmul_rules() { return kTable<kRows>; }

}  // namespace opscope
