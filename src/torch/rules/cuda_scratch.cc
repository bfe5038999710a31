#include "torch/rules/cuda_scratch.h"

#include <algorithm>
#include <array>
#include <bit>

namespace opscope::engine {

namespace {

using Arguments = at::ArrayRef<c10::IValue>;

const at::Tensor* tensor_at(Arguments arguments, std::size_t i) {
  if (i >= arguments.size() || !arguments[i].isTensor()) return nullptr;
  const at::Tensor& tensor = arguments[i].toTensor();
  return tensor.defined() && tensor.layout() == at::kStrided ? &tensor : nullptr;
}

std::uint64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.numel()) * tensor.element_size();
}
std::uint64_t copy_if_strided(const at::Tensor* tensor) {
  return tensor && !tensor->is_contiguous() ? bytes_of(*tensor) : 0;
}

// --- reductions: where few results are sums of many elements, blocks of threads leave partial sums in memory

struct Axis {
  std::int64_t size, stride;
  bool reduced;
};

// Dimensions with the smallest stride first, neighbours that lie behind each other as one.
c10::SmallVector<Axis, 6> folded(const at::Tensor& self, const std::vector<bool>& reduced) {
  c10::SmallVector<Axis, 6> axes;
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (self.sizes()[i] != 1) axes.push_back({self.sizes()[i], self.strides()[i], reduced[i]});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  c10::SmallVector<Axis, 6> joined;
  for (const Axis& axis : axes) {
    if (!joined.empty() && joined.back().reduced == axis.reduced &&
        joined.back().stride * joined.back().size == axis.stride)
      joined.back().size *= axis.size;
    else
      joined.push_back(axis);
  }
  return joined;
}

std::int64_t last_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}
std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t kWarp = 32, kMostThreads = 512, kVector = 4;
constexpr std::int64_t kLeastValues = 16, kMostValues = 256;  // that a thread adds up

// The partial sums of a reduction, as PyTorch divides one up among threads and blocks.
std::uint64_t partial_sums(const at::Tensor& self, const std::vector<bool>& reduced, std::uint64_t sum_bytes,
                           const CudaDevice& device) {
  std::int64_t outputs = 1, inputs = 1, reduced_axes = 0;
  for (std::size_t i = 0; i < reduced.size(); ++i) (reduced[i] ? inputs : outputs) *= self.sizes()[i];
  if (outputs * inputs == 0) return 0;
  const auto axes = folded(self, reduced);
  for (const Axis& axis : axes) reduced_axes += axis.reduced ? 1 : 0;
  const bool along_rows = axes.empty() || axes.front().reduced;  // of the fastest moving dimension
  std::int64_t across = along_rows ? inputs : outputs, along = along_rows ? outputs : inputs;
  std::int64_t vector = 1;
  if (!axes.empty() && axes.front().stride == 1) {
    if (along_rows && across >= 128 && reduced_axes == 1) {
      across /= kVector;
    } else if (!along_rows) {
      vector = kVector;
      for (std::size_t i = 0; i < axes.size(); ++i)
        while ((i == 0 ? axes[i].size : axes[i].stride) % vector != 0) vector /= 2;
      across /= vector;
    }
  }
  const std::int64_t most = kMostThreads / vector;
  const std::int64_t wide = across < most ? last_power(across) : most,
                     high = along < most ? last_power(along) : most;
  std::int64_t width = std::min(wide, kWarp);
  const std::int64_t height = std::min(high, most / width);
  width = std::min(wide, most / height);
  std::int64_t input_step = along_rows ? width : 1, output_step = along_rows ? 1 : width;
  const auto values = [&] { return divided_up(inputs, input_step); };
  const bool splits_warps = values() >= std::min(height * 16, kMostValues);
  (splits_warps ? input_step : output_step) *= height;
  const std::int64_t target = device.processors * (device.threads_per_processor() / (width * height));
  const std::int64_t grid = divided_up(outputs / vector, output_step);
  if (!splits_warps || values() < kMostValues || grid > target) return 0;
  const std::int64_t blocks = std::max(std::min(divided_up(target, grid), divided_up(values(), kLeastValues)),
                                       divided_up(values(), kMostValues));
  if (blocks <= 1) return 0;
  return sum_bytes * static_cast<std::uint64_t>(outputs * blocks * (along_rows ? 1 : width * vector)) +
         sizeof(int) * static_cast<std::uint64_t>(grid);
}

std::vector<bool> marked(const at::Tensor& self, const c10::IValue& dims) {
  std::vector<bool> reduced(static_cast<std::size_t>(self.dim()), false);
  bool any = false;
  const auto mark = [&](std::int64_t dim) {
    any = true;
    reduced[static_cast<std::size_t>(dim < 0 ? dim + self.dim() : dim)] = true;
  };
  if (dims.isInt()) mark(dims.toInt());
  if (dims.isIntList())
    for (const std::int64_t dim : dims.toIntVector()) mark(dim);
  if (!any) reduced.assign(reduced.size(), true);
  return reduced;
}

// Sums are float32 at the least.
std::uint64_t sum_bytes(const at::Tensor& self) { return std::max<std::uint64_t>(self.element_size(), 4); }

template <std::size_t kDims>
std::uint64_t reduction(Arguments arguments, const CudaDevice& device) {
  const at::Tensor* self = tensor_at(arguments, 0);
  if (!self || self->dim() == 0 || kDims >= arguments.size()) return 0;
  return partial_sums(*self, marked(*self, arguments[kDims]), sum_bytes(*self), device);
}

// --- others

// The product of the gradient and the result.
std::uint64_t softmax_backward(Arguments arguments, const CudaDevice&) {
  const at::Tensor* gradient = tensor_at(arguments, 0);
  return gradient ? bytes_of(*gradient) : 0;
}

// Which elements are minus infinity.
std::uint64_t safe_softmax(Arguments arguments, const CudaDevice&) {
  const at::Tensor* self = tensor_at(arguments, 0);
  return self ? static_cast<std::uint64_t>(self->numel()) : 0;
}

template <std::size_t... kInputs>
std::uint64_t contiguous_inputs(Arguments arguments, const CudaDevice&) {
  return (copy_if_strided(tensor_at(arguments, kInputs)) + ...);
}

// Several dimensions are rolled one after the other.
std::uint64_t roll(Arguments arguments, const CudaDevice&) {
  const at::Tensor* self = tensor_at(arguments, 0);
  const bool several =
      arguments.size() > 2 && arguments[2].isIntList() && arguments[2].toIntVector().size() > 1;
  return self && several ? bytes_of(*self) : 0;
}

// Of grad_out, query, key, value: the query's gradient in float32, what grouped keys and values give for each
// head, and a number for each row.
std::uint64_t cudnn_attention_backward(Arguments arguments, const CudaDevice&) {
  const at::Tensor *query = tensor_at(arguments, 1), *key = tensor_at(arguments, 2);
  if (!query || !key || query->dim() != 4 || key->dim() != 4) return 0;
  const auto rows = static_cast<std::uint64_t>(query->size(0) * query->size(1) * query->size(2));
  const auto width = static_cast<std::uint64_t>(query->size(3));
  const auto heads = static_cast<std::uint64_t>(query->size(0) * query->size(1) * key->size(2));
  const bool grouped = key->size(1) != query->size(1);
  return rows * width * 4 + rows * 4 + (grouped ? 2 * heads * width * query->element_size() : 0);
}

std::uint64_t flash_attention_backward(Arguments arguments, const CudaDevice&) {
  const at::Tensor *gradient = tensor_at(arguments, 0), *query = tensor_at(arguments, 1);
  const at::Tensor *key = tensor_at(arguments, 2), *out = tensor_at(arguments, 4);
  if (!gradient || !query || !key || !out || query->dim() != 4 || key->dim() != 4) return 0;
  const auto rounded = [](std::int64_t n, std::int64_t to) {
    return static_cast<std::uint64_t>(divided_up(n, to) * to);
  };
  const auto heads = static_cast<std::uint64_t>(query->size(0) * query->size(1));
  const std::uint64_t rows = heads * rounded(query->size(2), 128);
  const std::uint64_t width = rounded(query->size(3), query->size(3) <= 128 ? 32 : 64);
  const bool grouped = key->size(1) != query->size(1);
  const std::uint64_t expanded =
      grouped ? 2 * heads * static_cast<std::uint64_t>(key->size(2) * key->size(3)) * query->element_size()
              : 0;
  const auto copied = [](const at::Tensor& tensor) {
    return tensor.transpose(1, 2).is_contiguous() ? 0 : bytes_of(tensor);
  };
  return rows * width * 4 + rows * 4 + expanded + copied(*gradient) + copied(*out);
}

// The keys' and values' gradients in float32 where theirs is not, and a number for each row.
std::uint64_t efficient_attention_backward(Arguments arguments, const CudaDevice&) {
  const at::Tensor *query = tensor_at(arguments, 1), *key = tensor_at(arguments, 2);
  if (!query || !key || query->dim() != 4 || key->dim() != 4) return 0;
  const auto rows = static_cast<std::uint64_t>(query->size(0) * query->size(1) * query->size(2));
  return rows * 4 + bytes_of(*query) * (query->scalar_type() == at::kFloat ? 1 : 2);
}

struct Row {
  std::string_view op;
  CudaScratch bytes;
};
constexpr std::array kRows{
    Row{"aten::_safe_softmax", safe_softmax},
    Row{"aten::_scaled_dot_product_cudnn_attention_backward", cudnn_attention_backward},
    Row{"aten::_scaled_dot_product_efficient_attention_backward", efficient_attention_backward},
    Row{"aten::_scaled_dot_product_flash_attention_backward", flash_attention_backward},
    Row{"aten::_softmax_backward_data", softmax_backward},
    Row{"aten::linalg_vector_norm", reduction<2>},
    Row{"aten::mean", reduction<1>},
    Row{"aten::native_layer_norm", contiguous_inputs<0>},
    Row{"aten::native_layer_norm_backward", contiguous_inputs<0, 1>},
    Row{"aten::roll", roll},
    Row{"aten::sum", reduction<1>},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

}  // namespace

CudaScratch find_cuda_scratch(std::string_view op) {
  const auto row = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  return row != kRows.end() && row->op == op ? row->bytes : nullptr;
}

}  // namespace opscope::engine
