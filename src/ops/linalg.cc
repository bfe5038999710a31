// Dense linear algebra by LAPACK's usual counts for z matrices of m rows and n columns; estimated, since
// pivoting and convergence depend on the data.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

struct Matrices {
  Count z = 1, m, n;
};

std::optional<Matrices> matrices_of(const OpCall& call) {
  const TensorView* a = call.tensor("A");
  if (a == nullptr) a = call.tensor("self");
  if (a == nullptr || a->rank() < 2) return std::nullopt;
  Matrices x{.m = a->dim(-2), .n = a->dim(-1)};
  for (std::size_t i = 0; i + 2 < a->rank(); ++i) x.z *= Count{a->shape[i]};
  return x;
}

// kThirds * n^3 / 3 for each square matrix.
template <unsigned kThirds>
MaybeWork cubic(const OpCall& call) {
  const auto x = matrices_of(call);
  if (!x || x->m != x->n) return std::nullopt;
  return Work{.other_flops = x->z * x->n * x->n * x->n * kThirds / 3};
}

// kTimes * m * n * min(m, n).
template <unsigned kTimes>
MaybeWork rectangular(const OpCall& call) {
  const auto x = matrices_of(call);
  if (!x) return std::nullopt;
  return Work{.other_flops = x->z * x->m * x->n * std::min(x->m, x->n) * kTimes};
}

// A triangular system: n flops for each element of the right side, which is the result's shape. kFactor: two
// thirds of n^3 before, to factor.
template <bool kFactor, unsigned kSolves>
MaybeWork solve(const OpCall& call) {
  const auto x = matrices_of(call);
  if (!x || x->m != x->n || call.outputs.empty()) return std::nullopt;
  const Count factor = kFactor ? x->z * x->n * x->n * x->n * 2 / 3 : Count{};
  return Work{.other_flops = factor + call.outputs[0].numel * x->n * kSolves};
}

// By QR with pivoting: the factors, then 4*m*n flops for each of r right sides, applied and solved.
MaybeWork least_squares(const OpCall& call) {
  auto work = rectangular<2>(call);
  const TensorView* b = call.tensor("b");
  if (!work || b == nullptr) return std::nullopt;
  const auto x = matrices_of(call);
  work->other_flops += b->numel * x->n * 4;
  return work;
}

Letters matrix_letters(const OpCall& call) {
  const auto x = matrices_of(call);
  if (!x) return {};
  return {{"z", x->z}, {"m", x->m}, {"n", x->n}};
}

constexpr Family row{.category = Category::kMatmul,
                     .fusion = Fusion::kBarrier,
                     .confidence = Confidence::kEstimated,
                     .letters = matrix_letters};

constexpr OpRow kRules[] = {
    row("aten::_linalg_det", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::_linalg_eigh", cubic<27>, "9*z*n*n*n flops"),
    row("aten::_linalg_slogdet", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::_linalg_solve_ex", solve<true, 2>,
        "2*z*n*n*n/3 flops to factor + 2*n for each element of the result"),
    row("aten::_linalg_svd", rectangular<14>, "14*z*m*n*min(m,n) flops"),
    row("aten::cholesky", cubic<1>, "z*n*n*n/3 flops"),
    row("aten::det", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::inverse", cubic<6>, "2*z*n*n*n flops"),
    row("aten::linalg_cholesky", cubic<1>, "z*n*n*n/3 flops"),
    row("aten::linalg_cholesky_ex", cubic<1>, "z*n*n*n/3 flops"),
    row("aten::linalg_det", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::linalg_eig", cubic<75>, "25*z*n*n*n flops"),
    row("aten::linalg_eigh", cubic<27>, "9*z*n*n*n flops"),
    row("aten::linalg_eigvals", cubic<75>, "25*z*n*n*n flops"),
    row("aten::linalg_eigvalsh", cubic<27>, "9*z*n*n*n flops"),
    row("aten::linalg_inv", cubic<6>, "2*z*n*n*n flops"),
    row("aten::linalg_inv_ex", cubic<6>, "2*z*n*n*n flops"),
    row("aten::linalg_lstsq", least_squares,
        "2*z*m*n*min(m,n) flops to factor + 4*n for each element of the right side"),
    row("aten::linalg_lu", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::linalg_lu_factor", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::linalg_lu_factor_ex", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::linalg_matrix_exp", cubic<48>, "16*z*n*n*n flops"),
    row("aten::linalg_pinv", rectangular<16>,
        "14*z*m*n*min(m,n) flops (singular values) + 2*z*m*n*min(m,n) (the product back)"),
    row("aten::linalg_qr", rectangular<2>, "2*z*m*n*min(m,n) flops"),
    row("aten::linalg_slogdet", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::linalg_solve", solve<true, 2>,
        "2*z*n*n*n/3 flops to factor + 2*n for each element of the result"),
    row("aten::linalg_solve_ex", solve<true, 2>,
        "2*z*n*n*n/3 flops to factor + 2*n for each element of the result"),
    row("aten::linalg_solve_triangular", solve<false, 1>, "n flops for each element of the result"),
    row("aten::linalg_svd", rectangular<14>, "14*z*m*n*min(m,n) flops"),
    row("aten::linalg_svdvals", rectangular<14>, "14*z*m*n*min(m,n) flops"),
    row("aten::logdet", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::nuclear_norm", rectangular<14>, "14*z*m*n*min(m,n) flops"),
    row("aten::pinverse", rectangular<16>,
        "14*z*m*n*min(m,n) flops (singular values) + 2*z*m*n*min(m,n) (the product back)"),
    row("aten::qr", rectangular<2>, "2*z*m*n*min(m,n) flops"),
    row("aten::slogdet", cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::svd", rectangular<14>, "14*z*m*n*min(m,n) flops"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> linalg_rules() { return kRules; }

}  // namespace opscope
