// Dense linear algebra by LAPACK's usual counts for z matrices of m rows and n columns; estimated, since
// pivoting and convergence depend on the data.
//
// Fourier transforms: 5*N*log2(N) flops for N complex points, half for real ones (the usual split-radix count
// is some 20 % lower, so estimated). log2 is rounded up.
#include "ops/rules.h"

namespace opscope {
namespace {

struct Matrices {
  Count z, m, n;
  Letters letters() const { return {{"z", z}, {"m", m}, {"n", n}}; }
};

std::optional<Matrices> matrices_of(const OpCall& call) {
  const TensorView* a = either(call, "A", "self");
  if (a == nullptr || a->rank() < 2) return std::nullopt;
  return Matrices{.z = leading(*a, 2), .m = a->dim(-2), .n = a->dim(-1)};
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

constexpr OpRow kRows[] = {
    fft_row("aten::_fft_c2c aten::_fft_c2r aten::_fft_r2c aten::fft_fftn aten::fft_ifftn aten::fft_irfftn "
            "aten::fft_rfftn",
            fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::_linalg_det aten::_linalg_slogdet aten::det aten::linalg_det aten::linalg_lu "
        "aten::linalg_lu_factor aten::linalg_lu_factor_ex aten::linalg_slogdet aten::logdet aten::slogdet",
        cubic<2>, "2*z*n*n*n/3 flops"),
    row("aten::_linalg_eigh aten::linalg_eigh aten::linalg_eigvalsh", cubic<27>, "9*z*n*n*n flops"),
    row("aten::_linalg_solve_ex aten::linalg_solve aten::linalg_solve_ex", solve<true, 2>,
        "2*z*n*n*n/3 flops to factor + 2*n for each element of the result"),
    row("aten::_linalg_svd aten::linalg_svd aten::linalg_svdvals aten::nuclear_norm aten::svd",
        rectangular<14>, "14*z*m*n*min(m,n) flops"),
    row("aten::cholesky aten::linalg_cholesky aten::linalg_cholesky_ex", cubic<1>, "z*n*n*n/3 flops"),
    fft_row("aten::fft_fft aten::fft_hfft aten::fft_ifft aten::fft_ihfft aten::fft_irfft aten::fft_rfft",
            fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    fft_row("aten::fft_fft2 aten::fft_ifft2 aten::fft_irfft2 aten::fft_rfft2", fft<2>,
            "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::inverse aten::linalg_inv aten::linalg_inv_ex", cubic<6>, "2*z*n*n*n flops"),
    fft_row("aten::istft", istft,
            "2.5*f*k*log2(k) flops for f frames of k + 2*f*k (window, add) + n divides"),
    row("aten::linalg_eig aten::linalg_eigvals", cubic<75>, "25*z*n*n*n flops"),
    row("aten::linalg_lstsq", least_squares,
        "2*z*m*n*min(m,n) flops to factor + 4*n for each element of the right side"),
    row("aten::linalg_matrix_exp", cubic<48>, "16*z*n*n*n flops"),
    row("aten::linalg_pinv aten::pinverse", rectangular<16>,
        "14*z*m*n*min(m,n) flops (singular values) + 2*z*m*n*min(m,n) (the product back)"),
    row("aten::linalg_qr aten::qr", rectangular<2>, "2*z*m*n*min(m,n) flops"),
    row("aten::linalg_solve_triangular", solve<false, 1>, "n flops for each element of the result"),
    fft_row("aten::stft", stft, "f*k multiplies (window) + 2.5*f*k*log2(k) flops for f frames of k"),
};

}  // namespace

std::span<const OpRow> linalg_rules() { return kTable<kRows>; }

}  // namespace opscope
