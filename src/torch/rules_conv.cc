// Shape rules of convolutions. The CPU kernels answer in channels-last when the input or the weight is, which
// PyTorch's own meta kernels do not say.
#include <algorithm>

#include "torch/layout.h"
#include "torch/recording.h"

namespace opscope::engine {
namespace {

struct Conv {
  const at::Tensor* input = nullptr;
  const at::Tensor* weight = nullptr;
  const at::Tensor* bias = nullptr;
  std::size_t rank = 0;  // spatial dimensions
  Sizes stride, padding, dilation, output_padding;
  std::int64_t groups = 1;
  bool transposed = false;
  bool same = false;  // padding="same"
};

bool read_tensors(RuleCall& call, Conv& conv) {
  conv.input = call.tensor(0);
  conv.weight = call.tensor(1);
  if (!conv.input || !conv.weight) return false;
  // The real kernels refuse mixed dtypes, and the meta kernels take them.
  TORCH_CHECK(conv.input->scalar_type() == conv.weight->scalar_type(), "Input type (", conv.input->scalar_type(),
              ") and weight type (", conv.weight->scalar_type(), ") should be the same");
  if (!c10::isFloatingType(conv.input->scalar_type())) return false;
  if (!call.none(2)) {
    conv.bias = call.tensor(2);
    if (!conv.bias || conv.bias->dim() != 1 || conv.bias->scalar_type() != conv.input->scalar_type())
      return false;
  }
  conv.rank = static_cast<std::size_t>(conv.weight->dim() - 2);
  return conv.rank >= 1 && conv.rank <= 3 && conv.input->dim() == conv.weight->dim() &&
         conv.input->numel() > 0;
}

// One value stands for all dimensions.
bool fill(Sizes& values, std::size_t rank, std::int64_t least) {
  if (values.size() == 1) values.resize(rank, values[0]);
  for (const std::int64_t value : values)
    if (value < least) return false;
  return values.size() == rank;
}

bool valid(Conv& conv) {
  if (conv.output_padding.empty()) conv.output_padding.assign(conv.rank, 0);
  if (conv.same || conv.padding.empty()) conv.padding.assign(conv.rank, 0);
  if (!fill(conv.stride, conv.rank, 1) || !fill(conv.padding, conv.rank, 0) ||
      !fill(conv.dilation, conv.rank, 1) || !fill(conv.output_padding, conv.rank, 0))
    return false;
  const std::int64_t channels = conv.input->size(1);
  const std::int64_t filters = conv.weight->size(0);
  if (conv.groups < 1 || conv.weight->numel() == 0) return false;
  if (conv.input->scalar_type() != conv.weight->scalar_type()) return false;
  if (conv.transposed) {
    if (channels != filters || channels % conv.groups != 0) return false;
    return !conv.bias || conv.bias->size(0) == conv.weight->size(1) * conv.groups;
  }
  if (conv.weight->size(1) * conv.groups != channels || filters % conv.groups != 0) return false;
  return !conv.bias || conv.bias->size(0) == filters;
}

std::int64_t output_size(const Conv& conv, std::size_t d) {
  const std::int64_t input = conv.input->sizes()[d + 2];
  const std::int64_t reach = conv.dilation[d] * (conv.weight->sizes()[d + 2] - 1);
  if (conv.same) return input;
  if (conv.transposed)
    return (input - 1) * conv.stride[d] - 2 * conv.padding[d] + reach + conv.output_padding[d] + 1;
  const std::int64_t room = input + 2 * conv.padding[d] - reach - 1;
  return room < 0 ? 0 : room / conv.stride[d] + 1;
}

// In three dimensions PyTorch's own CPU kernels know only the contiguous layout, and oneDNN's are chosen by
// dtype, size and thread count.
bool uses_onednn(const Conv& conv, int threads) {
  const auto type = conv.input->scalar_type();
  if (type == at::kBFloat16 || type == at::kHalf) return true;
  if (type != at::kFloat) return false;
  const auto plain = [](const Sizes& steps) {
    return std::ranges::all_of(steps, [](auto step) { return step == 1; });
  };
  const auto& weight = *conv.weight;
  const auto& input = *conv.input;
  const bool pointwise = plain(conv.stride) && plain(conv.dilation) && input.size(0) < 16 &&
                         weight.size(-1) == 1 && weight.size(-2) == 1 && threads == 1;
  const bool large = conv.groups > 1 || (weight.size(-1) > 3 && weight.size(-2) > 3) || input.size(0) > 1 ||
                     input.size(0) * input.size(1) * input.size(2) * input.size(3) > 20480;
  return !pointwise && large;
}

// A 1-d convolution runs as a 2-d one of height 1 on a contiguous input, so only its weight can ask for
// channels-last.
Sizes flat_strides(const Conv& conv, const Sizes& sizes) {
  const auto shape = conv.weight->sizes();
  const auto steps = conv.weight->strides();
  const Sizes as_2d{shape[0], shape[1], 1, shape[2]};
  const Sizes steps_2d{steps[0], steps[1], shape[2] * steps[2], steps[2]};
  if (suggested_format({as_2d, steps_2d}) == at::MemoryFormat::Contiguous)
    return engine::contiguous_strides(sizes);
  return {sizes[1] * sizes[2], 1, sizes[1]};
}

Sizes output_strides(const Conv& conv, const Sizes& sizes, int threads) {
  if (conv.rank == 1) return flat_strides(conv, sizes);
  at::MemoryFormat format = conv.input->suggest_memory_format();
  if (format == at::MemoryFormat::Contiguous) format = conv.weight->suggest_memory_format();
  if (conv.rank == 3 && !uses_onednn(conv, threads)) format = at::MemoryFormat::Contiguous;
  return format_strides(sizes, format);
}

bool emit(RuleCall& call, Conv& conv) {
  if (!valid(conv)) return false;
  Sizes sizes{conv.input->size(0),
              conv.transposed ? conv.weight->size(1) * conv.groups : conv.weight->size(0)};
  for (std::size_t d = 0; d < conv.rank; ++d) {
    sizes.push_back(output_size(conv, d));
    if (sizes.back() <= 0) return false;
    if (conv.transposed && conv.output_padding[d] >= std::max(conv.stride[d], conv.dilation[d])) return false;
  }
  call.output(sizes, output_strides(conv, sizes, call.recording().threads), conv.input->scalar_type());
  return true;
}

template <std::size_t kRank>
bool conv(RuleCall& call) {
  Conv c;
  if (!read_tensors(call, c) || c.rank != kRank) return false;
  c.stride = call.ints(3);
  c.dilation = call.ints(5);
  c.groups = call.integer(6, 1);
  if (!call.at(4).isString()) {
    c.padding = call.ints(4);
    return !c.padding.empty() && emit(call, c);
  }
  c.same = call.at(4).toStringRef() == "same";
  if (!c.same && call.at(4).toStringRef() != "valid") return false;
  if (c.same)
    for (const std::int64_t stride : c.stride)
      if (stride != 1) return false;
  return emit(call, c);
}

template <std::size_t kRank>
bool conv_transpose(RuleCall& call) {
  Conv c;
  if (!read_tensors(call, c) || c.rank != kRank) return false;
  c.stride = call.ints(3);
  c.padding = call.ints(4);
  c.output_padding = call.ints(5);
  c.groups = call.integer(6, 1);
  c.dilation = call.ints(7);
  c.transposed = true;
  return emit(call, c);
}

// aten::convolution and the _convolution that scripted models call.
bool convolution(RuleCall& call) {
  Conv c;
  if (!read_tensors(call, c)) return false;
  c.stride = call.ints(3);
  c.padding = call.ints(4);
  c.dilation = call.ints(5);
  c.transposed = call.flag(6);
  c.output_padding = call.ints(7);
  c.groups = call.integer(8, 1);
  return emit(call, c);
}

constexpr ShapeRuleRow kRules[] = {
    {"aten::_convolution", "", convolution},
    {"aten::_convolution", "deprecated", convolution},
    {"aten::conv1d", "", conv<1>},
    {"aten::conv1d", "padding", conv<1>},
    {"aten::conv2d", "", conv<2>},
    {"aten::conv2d", "padding", conv<2>},
    {"aten::conv3d", "", conv<3>},
    {"aten::conv3d", "padding", conv<3>},
    {"aten::conv_transpose1d", "", conv_transpose<1>},
    {"aten::conv_transpose2d", "input", conv_transpose<2>},
    {"aten::conv_transpose3d", "input", conv_transpose<3>},
    {"aten::convolution", "", convolution},
};

}  // namespace

std::span<const ShapeRuleRow> conv_shape_rules() { return kRules; }

}  // namespace opscope::engine
