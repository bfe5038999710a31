// Shape rules of gradients, as autograd asks for them below it. A gradient has the shape of what it is the
// gradient of.
#include <algorithm>

#include "torch/rules/pointwise.h"

namespace opscope::engine {
namespace {

constexpr Pointwise kGradient{.operands = 2, .domain = Domain::kFloating, .one_dtype = true};

bool is_plain(const at::Tensor& tensor) { return tensor.is_contiguous() && tensor.numel() > 0; }

// grad, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask
bool batch_norm_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *input = call.floats(1);
  if (!grad || !input || input->dim() < 2 || grad->sizes() != input->sizes()) return false;
  if (!is_plain(*grad) || !is_plain(*input)) return false;
  if (input->scalar_type() != at::kFloat || grad->scalar_type() != at::kFloat) return false;
  call.gradient(9, 0, input->sizes(), at::kFloat);
  call.gradient(9, 1, {input->size(1)}, at::kFloat);
  return call.gradient(9, 2, {input->size(1)}, at::kFloat);
}

// grad, input, normalized_shape, mean, rstd, weight, bias, mask
bool layer_norm_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *input = call.floats(1);
  if (!grad || !input || grad->sizes() != input->sizes() || input->numel() == 0) return false;
  if (input->scalar_type() != at::kFloat || grad->scalar_type() != at::kFloat) return false;
  const auto shape = call.ints(2);
  if ((call.wants(7, 1) && !call.tensor(5)) || (call.wants(7, 2) && !call.tensor(6))) return false;
  call.gradient(7, 0, input->sizes(), at::kFloat);
  call.gradient(7, 1, shape, at::kFloat);
  return call.gradient(7, 2, shape, at::kFloat);
}

// grad, output, dim, input_dtype
bool softmax_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *output = call.floats(1);
  if (!grad || !output || grad->sizes() != output->sizes() || !is_plain(*grad) || !is_plain(*output))
    return false;
  const auto dtype = call.dtype(3, output->scalar_type());
  if (grad->scalar_type() != output->scalar_type() || dtype != output->scalar_type()) return false;
  std::int64_t dim = call.integer(2);
  wrap_dim(dim, output->dim());
  return call.output(output->sizes(), dtype);
}

// grad, indices, num_weights, padding_idx, scale_grad_by_freq
bool embedding_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *indices = call.tensor(1);
  if (!grad || !indices || !is_index_type(indices->scalar_type()) || grad->dim() == 0) return false;
  if (grad->dim() != indices->dim() + 1 || grad->numel() == 0) return false;
  if (!std::ranges::equal(grad->sizes().slice(0, static_cast<std::size_t>(indices->dim())), indices->sizes()))
    return false;
  return call.output({call.integer(2), grad->size(-1)}, grad->scalar_type());
}

// grad, self, kernel_size, stride, padding, dilation, ceil_mode, indices
bool max_pool_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *self = call.floats(1), *indices = call.tensor(7);
  if (!grad || !self || !indices || self->dim() != 4 || !is_plain(*self) || !is_plain(*grad)) return false;
  if (grad->sizes() != indices->sizes() || grad->scalar_type() != self->scalar_type()) return false;
  const bool fits = grad->size(0) == self->size(0) && grad->size(1) == self->size(1) &&
                    indices->scalar_type() == at::kLong && indices->is_contiguous();
  return fits && call.output(self->sizes(), self->scalar_type());
}

constexpr ShapeRuleRow kBackwardRules[] = {
    {"aten::_softmax_backward_data", "", softmax_backward},
    {"aten::embedding_dense_backward", "", embedding_backward},
    {"aten::gelu_backward aten::hardsigmoid_backward aten::hardtanh_backward aten::leaky_relu_backward "
     "aten::sigmoid_backward aten::silu_backward aten::tanh_backward aten::threshold_backward",
     "", pointwise<kGradient>},
    {"aten::max_pool2d_with_indices_backward", "", max_pool_backward},
    {"aten::native_batch_norm_backward", "", batch_norm_backward},
    {"aten::native_layer_norm_backward", "", layer_norm_backward},
};

}  // namespace

std::span<const ShapeRuleRow> backward_shape_rules() { return kBackwardRules; }

}  // namespace opscope::engine
