// Fourier transforms: 5*N*log2(N) flops for N complex points, half for real ones (the usual split-radix count
// is some 20 % lower, so estimated). log2 is rounded up.
#include <bit>

#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

Count log2_of(Count value) { return value.value() < 2 ? 0 : std::bit_width(value.value() - 1); }

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

constexpr Family row{
    .category = Category::kFft, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};

constexpr OpRow kRules[] = {
    row("aten::_fft_c2c", fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::_fft_c2r", fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::_fft_r2c", fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_fft", fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_fft2", fft<2>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_fftn", fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_hfft", fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_ifft", fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_ifft2", fft<2>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_ifftn", fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_ihfft", fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_irfft", fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_irfft2", fft<2>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_irfftn", fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_rfft", fft<1>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_rfft2", fft<2>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::fft_rfftn", fft<0>, "5*N*log2(k) flops for N points in transforms of k; half if real"),
    row("aten::istft", istft, "2.5*f*k*log2(k) flops for f frames of k + 2*f*k (window, add) + n divides"),
    row("aten::stft", stft, "f*k multiplies (window) + 2.5*f*k*log2(k) flops for f frames of k"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> fft_rules() { return kRules; }

}  // namespace opscope
