// Shape rules of convolutions. The CPU kernels answer in channels-last when the input or the weight is, which
// PyTorch's own meta kernels do not say.
#include <algorithm>

#include "torch/rules/layout.h"

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
  TORCH_CHECK(conv.input->scalar_type() == conv.weight->scalar_type(), "Input type (",
              conv.input->scalar_type(), ") and weight type (", conv.weight->scalar_type(),
              ") should be the same");
  if (!c10::isFloatingType(conv.input->scalar_type())) return false;
  if (!call.absent(2)) {
    conv.bias = call.tensor(2);
    if (!conv.bias || conv.bias->dim() != 1 || conv.bias->scalar_type() != conv.input->scalar_type())
      return false;
  }
  conv.rank = static_cast<std::size_t>(conv.weight->dim() - 2);
  return conv.rank >= 1 && conv.rank <= 3 && conv.input->dim() == conv.weight->dim() &&
         conv.input->numel() > 0;
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

Sizes output_strides(const Conv& conv, const Sizes& sizes, int threads) {
  // A 1-d convolution runs as a 2-d one of height 1 on a contiguous input, so only its weight can ask for
  // channels-last.
  if (conv.rank == 1) return flat_strides(*conv.weight, sizes);
  at::MemoryFormat format = conv.input->suggest_memory_format();
  if (format == at::MemoryFormat::Contiguous) format = conv.weight->suggest_memory_format();
  if (conv.rank == 3 && !uses_onednn(conv, threads)) format = at::MemoryFormat::Contiguous;
  return format_strides(sizes, format);
}

std::uint64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.numel()) * tensor.element_size();
}

// oneDNN's kernels want blocks of channels, and copy what is not: input, weight and output. A few channels
// and channels-last are taken as they are.
struct Copies {
  std::uint64_t input = 0, weight = 0, output = 0;
};

std::optional<Copies> copies(RuleCall& call, const Conv& conv, std::uint64_t output) {
  if (!call.device().is_cpu() || conv.rank != 2 || !uses_onednn(conv, call.threads())) return std::nullopt;
  const auto weight = bytes_of(*conv.weight);
  const bool last = conv.input->suggest_memory_format() != at::MemoryFormat::Contiguous ||
                    conv.weight->suggest_memory_format() != at::MemoryFormat::Contiguous;
  if (last) return Copies{0, weight, 0};
  const bool few = conv.groups == 1 && conv.input->size(1) <= 4;
  return Copies{few ? 0 : bytes_of(*conv.input), weight, output};
}

// All three copies, then the output itself in place of what the kernel has read.
void allocate_for_forward(RuleCall& call, const Conv& conv, const Sizes& sizes) {
  const auto output = static_cast<std::uint64_t>(element_count(sizes)) * conv.input->element_size();
  const auto copied = copies(call, conv, output);
  if (copied) call.allocates(std::max(copied->input + copied->weight, copied->output) + output);
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
  allocate_for_forward(call, conv, sizes);
  return call.output(sizes, output_strides(conv, sizes, call.threads()), conv.input->scalar_type());
}

// Which arguments these are.
struct Places {
  std::size_t stride, padding, dilation, output_padding, groups;
};

void read_steps(const RuleCall& call, const Places& at, Conv& conv) {
  conv.stride = call.ints(at.stride);
  conv.padding = call.ints(at.padding);
  conv.dilation = call.ints(at.dilation);
  conv.output_padding = call.ints(at.output_padding);
  conv.groups = call.integer(at.groups, 1);
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
  const bool steps = std::ranges::any_of(c.stride, [](auto stride) { return stride != 1; });
  return !(c.same && steps) && emit(call, c);
}

template <std::size_t kRank>
bool conv_transpose(RuleCall& call) {
  Conv c;
  if (!read_tensors(call, c) || c.rank != kRank) return false;
  read_steps(call, {.stride = 3, .padding = 4, .dilation = 7, .output_padding = 5, .groups = 6}, c);
  c.transposed = true;
  return emit(call, c);
}

// aten::convolution and the _convolution that scripted models call.
bool convolution(RuleCall& call) {
  Conv c;
  if (!read_tensors(call, c)) return false;
  read_steps(call, {.stride = 3, .padding = 4, .dilation = 5, .output_padding = 7, .groups = 8}, c);
  c.transposed = call.flag(6);
  return emit(call, c);
}

// The gradient of the input from copies of the output's and of the weight, then the weight's from copies of
// the input and the output's.
void allocate_for_backward(RuleCall& call, const Conv& conv, const at::Tensor& grad, bool of_input) {
  const auto copied = copies(call, conv, bytes_of(grad));
  if (!copied) return;
  const auto weight = copied->weight, made = of_input ? bytes_of(*conv.input) : 0;
  const auto first = of_input ? std::max(copied->output + weight + made, 2 * made) : 0;
  call.allocates(std::max(first, made + weight + std::max(copied->input + copied->output, weight)));
}

// With channels last nothing is copied but the weight, whose gradient is made in blocks, summed up beside
// them and copied back. In half precision it is summed up in float32. Large windows of single channels are
// summed up in 256 parts. Measured with oneDNN 3.12 on processors with AVX-512; what its threads hold is not
// here.
void allocate_for_other_backward(RuleCall& call, const Conv& conv, bool of_input) {
  constexpr std::uint64_t kParts = 256;
  if (!call.device().is_cpu() || !uses_onednn(conv, call.threads())) return;
  const std::uint64_t weight = bytes_of(*conv.weight), input = bytes_of(*conv.input);
  const std::uint64_t made = of_input ? input : 0;
  const bool last = conv.input->suggest_memory_format() != at::MemoryFormat::Contiguous ||
                    conv.weight->suggest_memory_format() != at::MemoryFormat::Contiguous;
  const bool single = conv.groups > 1 && conv.weight->size(1) == 1;
  const bool large = conv.weight->size(-1) > 3 && conv.weight->size(-2) > 3;
  if (last) return call.allocates(made + (single && large ? (kParts + 2) * weight : 3 * weight));
  const bool few = conv.groups == 1 && conv.input->size(1) <= 4;
  const std::uint64_t grad = bytes_of(*call.tensor(0)), copied = grad + (few ? 0 : input);
  call.allocates(made + weight + copied + 2 * weight);
}

// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask
bool convolution_backward(RuleCall& call) {
  Conv c;
  const at::Tensor* grad = call.tensor(0);
  c.input = call.tensor(1);
  c.weight = call.tensor(2);
  if (!grad || !c.input || !c.weight || c.weight->dim() != 4 || c.input->dim() != 4) return false;
  const bool plain = grad->is_contiguous() && c.input->is_contiguous() && c.weight->is_contiguous() &&
                     c.input->scalar_type() == at::kFloat && c.weight->scalar_type() == at::kFloat &&
                     grad->scalar_type() == at::kFloat && c.input->numel() > 0;
  if (!call.device().is_cpu()) return false;
  c.rank = 2;
  read_steps(call, {.stride = 4, .padding = 5, .dilation = 6, .output_padding = 8, .groups = 9}, c);
  c.transposed = call.flag(7);
  if (c.transposed || !valid(c)) return false;
  if (!plain) {
    if (c.input->numel() > 0) allocate_for_other_backward(call, c, call.wants(10, 0));
    return false;  // PyTorch's meta kernel knows its layouts
  }
  const bool fits = grad->dim() == 4 && grad->size(0) == c.input->size(0) &&
                    grad->size(1) == c.weight->size(0) && grad->size(2) == output_size(c, 0) &&
                    grad->size(3) == output_size(c, 1);
  if (!fits) return false;
  if (call.wants(10, 2) && !call.wants(10, 1)) return false;  // some kernels give both
  allocate_for_backward(call, c, *grad, call.wants(10, 0));
  call.gradient(10, 0, c.input->sizes(), at::kFloat);
  call.gradient(10, 1, c.weight->sizes(), at::kFloat);
  return call.gradient(10, 2, {c.weight->size(0)}, at::kFloat);
}

constexpr ShapeRuleRow kConvRules[] = {
    {"aten::_convolution aten::convolution", "", convolution},
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
    {"aten::convolution_backward", "", convolution_backward},
};

}  // namespace

std::span<const ShapeRuleRow> conv_shape_rules() { return kConvRules; }

}  // namespace opscope::engine
