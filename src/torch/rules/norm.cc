// Shape rules of normalisation layers and softmax, and of their gradients.
#include <algorithm>

#include "torch/engine/torch_version.h"
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// Optional arguments: each absent, or one number for each channel.
bool per_channel(const RuleCall& call, const at::Tensor& input,
                 std::initializer_list<std::size_t> arguments) {
  return std::ranges::all_of(arguments, [&](std::size_t i) {
    if (call.absent(i)) return true;
    const at::Tensor* tensor = call.tensor(i);
    return tensor && tensor->dim() == 1 && tensor->size(0) == input.size(1);
  });
}

bool batch_norm(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  if (!input || input->dim() < 2 || !per_channel(call, *input, {1, 2, 3, 4})) return false;
  const bool training = call.flag(5);
  if (!training && (call.none(3) || call.none(4))) return false;
  // One value per channel has no variance: PyTorch's Python layer raises, the kernel does not.
  if (training && input->numel() == 0) return false;
  return call.output(input->sizes(), input->scalar_type(), input->suggest_memory_format());
}

// Of means and deviations that are kept for the backward pass: a CUDA device has them in float32 for halves.
at::ScalarType statistics_dtype(const RuleCall& call, const at::Tensor& input, const at::Tensor* weight) {
  const auto dtype = weight ? weight->scalar_type() : input.scalar_type();
  const bool half = dtype == at::kHalf || dtype == at::kBFloat16;
  return half && call.device().is_cuda() ? at::kFloat : dtype;
}

bool native_batch_norm(RuleCall& call) {
  if (!batch_norm(call)) return false;
  const at::Tensor& input = call.at(0).toTensor();
  const std::int64_t channels = call.flag(5) ? input.size(1) : 0;
  const auto dtype = statistics_dtype(call, input, call.tensor(1));
  call.output({channels}, dtype);
  return call.output({channels}, dtype);
}

// input, weight, bias, running_mean, running_var, training, factor, epsilon; its last result is a reserve
// that only channels-last layouts have.
bool cudnn_batch_norm(RuleCall& call) {
  const at::Tensor *input = call.floats(0), *weight = call.tensor(1);
  if (!input || !weight || input->dim() < 2) return false;
  call.output(input->sizes(), input->scalar_type(), input->suggest_memory_format());
  const std::int64_t channels = call.flag(5) ? input->size(1) : 0;
  call.output({channels}, weight->scalar_type());
  call.output({channels}, weight->scalar_type());
  return call.output({0}, at::kByte);
}

// input, grad, weight, ...
bool cudnn_batch_norm_backward(RuleCall& call) {
  const at::Tensor *input = call.floats(0), *weight = call.tensor(2);
  if (!input || !weight) return false;
  call.output(input->sizes(), input->scalar_type(), input->suggest_memory_format());
  call.output(weight->sizes(), weight->scalar_type());
  return call.output(weight->sizes(), weight->scalar_type());
}

// The normalized shape is the input's tail, and the weights have it.
bool read_layer_norm(RuleCall& call, std::initializer_list<std::size_t> weights) {
  const at::Tensor* input = call.floats(0);
  const Sizes shape = call.ints(1);
  if (!input || shape.empty() || static_cast<std::size_t>(input->dim()) < shape.size()) return false;
  if (input->sizes().slice(static_cast<std::size_t>(input->dim()) - shape.size()) != c10::IntArrayRef(shape))
    return false;
  for (const std::size_t i : weights) {
    if (call.none(i)) continue;
    const at::Tensor* weight = call.tensor(i);
    if (!weight || weight->sizes() != c10::IntArrayRef(shape)) return false;
    // Half input with float weights is a mixed kernel; other mixtures are errors.
    if (weight->scalar_type() != input->scalar_type() && weight->scalar_type() != at::kFloat) return false;
  }
  return true;
}

bool layer_norm(RuleCall& call) {
  if (!read_layer_norm(call, {2, 3})) return false;
  const at::Tensor& input = call.at(0).toTensor();
  return call.output(input.sizes(), input.scalar_type());
}

bool native_layer_norm(RuleCall& call) {
  if (!layer_norm(call)) return false;
  const at::Tensor& input = call.at(0).toTensor();
  const at::Tensor* weight = call.tensor(2);
  const std::size_t kept = static_cast<std::size_t>(input.dim()) - call.ints(1).size();
  Sizes sizes = sizes_of(input);
  for (std::size_t i = kept; i < sizes.size(); ++i) sizes[i] = 1;
  const auto dtype = statistics_dtype(call, input, weight);
  call.output(sizes, dtype);
  return call.output(sizes, dtype);
}

bool rms_norm(RuleCall& call) {
  if (!read_layer_norm(call, {2})) return false;
  const at::Tensor& input = call.at(0).toTensor();
  if (!call.none(2) && call.at(2).toTensor().scalar_type() != input.scalar_type()) return false;
  if (kRmsNormKeepsLayout)
    return call.output(sizes_of(input), preserved_strides(operand(input)), input.scalar_type());
  return call.output(input.sizes(), input.scalar_type(), input.suggest_memory_format());
}

bool group_norm(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  const std::int64_t groups = call.integer(1);
  if (!input || input->dim() < 2 || groups < 1 || input->size(1) % groups != 0 || input->numel() == 0)
    return false;
  return per_channel(call, *input, {2, 3}) &&
         call.output(input->sizes(), input->scalar_type(), input->suggest_memory_format());
}

bool instance_norm(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  if (!input || input->dim() < 3 || input->numel() == 0) return false;
  if (!per_channel(call, *input, {1, 2, 3, 4})) return false;
  if (!call.flag(5) && (call.none(3) || call.none(4))) return false;
  return call.output(input->sizes(), input->scalar_type());
}

bool softmax(RuleCall& call) {
  const at::Tensor* input = call.tensor(0);
  std::int64_t dim = call.integer(1);
  if (!input || !call.at(1).isInt() || !wrap_dim(dim, input->dim())) return false;
  const auto dtype = call.dtype(2, input->scalar_type());
  return c10::isFloatingType(dtype) && call.output(input->sizes(), dtype);
}

// The kernels below softmax, whose third argument is half_to_float.
bool native_softmax(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  std::int64_t dim = call.integer(1);
  if (!input || !wrap_dim(dim, input->dim()) || call.flag(2)) return false;
  return call.output(input->sizes(), input->scalar_type());
}

// v [.., n, ..] and g, which is 1 in all dimensions but `dim`. The kernel takes the first and the last one
// only.
bool weight_norm(RuleCall& call) {
  const at::Tensor *v = call.floats(0), *g = call.tensor(1);
  const std::int64_t dim = call.integer(2);
  if (!v || !g || v->dim() < 2 || g->dim() != v->dim() || v->scalar_type() != g->scalar_type()) return false;
  if ((dim != 0 && dim != v->dim() - 1) || v->numel() == 0) return false;
  for (std::int64_t i = 0; i < v->dim(); ++i)
    if (g->size(i) != (i == dim ? v->size(i) : 1)) return false;
  return call.output(v->sizes(), v->scalar_type());
}

// Its second result, the norms, is float for half inputs.
bool weight_norm_interface(RuleCall& call) {
  if (!weight_norm(call)) return false;
  const at::Tensor& g = call.at(1).toTensor();
  return call.output(g.sizes(), g.scalar_type() == at::kBFloat16 ? at::kFloat : g.scalar_type());
}

// Of a gradient and its input: both of float, of one shape, and with elements.
bool is_float_gradient(const at::Tensor* grad, const at::Tensor* input) {
  return grad && input && grad->sizes() == input->sizes() && input->numel() > 0 &&
         grad->scalar_type() == at::kFloat && input->scalar_type() == at::kFloat;
}

// grad, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask
bool batch_norm_backward(RuleCall& call) {
  const at::Tensor *grad = call.tensor(0), *input = call.tensor(1);
  if (!is_float_gradient(grad, input) || input->dim() < 2) return false;
  if (!grad->is_contiguous() || !input->is_contiguous()) return false;
  call.gradient(9, 0, input->sizes(), at::kFloat);
  call.gradient(9, 1, {input->size(1)}, at::kFloat);
  return call.gradient(9, 2, {input->size(1)}, at::kFloat);
}

// grad, input, normalized_shape, mean, rstd, weight, bias, mask
bool layer_norm_backward(RuleCall& call) {
  const at::Tensor *grad = call.tensor(0), *input = call.tensor(1);
  if (!is_float_gradient(grad, input)) return false;
  const auto shape = call.ints(2);
  if ((call.wants(7, 1) && !call.tensor(5)) || (call.wants(7, 2) && !call.tensor(6))) return false;
  call.gradient(7, 0, input->sizes(), at::kFloat);
  call.gradient(7, 1, shape, at::kFloat);
  return call.gradient(7, 2, shape, at::kFloat);
}

// grad, output, dim, input_dtype
bool softmax_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *output = call.floats(1);
  if (!grad || !output || grad->sizes() != output->sizes() || grad->numel() == 0) return false;
  if (!grad->is_contiguous() || !output->is_contiguous()) return false;
  const auto dtype = call.dtype(3, output->scalar_type());
  if (grad->scalar_type() != output->scalar_type() || dtype != output->scalar_type()) return false;
  std::int64_t dim = call.integer(2);
  return wrap_dim(dim, output->dim()) && call.output(output->sizes(), dtype);
}

constexpr ShapeRuleRow kNormRules[] = {
    {"aten::_log_softmax aten::_softmax", "", native_softmax},
    {"aten::_softmax_backward_data", "", softmax_backward},
    {"aten::_weight_norm", "", weight_norm},
    {"aten::_weight_norm_interface", "", weight_norm_interface},
    {"aten::batch_norm", "", batch_norm},
    {"aten::cudnn_batch_norm", "", cudnn_batch_norm},
    {"aten::cudnn_batch_norm_backward", "", cudnn_batch_norm_backward},
    {"aten::group_norm", "", group_norm},
    {"aten::instance_norm", "", instance_norm},
    {"aten::layer_norm", "", layer_norm},
    {"aten::log_softmax aten::softmax", "int", softmax},
    {"aten::native_batch_norm", "", native_batch_norm},
    {"aten::native_batch_norm_backward", "", batch_norm_backward},
    {"aten::native_layer_norm", "", native_layer_norm},
    {"aten::native_layer_norm_backward", "", layer_norm_backward},
    {"aten::rms_norm", "", rms_norm},
};

}  // namespace

std::span<const ShapeRuleRow> norm_shape_rules() { return kNormRules; }

}  // namespace opscope::engine
