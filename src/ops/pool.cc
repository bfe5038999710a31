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

template <std::size_t kDims>
MaybeWork max_pool(const OpCall& call) {
  const auto k = window<kDims>(call);
  return k ? std::optional(Work{.other_flops = call.outputs[0].numel * (*k - 1)}) : std::nullopt;
}

template <std::size_t kDims>
MaybeWork average_pool(const OpCall& call) {
  const auto k = window<kDims>(call);
  return k ? std::optional(Work{.other_flops = call.outputs[0].numel * *k}) : std::nullopt;
}

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

// Each of m gradients is divided among the places of its window and added there; m is the first input.
template <std::size_t kDims>
MaybeWork average_pool_backward(const OpCall& call) {
  const auto k = window<kDims>(call);
  if (!k || call.inputs.empty()) return std::nullopt;
  return Work{.other_flops = call.inputs[0].numel * (*k + 1)};
}

// The windows are the forward's: what goes in here came out there.
template <std::size_t kDims>
MaybeWork adaptive_average_backward(const OpCall& call) {
  const auto w = adaptive_elements<kDims>(call);
  return w ? std::optional(Work{.other_flops = *w + call.inputs[0].numel}) : std::nullopt;
}

// The elements of a window, or of all adaptive ones; beside the results or, going backward, the gradients.
template <std::size_t kDims>
Letters pool_letters(const OpCall& call) {
  const auto k = window<kDims>(call);
  return k ? Letters{{"n", call.outputs[0].numel}, {"k", *k}} : Letters{};
}

template <std::size_t kDims>
Letters pool_backward_letters(const OpCall& call) {
  const auto k = window<kDims>(call);
  return k && !call.inputs.empty() ? Letters{{"m", call.inputs[0].numel}, {"k", *k}} : Letters{};
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
    row("aten::avg_pool2d_backward", average_pool_backward<2>, kAverageBackward) | pool_backward_letters<2>,
    row("aten::avg_pool3d", average_pool<3>, kAverage) | pool_letters<3>,
    row("aten::avg_pool3d_backward", average_pool_backward<3>, kAverageBackward) | pool_backward_letters<3>,
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
