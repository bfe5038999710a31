// Attention on a CUDA device. PyTorch has four kernels for it there, takes the first whose conditions hold,
// and each saves and allocates something else. The device need not be there: the conditions are read off the
// call, the device's kind and the release of PyTorch.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "torch/engine/cuda_device.h"
#include "torch/engine/execute.h"
#include "torch/rules/layout.h"

namespace opscope::engine {

namespace {

enum class Kernel : std::uint8_t { kCudnn, kFlash, kEfficient, kMath };

struct Attention {
  at::Tensor query, key, value;
  std::optional<at::Tensor> mask;
  double dropout = 0;
  bool causal = false;
  std::optional<double> scale;
  bool grouped = false;  // key and value may have fewer heads
  bool differentiates = false;

  bool is_half() const { return query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16; }
  std::array<const at::Tensor*, 3> tensors() const { return {&query, &key, &value}; }
};

Attention read(const Call& call) {
  const auto arguments = call.arguments();
  Attention a;
  a.query = arguments[0].toTensor();
  a.key = arguments[1].toTensor();
  a.value = arguments[2].toTensor();
  if (arguments[3].isTensor() && arguments[3].toTensor().defined()) a.mask = arguments[3].toTensor();
  a.dropout = arguments[4].toDouble();
  a.causal = arguments[5].toBool();
  a.scale = arguments[6].toOptional<double>();
  a.grouped = arguments.size() > 7 && arguments[7].toBool();
  a.differentiates = at::GradMode::is_enabled() &&
                     std::ranges::any_of(a.tensors(), [](const auto* t) { return t->requires_grad(); });
  return a;
}

// --- the conditions of the kernels

bool has_four_dimensions(const Attention& a) {
  return std::ranges::all_of(a.tensors(), [](const auto* t) { return t->dim() == 4; });
}

bool has_fitting_heads(const Attention& a, bool takes_groups) {
  if (a.key.size(0) != a.query.size(0) || a.value.size(0) != a.query.size(0)) return false;
  const auto heads = a.query.size(1), groups = a.key.size(1);
  if (!a.grouped || !takes_groups) return groups == heads && a.value.size(1) == heads;
  return groups > 0 && a.value.size(1) == groups && heads % groups == 0;
}

bool has_rows_in_one_piece(const Attention& a) {
  if (a.mask && a.mask->stride(-1) != 1) return false;
  return std::ranges::all_of(a.tensors(), [](const auto* t) { return t->stride(3) == 1; });
}

bool has_mask_for_cudnn(const Attention& a) {
  if (!a.mask) return true;
  if (a.mask->requires_grad() || (a.mask->dim() != 2 && a.mask->dim() != 4)) return false;
  const std::array<std::int64_t, 4> scores{a.query.size(0), a.query.size(1), a.query.size(2), a.key.size(2)};
  for (std::int64_t dim = -a.mask->dim(); dim < 0; ++dim)
    if (a.mask->size(dim) != 1 && a.mask->size(dim) != scores[static_cast<std::size_t>(4 + dim)])
      return false;
  return true;
}

bool has_tokens(const Attention& a) {
  return a.query.size(2) > 0 && a.key.size(2) > 0 && a.query.size(3) > 0;
}

bool takes_cudnn(const Attention& a, const CudaDevice& device) {
  if (!at::globalContext().userEnabledCuDNNSDP() || !device.prefers_cudnn_attention()) return false;
  if (!a.is_half() || !has_fitting_heads(a, true) || !has_rows_in_one_piece(a)) return false;
  if (!has_mask_for_cudnn(a)) return false;
  const auto width = a.query.size(3), value_width = a.value.size(3);
  const std::int64_t widest = width == 192 && value_width == 128 ? 192 : 128;
  if (width > widest || value_width > widest || width % 8 != 0 || value_width % 8 != 0) return false;
  if (device.release >= kRoundsDropout && a.dropout * 16 != std::floor(a.dropout * 16)) return false;
  return a.key.size(2) != 1;
}

bool takes_flash(const Attention& a, const CudaDevice& device) {
  if (!at::globalContext().userEnabledFlashSDP() || !a.is_half() || a.mask) return false;
  if (!device.has_flash_attention()) return false;
  if (a.differentiates && !device.differentiates_flash(a.query.size(3), a.dropout > 0)) return false;
  if (a.query.size(3) > 256 || a.value.size(3) != a.query.size(3)) return false;
  if (a.causal && a.query.size(2) != a.key.size(2)) return false;
  return has_fitting_heads(a, true) && has_rows_in_one_piece(a);
}

bool takes_efficient(const Attention& a, const CudaDevice& device) {
  if (!at::globalContext().userEnabledMemEfficientSDP()) return false;
  if (!a.is_half() && a.query.scalar_type() != at::kFloat) return false;
  if (a.query.scalar_type() == at::kBFloat16 && !device.multiplies_bfloat16()) return false;
  const std::int64_t alignment = device.efficient_alignment(a.is_half());
  if (a.query.size(3) % alignment != 0 || a.value.size(3) % alignment != 0) return false;
  return has_fitting_heads(a, device.release >= kGroupsEfficient) && has_rows_in_one_piece(a);
}

Kernel choose(const Attention& a, const CudaDevice& device) {
  if (!has_four_dimensions(a) || !has_tokens(a) || a.query.size(3) != a.key.size(3)) return Kernel::kMath;
  if (takes_cudnn(a, device)) return Kernel::kCudnn;
  if (takes_flash(a, device)) return Kernel::kFlash;
  if (takes_efficient(a, device)) return Kernel::kEfficient;
  return Kernel::kMath;
}

// --- the kernels, with what PyTorch does around them

// A mask of truths as one to add.
std::optional<at::Tensor> additive(const Attention& a) {
  if (!a.mask || a.mask->scalar_type() != at::kBool) return a.mask;
  auto made = at::zeros_like(*a.mask, a.mask->options().dtype(a.query.scalar_type()));
  made.masked_fill_(a.mask->logical_not(), -std::numeric_limits<double>::infinity());
  return made;
}

at::Tensor padded(const at::Tensor& tensor, std::int64_t multiple) {
  const auto over = tensor.size(-1) % multiple;
  return over == 0 ? tensor : at::constant_pad_nd(tensor, {0, multiple - over});
}

at::Tensor by_cudnn(const Attention& a) {
  return std::get<0>(at::_scaled_dot_product_cudnn_attention(
      a.query, a.key, a.value, additive(a), a.differentiates, a.dropout, a.causal, false, a.scale));
}

at::Tensor by_flash(const Attention& a) {
  const auto width = a.query.size(3);
  const auto out = std::get<0>(at::_scaled_dot_product_flash_attention(
      padded(a.query, 8), padded(a.key, 8), padded(a.value, 8), a.dropout, a.causal, false, a.scale));
  return out.size(3) == width ? out : out.slice(3, 0, width);
}

at::Tensor by_efficient(const Attention& a) {
  auto bias = additive(a);
  if (bias) {
    const auto tokens = bias->size(-1);
    if (tokens % 8 != 0) bias = padded(*bias, 8).slice(-1, 0, tokens);
    bias = bias->expand({a.query.size(0), a.query.size(1), a.query.size(2), a.key.size(2)});
  }
  return std::get<0>(at::_scaled_dot_product_efficient_attention(
      a.query, a.key, a.value, bias, a.differentiates, a.dropout, a.causal, a.scale));
}

at::Tensor by_math(const Attention& a) {
  return std::get<0>(at::_scaled_dot_product_attention_math(a.query, a.key, a.value, additive(a), a.dropout,
                                                            a.causal, std::nullopt, a.scale, a.grouped));
}

// Without a gradient, mask or padding a fused kernel makes its result and nothing else.
std::optional<at::Tensor> result_alone(const Call& call, const Attention& a, Kernel kernel) {
  if (a.differentiates || a.mask || kernel == Kernel::kMath) return std::nullopt;
  if (kernel == Kernel::kFlash && a.query.size(3) % 8 != 0) return std::nullopt;
  const std::array<std::int64_t, 4> sizes{a.query.size(0), a.query.size(1), a.query.size(2), a.value.size(3)};
  std::array<std::size_t, 4> order{0, 2, 1, 3};  // from the outermost dimension
  if (kernel != Kernel::kEfficient)
    std::ranges::stable_sort(
        order, [&](std::size_t i, std::size_t j) { return a.query.strides()[i] > a.query.strides()[j]; });
  std::array<std::int64_t, 4> strides{};
  std::int64_t next = 1;
  for (std::size_t i = order.size(); i-- > 0; next *= sizes[order[i]]) strides[order[i]] = next;
  auto made = make_abstract(sizes, strides, a.query.scalar_type(), call.recording.device);
  call.recording.storages.own_new(made);
  return made;
}

}  // namespace

bool run_attention(const Call& call) {
  const Attention a = read(call);
  for (const auto* tensor : a.tensors())
    if (!tensor->defined() || tensor->layout() != at::kStrided || !c10::isFloatingType(tensor->scalar_type()))
      return false;
  const Kernel kernel = choose(a, call.recording.cuda);
  auto out = result_alone(call, a, kernel);
  if (!out) {
    DepthGuard inside;
    const AutogradLooks no_longer(false);
    out = kernel == Kernel::kCudnn       ? by_cudnn(a)
          : kernel == Kernel::kFlash     ? by_flash(a)
          : kernel == Kernel::kEfficient ? by_efficient(a)
                                         : by_math(a);
  }
  const std::array<c10::IValue, 1> result{*out};
  call.put_back(call.base(), result);
  return true;
}

}  // namespace opscope::engine
