// Convolutions. Every tap of the window is counted, those that fall on padding too, as PyTorch and fvcore do.
// N batch, C channels in, K channels out, g groups; O P Q the output's places, T R S the window's;
// D H W the input's; b is 1 with a bias.
#include "ops/rules.h"

namespace opscope {
namespace {

struct Conv {
  const TensorView *x, *weight, *out;
  bool has_bias, transposed;
  Count groups;

  bool batched() const { return x->rank() == weight->rank(); }
  std::int64_t channels() const { return x->dim(batched() ? 1 : 0); }
  std::int64_t out_channels() const { return out->dim(batched() ? 1 : 0); }
  // Each element on one side meets every tap of its group's filters.
  Count macs() const { return (transposed ? x : out)->numel * (weight->numel / Count{weight->dim(0)}); }
};

const TensorView* either(const OpCall& call, std::string_view first, std::string_view second) {
  const TensorView* found = call.tensor(first);
  return found != nullptr ? found : call.tensor(second);
}

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

// The last places of a shape, named from the innermost out.
void name_places(Letters& letters, const TensorView& tensor, std::size_t first, std::string_view names) {
  for (std::size_t i = tensor.rank(), k = names.size(); i-- > first && k-- > 0;)
    letters.emplace_back(names.substr(k, 1), tensor.shape[i]);
}

template <bool kTransposed>
Letters conv_letters(const OpCall& call) {
  const auto c = read<kTransposed>(call);
  if (!c) return {};
  const std::size_t first = c->batched() ? 2 : 1;
  Letters letters{{"N", c->batched() ? c->x->dim(0) : 1},
                  {"C", c->channels()},
                  {"K", c->out_channels()},
                  {"g", c->groups},
                  {"b", c->has_bias ? 1 : 0},
                  {"s", (c->transposed ? c->x : c->out)->numel},
                  {"y", c->out->numel},
                  {"w", c->weight->numel},
                  {"k", c->weight->dim(0)}};
  name_places(letters, *c->out, first, "OPQ");
  name_places(letters, *c->weight, 2, "TRS");
  name_places(letters, *c->x, first, "DHW");
  return letters;
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

MaybeWork conv_backward(const OpCall& call) {
  const auto b = read_backward(call);
  if (!b) return std::nullopt;
  return Work{.macs = b->conv.macs() * (b->input + b->weight) * mac_lanes(*b->conv.x),
              .other_flops = b->conv.out->numel * b->bias};
}

// FlopCounterMode counts the weight's gradient as if there were one group.
Count torch_backward(const OpCall& call) {
  const auto b = read_backward(call);
  return b ? b->conv.macs() * (b->input + b->weight * b->conv.groups) * 2 : Count{};
}

Letters backward_letters(const OpCall& call) {
  const auto b = read_backward(call);
  if (!b) return {};
  return {{"s", (b->conv.transposed ? b->conv.x : b->conv.out)->numel},
          {"w", b->conv.weight->numel},
          {"k", b->conv.weight->dim(0)},
          {"y", b->conv.out->numel},
          {"i", b->input},
          {"j", b->weight},
          {"b", b->bias}};
}

constexpr std::string_view k1d = "N*K*Q * (C/g)*S MACs + b*N*K*Q adds (bias)";
constexpr std::string_view k2d = "N*K*P*Q * (C/g)*R*S MACs + b*N*K*P*Q adds (bias)";
constexpr std::string_view k3d = "N*K*O*P*Q * (C/g)*T*R*S MACs + b*N*K*O*P*Q adds (bias)";
// s: elements on the side that meets every tap, the output or, transposed, the input.
constexpr std::string_view kAny = "s * (w/k) MACs + b*y adds (bias)";
constexpr std::string_view kTransposed1d = "N*C*W * (K/g)*S MACs + b*N*K*Q adds (bias)";
constexpr std::string_view kTransposed2d = "N*C*H*W * (K/g)*R*S MACs + b*N*K*P*Q adds (bias)";
constexpr std::string_view kTransposed3d = "N*C*D*H*W * (K/g)*T*R*S MACs + b*N*K*O*P*Q adds (bias)";

constexpr Family plain_row{.category = Category::kConv, .fusion = Fusion::kAnchor};

template <bool kTransposed = false>
constexpr OpRow row(std::string_view name, std::string_view formula, WorkFunction work = conv<kTransposed>) {
  return plain_row(name, work, formula) | conv_letters<kTransposed> | fvcore(fvcore_conv<kTransposed>) |
         in_torch_counter(torch_conv<kTransposed>);
}

constexpr OpRow kRows[] = {
    row("aten::_conv_depthwise2d aten::_slow_conv2d_forward aten::conv2d aten::slow_conv_dilated2d "
        "aten::thnn_conv2d",
        k2d),
    row("aten::_convolution aten::_convolution_mode aten::convolution aten::convolution_overrideable "
        "aten::cudnn_convolution aten::miopen_convolution aten::mkldnn_convolution",
        kAny),
    row("aten::conv1d", k1d),
    row("aten::conv3d aten::conv_depthwise3d aten::slow_conv3d aten::slow_conv3d_forward "
        "aten::slow_conv_dilated3d",
        k3d),
    plain_row("aten::conv_tbc", conv_tbc, "n * S*C MACs + n adds (bias)") | conv_tbc_letters,
    row<true>("aten::conv_transpose1d", kTransposed1d),
    row<true>("aten::conv_transpose2d aten::slow_conv_transpose2d", kTransposed2d),
    row<true>("aten::conv_transpose3d aten::slow_conv_transpose3d", kTransposed3d),
    plain_row("aten::convolution_backward", conv_backward,
              "(i+j) * s * (w/k) MACs (input's and weight's gradient) + b*y adds (bias's)") |
        backward_letters | in_torch_counter(torch_backward),
    // Adds the bias, then clamps at zero; with _add_, z is added too.
    row("aten::cudnn_convolution_add_relu", "s * (w/k) MACs + b*y adds (bias) + 2*y (add, compare)",
        conv<false, 2>),
    row("aten::cudnn_convolution_relu", "s * (w/k) MACs + b*y adds (bias) + y compares", conv<false, 1>),
    row<true>("aten::cudnn_convolution_transpose", kAny),
};

}  // namespace

std::span<const OpRow> conv_rules() { return kTable<kRows>; }

}  // namespace opscope
