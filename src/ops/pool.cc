// Pooling. n outputs, each over a window of k elements; adaptive windows have w elements in all. A window
// that hangs over the edge is counted whole.
#include <numeric>

#include "ops/rules.h"

namespace opscope {
namespace {

// The window's elements; one number stands for all of kDims sides.
template <std::size_t kDims>
std::optional<Count> window(const OpCall& call) {
  const auto sizes = call.ints("kernel_size");
  Count k = 1;
  for (std::size_t i = 0; i < kDims && !sizes.empty(); ++i) k *= Count{sizes[i < sizes.size() ? i : 0]};
  const bool fits = (sizes.size() == 1 || sizes.size() == kDims) && k && !call.outputs.empty();
  return fits ? std::optional(k) : std::nullopt;
}

// As many flops as the window has elements, and kMore, less kLess, for each result or, going backward, for
// each gradient that is given: the first input.
template <std::size_t kDims, bool kBackward, unsigned kMore, unsigned kLess>
MaybeWork pool(const OpCall& call) {
  const auto k = window<kDims>(call);
  const auto tensors = kBackward ? call.inputs : call.outputs;
  if (!k || tensors.empty()) return std::nullopt;
  return Work{.other_flops = tensors[0].numel * (*k + kMore - kLess)};
}

template <std::size_t kDims>
constexpr WorkFunction max_pool = pool<kDims, false, 0, 1>;
template <std::size_t kDims>
constexpr WorkFunction average_pool = pool<kDims, false, 0, 0>;
// Each gradient is divided among the places of its window and added there.
template <std::size_t kDims>
constexpr WorkFunction average_pool_backward = pool<kDims, true, 1, 0>;

// O windows over I places run from floor(i*I/O) to ceil((i+1)*I/O): I + O - gcd(I, O) elements in all.
template <std::size_t kDims>
std::optional<Count> adaptive_elements(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  if (x.rank() != out.rank() || x.rank() < kDims + 1) return std::nullopt;
  Count total = 1;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t in_size = x.shape[i], out_size = out.shape[i];
    if (in_size < 0 || out_size < 0) return std::nullopt;
    total *= i + kDims < x.rank() ? Count{in_size}
                                  : Count{in_size} + Count{out_size} - Count{std::gcd(in_size, out_size)};
  }
  return out.numel ? total : Count{};
}

template <std::size_t kDims>
MaybeWork adaptive_average(const OpCall& call) {
  const auto w = adaptive_elements<kDims>(call);
  return w ? std::optional(Work{.other_flops = *w}) : std::nullopt;
}

template <std::size_t kDims>
MaybeWork adaptive_max(const OpCall& call) {
  const auto w = adaptive_elements<kDims>(call);
  return w ? std::optional(Work{.other_flops = *w - call.outputs[0].numel}) : std::nullopt;
}

// The windows are the forward's: what goes in here came out there.
template <std::size_t kDims>
MaybeWork adaptive_average_backward(const OpCall& call) {
  const auto w = adaptive_elements<kDims>(call);
  return w ? std::optional(Work{.other_flops = *w + call.inputs[0].numel}) : std::nullopt;
}

// The elements of a window, or of all adaptive ones; beside the results or, going backward, the gradients.
template <std::size_t kDims, bool kBackward = false>
Letters pool_letters(const OpCall& call) {
  const auto k = window<kDims>(call);
  const auto tensors = kBackward ? call.inputs : call.outputs;
  return k && !tensors.empty() ? Letters{{kBackward ? "m" : "n", tensors[0].numel}, {"k", *k}} : Letters{};
}

template <std::size_t kDims, bool kBackward = false>
Letters adaptive_letters(const OpCall& call) {
  const auto w = adaptive_elements<kDims>(call);
  if (!w) return {};
  return {kBackward ? std::pair{"m", call.inputs[0].numel} : std::pair{"n", call.outputs[0].numel},
          {"w", *w}};
}

constexpr Family row{.category = Category::kPool, .fusion = Fusion::kReduction};

constexpr std::string_view kMax = "n*(k-1) compares";
constexpr std::string_view kAverage = "n*(k-1) adds + n divides";
constexpr std::string_view kAdaptiveMax = "w - n compares";
constexpr std::string_view kAdaptiveAverage = "w - n adds + n divides";

constexpr std::string_view kAverageBackward = "m divides + m*k adds";
constexpr std::string_view kAdaptiveBackward = "m divides + w adds";

constexpr auto kOutputPlane = indexes("indices", Within::kPlaneOf, "output_size");

constexpr OpRow kRows[] = {
    row("aten::_adaptive_avg_pool2d aten::mkldnn_adaptive_avg_pool2d", adaptive_average<2>,
        kAdaptiveAverage) |
        adaptive_letters<2>,
    row("aten::_adaptive_avg_pool2d_backward", adaptive_average_backward<2>, kAdaptiveBackward) |
        adaptive_letters<2, true>,
    row("aten::_adaptive_avg_pool3d aten::adaptive_avg_pool3d", adaptive_average<3>, kAdaptiveAverage) |
        adaptive_letters<3>,
    row("aten::_adaptive_avg_pool3d_backward", adaptive_average_backward<3>, kAdaptiveBackward) |
        adaptive_letters<3, true>,
    row("aten::adaptive_avg_pool1d", adaptive_average<1>, kAdaptiveAverage) | adaptive_letters<1>,
    row("aten::adaptive_avg_pool2d", adaptive_average<2>, kAdaptiveAverage) | adaptive_letters<2> |
        fvcore(fvcore_elements<1, 0>),
    row("aten::adaptive_max_pool1d", adaptive_max<1>, kAdaptiveMax) | adaptive_letters<1>,
    row("aten::adaptive_max_pool2d", adaptive_max<2>, kAdaptiveMax) | adaptive_letters<2>,
    row("aten::adaptive_max_pool3d", adaptive_max<3>, kAdaptiveMax) | adaptive_letters<3>,
    row("aten::avg_pool1d", average_pool<1>, kAverage) | pool_letters<1>,
    row("aten::avg_pool2d", average_pool<2>, kAverage) | pool_letters<2>,
    row("aten::avg_pool2d_backward", average_pool_backward<2>, kAverageBackward) | pool_letters<2, true>,
    row("aten::avg_pool3d", average_pool<3>, kAverage) | pool_letters<3>,
    row("aten::avg_pool3d_backward", average_pool_backward<3>, kAverageBackward) | pool_letters<3, true>,
    row("aten::fractional_max_pool2d aten::max_pool2d aten::max_pool2d_with_indices aten::mkldnn_max_pool2d "
        "aten::quantized_max_pool2d",
        max_pool<2>, kMax) |
        pool_letters<2>,
    row("aten::fractional_max_pool3d aten::max_pool3d aten::max_pool3d_with_indices aten::mkldnn_max_pool3d",
        max_pool<3>, kMax) |
        pool_letters<3>,
    row("aten::max_pool1d aten::max_pool1d_with_indices", max_pool<1>, kMax) | pool_letters<1>,
    row("aten::max_unpool2d aten::max_unpool3d", no_work, "none") | kOutputPlane,
};

}  // namespace

std::span<const OpRow> pool_rules() { return kTable<kRows>; }

}  // namespace opscope
