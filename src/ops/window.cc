// Convolutions and pooling.
#include <numeric>

#include "ops/rules.h"

namespace opscope {
namespace {

// --- Convolutions: every tap of the window is counted, those that fall on padding too, as PyTorch and fvcore
// do. N batch, C channels in, K channels out, g groups; O P Q the output's places, T R S the window's; D H W
// the input's; b is 1 with a bias.

// The last places of a shape, named from the innermost out.
void name_places(Letters& letters, const TensorView& tensor, std::size_t first, std::string_view names) {
  for (std::size_t i = tensor.rank(), k = names.size(); i-- > first && k-- > 0;)
    letters.emplace_back(names.substr(k, 1), tensor.shape[i]);
}

struct Conv {
  const TensorView *x, *weight, *out;
  bool has_bias, transposed;
  Count groups;

  bool batched() const { return x->rank() == weight->rank(); }
  std::int64_t channels() const { return x->dim(batched() ? 1 : 0); }
  std::int64_t out_channels() const { return out->dim(batched() ? 1 : 0); }
  // Each element on one side meets every tap of its group's filters.
  Count meeting() const { return (transposed ? x : out)->numel; }
  Count macs() const { return meeting() * (weight->numel / Count{weight->dim(0)}); }
  Letters letters() const {
    const std::size_t first = batched() ? 2 : 1;
    Letters all{{"N", batched() ? x->dim(0) : 1},
                {"C", channels()},
                {"K", out_channels()},
                {"g", groups},
                {"b", has_bias ? 1 : 0},
                {"s", meeting()},
                {"y", out->numel},
                {"w", weight->numel},
                {"k", weight->dim(0)}};
    name_places(all, *out, first, "OPQ");
    name_places(all, *weight, 2, "TRS");
    name_places(all, *x, first, "DHW");
    return all;
  }
};

bool fits(const Conv& conv) {
  const std::size_t rank = conv.weight->rank();
  if (rank < 3 || (conv.x->rank() != rank && conv.x->rank() + 1 != rank)) return false;
  if (conv.out->rank() != conv.x->rank() || !conv.groups || conv.weight->dim(0) <= 0) return false;
  const auto in = conv.transposed ? conv.out_channels() : conv.channels();
  const auto out = conv.transposed ? conv.channels() : conv.out_channels();
  return conv.weight->dim(0) == out && Count{conv.weight->dim(1)} * conv.groups == Count{in};
}

template <bool kTransposed>
std::optional<Conv> read(const OpCall& call) {
  const TensorView* x = either(call, "input", "self");
  const TensorView* weight = call.tensor("weight");
  if (x == nullptr || weight == nullptr || call.outputs.empty()) return std::nullopt;
  // Depthwise kernels take no groups argument: as many as channels.
  const std::int64_t missing =
      weight->dim(1) > 0 ? x->dim(x->rank() == weight->rank() ? 1 : 0) / weight->dim(1) : 1;
  const Conv conv{.x = x,
                  .weight = weight,
                  .out = &call.outputs[0],
                  .has_bias = call.tensor("bias") != nullptr,
                  .transposed = kTransposed || call.boolean("transposed").value_or(false),
                  .groups = call.integer("groups").value_or(kTransposed ? 1 : missing)};
  return fits(conv) ? std::optional(conv) : std::nullopt;
}

template <bool kTransposed, unsigned kExtraPerOutput = 0>
MaybeWork conv(const OpCall& call) {
  const auto c = read<kTransposed>(call);
  if (!c) return std::nullopt;
  const Count per_output = Count{c->has_bias ? 1 : 0} + kExtraPerOutput;
  return Work{.macs = c->macs() * mac_lanes(*c->x),
              .other_flops = c->out->numel * per_output * lanes(*c->out)};
}

// A complex convolution runs as three real ones.
template <bool kTransposed>
Count torch_conv(const OpCall& call) {
  const auto c = read<kTransposed>(call);
  return c ? c->macs() * 2 * (c->x->is_complex() ? 3 : 1) : Count{};
}

// fvcore sees `aten::_convolution` below conv2d, but not below conv2d with padding="same".
template <bool kTransposed>
Count fvcore_conv(const OpCall& call) {
  if (call.overload() == "padding") return 0;
  const auto c = read<kTransposed>(call);
  return c ? c->macs() : Count{};
}

// Time first: [T, N, C] by [taps, C, K].
MaybeWork conv_tbc(const OpCall& call) {
  const TensorView* weight = call.tensor("weight");
  if (weight == nullptr || weight->rank() != 3 || call.outputs.empty()) return std::nullopt;
  const TensorView& out = call.outputs[0];
  if (out.rank() != 3 || out.dim(2) != weight->dim(2)) return std::nullopt;
  return Work{.macs = out.numel * Count{weight->dim(0)} * Count{weight->dim(1)}, .other_flops = out.numel};
}

Letters conv_tbc_letters(const OpCall& call) {
  const TensorView* weight = call.tensor("weight");
  if (weight == nullptr || call.outputs.empty()) return {};
  return {{"n", call.outputs[0].numel}, {"S", weight->dim(0)}, {"C", weight->dim(1)}};
}

// The input's and the weight's gradient are each as many MACs as the forward pass; a bias's is a sum.
struct Backward {
  Conv conv;
  Count input, weight, bias;  // 1 where the gradient is asked for
  Work work() const {
    return {.macs = conv.macs() * (input + weight) * mac_lanes(*conv.x),
            .other_flops = conv.out->numel * bias};
  }
  Letters letters() const {
    return {{"s", conv.meeting()},
            {"w", conv.weight->numel},
            {"k", conv.weight->dim(0)},
            {"y", conv.out->numel},
            {"i", input},
            {"j", weight},
            {"b", bias}};
  }
};

std::optional<Backward> read_backward(const OpCall& call) {
  const TensorView *x = call.tensor("input"), *weight = call.tensor("weight"),
                   *grad = call.tensor("grad_output");
  const auto mask = call.ints("output_mask");
  if (x == nullptr || weight == nullptr || grad == nullptr || mask.size() != 3) return std::nullopt;
  const Conv conv{.x = x,
                  .weight = weight,
                  .out = grad,
                  .has_bias = mask[2] != 0,
                  .transposed = call.boolean("transposed").value_or(false),
                  .groups = call.integer("groups").value_or(1)};
  if (!fits(conv)) return std::nullopt;
  return Backward{conv, mask[0] != 0, mask[1] != 0, mask[2] != 0};
}

// FlopCounterMode counts the weight's gradient as if there were one group.
Count torch_backward(const OpCall& call) {
  const auto b = read_backward(call);
  return b ? b->conv.macs() * (b->input + b->weight * b->conv.groups) * 2 : Count{};
}

constexpr std::string_view k1d = "N*K*Q * (C/g)*S MACs + b*N*K*Q adds (bias)";
constexpr std::string_view k2d = "N*K*P*Q * (C/g)*R*S MACs + b*N*K*P*Q adds (bias)";
constexpr std::string_view k3d = "N*K*O*P*Q * (C/g)*T*R*S MACs + b*N*K*O*P*Q adds (bias)";
// s: elements on the side that meets every tap, the output or, transposed, the input.
constexpr std::string_view kAny = "s * (w/k) MACs + b*y adds (bias)";
constexpr std::string_view kTransposed1d = "N*C*W * (K/g)*S MACs + b*N*K*Q adds (bias)";
constexpr std::string_view kTransposed2d = "N*C*H*W * (K/g)*R*S MACs + b*N*K*P*Q adds (bias)";
constexpr std::string_view kTransposed3d = "N*C*D*H*W * (K/g)*T*R*S MACs + b*N*K*O*P*Q adds (bias)";

constexpr Family anchor_row{.category = Category::kConv, .fusion = Fusion::kAnchor};

template <bool kTransposed = false>
constexpr OpRow conv_row(std::string_view name, std::string_view formula,
                         WorkFunction work = conv<kTransposed>) {
  return anchor_row(name, work, formula) | letters_from<read<kTransposed>> |
         fvcore(fvcore_conv<kTransposed>) | in_torch_counter(torch_conv<kTransposed>);
}

// --- Pooling: n outputs, each over a window of k elements; adaptive windows have w elements in all. A window
// that hangs over the edge is counted whole.

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

constexpr Family pool_row{.category = Category::kPool, .fusion = Fusion::kReduction};

constexpr std::string_view kMax = "n*(k-1) compares";
constexpr std::string_view kAverage = "n*(k-1) adds + n divides";
constexpr std::string_view kAdaptiveMax = "w - n compares";
constexpr std::string_view kAdaptiveAverage = "w - n adds + n divides";

constexpr std::string_view kAverageBackward = "m divides + m*k adds";
constexpr std::string_view kAdaptiveBackward = "m divides + w adds";

constexpr auto kOutputPlane = indexes("indices", Within::kPlaneOf, "output_size");

constexpr OpRow kRows[] = {
    conv_row("aten::_conv_depthwise2d aten::_slow_conv2d_forward aten::conv2d aten::slow_conv_dilated2d "
             "aten::thnn_conv2d",
             k2d),
    conv_row("aten::_convolution aten::_convolution_mode aten::convolution aten::convolution_overrideable "
             "aten::cudnn_convolution aten::miopen_convolution aten::mkldnn_convolution",
             kAny),
    conv_row("aten::conv1d", k1d),
    conv_row("aten::conv3d aten::conv_depthwise3d aten::slow_conv3d aten::slow_conv3d_forward "
             "aten::slow_conv_dilated3d",
             k3d),
    anchor_row("aten::conv_tbc", conv_tbc, "n * S*C MACs + n adds (bias)") | conv_tbc_letters,
    conv_row<true>("aten::conv_transpose1d", kTransposed1d),
    conv_row<true>("aten::conv_transpose2d aten::slow_conv_transpose2d", kTransposed2d),
    conv_row<true>("aten::conv_transpose3d aten::slow_conv_transpose3d", kTransposed3d),
    anchor_row("aten::convolution_backward", work_from<read_backward>,
               "(i+j) * s * (w/k) MACs (input's and weight's gradient) + b*y adds (bias's)") |
        letters_from<read_backward> | in_torch_counter(torch_backward),
    // Adds the bias, then clamps at zero; with _add_, z is added too.
    conv_row("aten::cudnn_convolution_add_relu", "s * (w/k) MACs + b*y adds (bias) + 2*y (add, compare)",
             conv<false, 2>),
    conv_row("aten::cudnn_convolution_relu", "s * (w/k) MACs + b*y adds (bias) + y compares", conv<false, 1>),
    conv_row<true>("aten::cudnn_convolution_transpose", kAny),
    pool_row("aten::_adaptive_avg_pool2d aten::mkldnn_adaptive_avg_pool2d", adaptive_average<2>,
             kAdaptiveAverage) |
        adaptive_letters<2>,
    pool_row("aten::_adaptive_avg_pool2d_backward", adaptive_average_backward<2>, kAdaptiveBackward) |
        adaptive_letters<2, true>,
    pool_row("aten::_adaptive_avg_pool3d aten::adaptive_avg_pool3d", adaptive_average<3>, kAdaptiveAverage) |
        adaptive_letters<3>,
    pool_row("aten::_adaptive_avg_pool3d_backward", adaptive_average_backward<3>, kAdaptiveBackward) |
        adaptive_letters<3, true>,
    pool_row("aten::adaptive_avg_pool1d", adaptive_average<1>, kAdaptiveAverage) | adaptive_letters<1>,
    pool_row("aten::adaptive_avg_pool2d", adaptive_average<2>, kAdaptiveAverage) | adaptive_letters<2> |
        fvcore(fvcore_elements<1, 0>),
    pool_row("aten::adaptive_max_pool1d", adaptive_max<1>, kAdaptiveMax) | adaptive_letters<1>,
    pool_row("aten::adaptive_max_pool2d", adaptive_max<2>, kAdaptiveMax) | adaptive_letters<2>,
    pool_row("aten::adaptive_max_pool3d", adaptive_max<3>, kAdaptiveMax) | adaptive_letters<3>,
    pool_row("aten::avg_pool1d", average_pool<1>, kAverage) | pool_letters<1>,
    pool_row("aten::avg_pool2d", average_pool<2>, kAverage) | pool_letters<2>,
    pool_row("aten::avg_pool2d_backward", average_pool_backward<2>, kAverageBackward) | pool_letters<2, true>,
    pool_row("aten::avg_pool3d", average_pool<3>, kAverage) | pool_letters<3>,
    pool_row("aten::avg_pool3d_backward", average_pool_backward<3>, kAverageBackward) | pool_letters<3, true>,
    pool_row(
        "aten::fractional_max_pool2d aten::max_pool2d aten::max_pool2d_with_indices aten::mkldnn_max_pool2d "
        "aten::quantized_max_pool2d",
        max_pool<2>, kMax) |
        pool_letters<2>,
    pool_row(
        "aten::fractional_max_pool3d aten::max_pool3d aten::max_pool3d_with_indices aten::mkldnn_max_pool3d",
        max_pool<3>, kMax) |
        pool_letters<3>,
    pool_row("aten::max_pool1d aten::max_pool1d_with_indices", max_pool<1>, kMax) | pool_letters<1>,
    pool_row("aten::max_unpool2d aten::max_unpool3d", no_work, "none") | kOutputPlane,
};

}  // namespace

std::span<const OpRow> window_rules() { return kTable<kRows>; }

}  // namespace opscope
