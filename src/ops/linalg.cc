// Dense linear algebra by LAPACK's usual counts for z matrices of m rows and n columns, with k the smaller of
// the two; estimated, since pivoting and convergence depend on the data.
//
// Fourier transforms: 5*N*log2(N) flops for N complex points, half for real ones (the usual split-radix count
// is some 20 % lower, so estimated). log2 is rounded up.
#include "ops/rules.h"

namespace opscope {
namespace {

struct Matrices {
  Count z, m, n;
  Count k() const { return std::min(m, n); }
  Letters letters() const { return {{"z", z}, {"m", m}, {"n", n}, {"k", k()}}; }
};

std::optional<Matrices> matrices_in(const TensorView* a) {
  if (a == nullptr || a->rank() < 2) return std::nullopt;
  return Matrices{.z = leading(*a, 2), .m = a->dim(-2), .n = a->dim(-1)};
}

// The matrix to factor, or the one that was, by the names that ops have for it.
std::optional<Matrices> matrices_of(const OpCall& call) {
  for (const std::string_view name : {"A", "LU", "LD", "LU_data", "input2"})
    if (const TensorView* a = call.tensor(name)) return matrices_in(a);
  return matrices_in(either(call, "self", "input"));
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
  return Work{.other_flops = x->z * x->m * x->n * x->k() * kTimes};
}

// kTimes * (m*n*k - k*k*k/3): LU once, the reflectors of QR twice.
template <unsigned kTimes>
MaybeWork triangularise(const OpCall& call) {
  const auto x = matrices_of(call);
  if (!x) return std::nullopt;
  const Count k = x->k();
  return Work{.other_flops = x->z * (x->m * x->n * k * 3 - k * k * k) * kTimes / 3};
}

// q of m rows and c columns from k reflectors.
Count forming_q(Count z, Count m, Count c, Count k) {
  return z * (m * c * k * 12 + k * k * k * 4 - (m + c) * k * k * 6) / 3;
}

MaybeWork qr(const OpCall& call) {
  const auto x = matrices_of(call);
  auto work = triangularise<2>(call);
  if (!work || call.outputs.empty()) return std::nullopt;
  const TensorView& q = call.outputs[0];
  if (q.numel) work->other_flops += forming_q(x->z, x->m, Count{q.dim(-1)}, x->k());
  return work;
}

// The product of k reflectors, as many as tau has in a row: formed, or applied to a matrix from one side.
struct Reflectors {
  Count z, m, n, k;
  Letters letters() const { return {{"z", z}, {"m", m}, {"n", n}, {"k", k}}; }
};

std::optional<Reflectors> reflectors_of(const OpCall& call) {
  const bool is_applied = call.tensor("input3") != nullptr;
  const auto x = matrices_in(call.tensor(is_applied ? "input3" : "input"));
  const TensorView* tau = call.tensor(is_applied ? "input2" : "tau");
  if (!x || tau == nullptr || tau->rank() < 1) return std::nullopt;
  return Reflectors{.z = x->z, .m = x->m, .n = x->n, .k = tau->dim(-1)};
}

MaybeWork householder_product(const OpCall& call) {
  const auto x = reflectors_of(call);
  return x ? MaybeWork(Work{.other_flops = forming_q(x->z, x->m, x->n, x->k)}) : std::nullopt;
}

MaybeWork apply_reflectors(const OpCall& call) {
  const auto x = reflectors_of(call);
  if (!x) return std::nullopt;
  const Count side = call.boolean("left").value_or(true) ? x->n : x->m;
  return Work{.other_flops = x->z * (x->m * x->n * x->k * 4 - side * x->k * x->k * 2)};
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

constexpr Family row{.category = Category::kMatmul,
                     .fusion = Fusion::kBarrier,
                     .confidence = Confidence::kEstimated,
                     .letters = letters_from<matrices_of>};

// Points along the transformed dimensions: those of the longer side, the real one of a real transform.
Count points(const OpCall& call, const TensorView& x, std::size_t default_dims) {
  Count product = 1;
  if (const auto dim = call.integer("dim")) return Count{x.dim(*dim)};
  const auto dims = call.ints("dim");
  for (const std::int64_t d : dims) product *= Count{x.dim(d)};
  if (dims.empty())
    for (std::size_t i = 1; i <= default_dims && i <= x.rank(); ++i) product *= Count{x.shape[x.rank() - i]};
  return product;
}

// kDims: how many of the last dimensions are transformed where none are named; 0 for all.
template <std::size_t kDims>
MaybeWork fft(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  const bool is_real = !in.is_complex() || !out.is_complex();
  const TensorView& longer = in.numel < out.numel ? out : in;
  const Count per_point = log2_of(points(call, longer, kDims == 0 ? longer.rank() : kDims)) * 5;
  return Work{.other_flops = longer.numel * per_point / (is_real ? 2 : 1)};
}

// Frames of n_fft points, each windowed and transformed; the output is [..., frequencies, frames].
MaybeWork stft(const OpCall& call) {
  const auto size = call.integer("n_fft");
  if (!size || *size <= 0 || call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const TensorView& out = call.outputs[0];
  const bool parts_apart = !out.is_complex();  // return_complex=False adds a dimension of two
  const Count batch = call.inputs[0].rank() > 1 ? Count{call.inputs[0].dim(0)} : Count{1};
  const Count samples = batch * Count{out.dim(parts_apart ? -2 : -1)} * Count{*size};
  return Work{.other_flops = samples + samples * log2_of(Count{*size}) * 5 / 2};
}

// The other way: [..., frequencies, frames] transformed back, windowed and added up; each sample is divided
// by the sum of the squared windows over it.
MaybeWork istft(const OpCall& call) {
  const auto size = call.integer("n_fft");
  if (!size || *size <= 0 || call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const TensorView& in = call.inputs[0];
  const bool parts_apart = !in.is_complex();
  const std::size_t rank = in.rank() - (parts_apart && in.rank() > 0 ? 1 : 0);
  const Count batch = rank > 2 ? Count{in.dim(0)} : Count{1};
  const Count samples = batch * Count{in.dim(parts_apart ? -2 : -1)} * Count{*size};
  return Work{.other_flops = samples * 2 + samples * log2_of(Count{*size}) * 5 / 2 + call.outputs[0].numel};
}

constexpr Family fft_row{
    .category = Category::kFft, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};

constexpr Family check_row{.category = Category::kReduction, .fusion = Fusion::kBarrier};
constexpr Family unpack_row{.category = Category::kCopy, .fusion = Fusion::kBarrier};

constexpr OpRow kRows[] = {
    fft_row("aten::_fft_c2c aten::_fft_c2r aten::_fft_r2c aten::fft_fftn aten::fft_ifftn aten::fft_irfftn "
            "aten::fft_rfftn",
            fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    check_row("aten::_linalg_check_errors", per_input<1>, "m compares"),
    row("aten::_linalg_det aten::_linalg_slogdet aten::cholesky_inverse aten::det aten::linalg_det "
        "aten::linalg_slogdet aten::logdet aten::slogdet",
        cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::_linalg_eigh aten::linalg_eigh aten::linalg_eigvalsh", cubic<27>, "9*z*n*n*n flops"),
    row("aten::_linalg_solve_ex aten::linalg_solve aten::linalg_solve_ex", solve<true, 2>,
        "2*z*n*n*n/3 flops to factor + 2*n for each element of the result"),
    row("aten::_linalg_svd aten::linalg_svd aten::linalg_svdvals aten::nuclear_norm aten::svd",
        rectangular<14>, "14*z*m*n*min(m,n) flops"),
    row("aten::cholesky aten::linalg_cholesky aten::linalg_cholesky_ex aten::linalg_ldl_factor "
        "aten::linalg_ldl_factor_ex",
        cubic<1>, "z*n*n*n/3 flops"),
    row("aten::cholesky_solve aten::linalg_ldl_solve aten::linalg_lu_solve aten::lu_solve", solve<false, 2>,
        "2*n flops for each element of the result"),
    fft_row("aten::fft_fft aten::fft_hfft aten::fft_ifft aten::fft_ihfft aten::fft_irfft aten::fft_rfft",
            fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    fft_row("aten::fft_fft2 aten::fft_ifft2 aten::fft_irfft2 aten::fft_rfft2", fft<2>,
            "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::geqrf", triangularise<2>, "2*z*(m*n*k - k*k*k/3) flops"),
    row("aten::inverse aten::linalg_inv aten::linalg_inv_ex", cubic<6>, "2*z*n*n*n flops"),
    fft_row("aten::istft", istft,
            "2.5*f*k*log2(k) flops for f frames of k + 2*f*k (window, add) + n divides"),
    row("aten::linalg_eig aten::linalg_eigvals", cubic<75>, "25*z*n*n*n flops"),
    row("aten::linalg_householder_product", householder_product,
        "z*(4*m*n*k - 2*(m+n)*k*k + 4*k*k*k/3) flops for k reflectors") |
        letters_from<reflectors_of>,
    row("aten::linalg_lstsq", least_squares,
        "2*z*m*n*min(m,n) flops to factor + 4*n for each element of the right side"),
    row("aten::linalg_lu aten::linalg_lu_factor aten::linalg_lu_factor_ex", triangularise<1>,
        "z*(m*n*k - k*k*k/3) flops"),
    row("aten::linalg_matrix_exp", cubic<48>, "16*z*n*n*n flops"),
    row("aten::linalg_pinv aten::pinverse", rectangular<16>,
        "14*z*m*n*min(m,n) flops (singular values) + 2*z*m*n*min(m,n) (the product back)"),
    row("aten::linalg_qr aten::qr", qr,
        "2*z*(m*n*k - k*k*k/3) flops + z*(4*m*c*k - 2*(m+c)*k*k + 4*k*k*k/3) for a q of c columns"),
    row("aten::linalg_solve_triangular aten::triangular_solve", solve<false, 1>,
        "n flops for each element of the result"),
    unpack_row("aten::lu_unpack", no_work, "none"),
    row("aten::ormqr", apply_reflectors,
        "z*(4*m*n*k - 2*n*k*k) flops for k reflectors from the left; 2*m*k*k from the right") |
        letters_from<reflectors_of>,
    fft_row("aten::stft", stft, "f*k multiplies (window) + 2.5*f*k*log2(k) flops for f frames of k"),
};

}  // namespace

std::span<const OpRow> linalg_rules() { return kTable<kRows>; }

}  // namespace opscope
