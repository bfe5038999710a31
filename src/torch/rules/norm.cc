// Shape rules of normalisation layers and softmax.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

bool is_vector(const at::Tensor* tensor, std::int64_t size) {
  return tensor && tensor->dim() == 1 && tensor->size(0) == size;
}

// An optional argument: absent, or a tensor of one dimension and this size.
bool absent_or_vector(const RuleCall& call, std::size_t i, std::int64_t size) {
  return call.none(i) || (call.at(i).isTensor() && !call.at(i).toTensor().defined()) ||
         is_vector(call.tensor(i), size);
}

bool batch_norm(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  if (!input || input->dim() < 2) return false;
  for (const std::size_t i : {1, 2, 3, 4})
    if (!absent_or_vector(call, i, input->size(1))) return false;
  const bool training = call.flag(5);
  if (!training && (call.none(3) || call.none(4))) return false;
  // One value per channel has no variance: PyTorch's Python layer raises, the kernel does not.
  if (training && input->numel() == 0) return false;
  return call.output(input->sizes(), input->scalar_type(), input->suggest_memory_format());
}

bool native_batch_norm(RuleCall& call) {
  if (!batch_norm(call)) return false;
  const at::Tensor& input = call.at(0).toTensor();
  const std::int64_t channels = call.flag(5) ? input.size(1) : 0;
  const at::Tensor* weight = call.tensor(1);
  const auto dtype = weight ? weight->scalar_type() : input.scalar_type();
  call.output({channels}, dtype);
  return call.output({channels}, dtype);
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
  const auto dtype = weight ? weight->scalar_type() : input.scalar_type();
  call.output(sizes, dtype);
  return call.output(sizes, dtype);
}

bool rms_norm(RuleCall& call) {
  if (!read_layer_norm(call, {2})) return false;
  const at::Tensor& input = call.at(0).toTensor();
  if (!call.none(2) && call.at(2).toTensor().scalar_type() != input.scalar_type()) return false;
  return call.output(input.sizes(), input.scalar_type(), input.suggest_memory_format());
}

bool group_norm(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  const std::int64_t groups = call.integer(1);
  if (!input || input->dim() < 2 || groups < 1 || input->size(1) % groups != 0 || input->numel() == 0)
    return false;
  for (const std::size_t i : {2, 3})
    if (!absent_or_vector(call, i, input->size(1))) return false;
  return call.output(input->sizes(), input->scalar_type(), input->suggest_memory_format());
}

bool instance_norm(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  if (!input || input->dim() < 3 || input->numel() == 0) return false;
  for (const std::size_t i : {1, 2, 3, 4})
    if (!absent_or_vector(call, i, input->size(1))) return false;
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

constexpr ShapeRuleRow kNormRules[] = {
    {"aten::_log_softmax aten::_softmax", "", native_softmax},
    {"aten::_weight_norm", "", weight_norm},
    {"aten::_weight_norm_interface", "", weight_norm_interface},
    {"aten::batch_norm", "", batch_norm},
    {"aten::group_norm", "", group_norm},
    {"aten::instance_norm", "", instance_norm},
    {"aten::layer_norm", "", layer_norm},
    {"aten::log_softmax aten::softmax", "int", softmax},
    {"aten::native_batch_norm", "", native_batch_norm},
    {"aten::native_layer_norm", "", native_layer_norm},
    {"aten::rms_norm", "", rms_norm},
};

}  // namespace

std::span<const ShapeRuleRow> norm_shape_rules() { return kNormRules; }

}  // namespace opscope::engine
