// TensorIterator's choice of output strides, on sizes and strides alone.
#include "torch/rules/layout.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/TensorUtils.h>
#include <c10/core/Contiguity.h>

#include <algorithm>

namespace opscope::engine {
namespace {

using Permutation = c10::SmallVector<std::size_t, 6>;

bool is_contiguous(const Operand& tensor) {
  return c10::_compute_contiguous<std::int64_t>(tensor.sizes, tensor.strides, element_count(tensor.sizes));
}

bool is_channels_last(const Operand& tensor) {
  return c10::_compute_channels_last_contiguous_2d<std::int64_t>(tensor.sizes, tensor.strides);
}

bool is_dense(const Operand& tensor) {  // non-overlapping, no holes
  return c10::_compute_non_overlapping_and_dense<std::int64_t>(tensor.sizes, tensor.strides);
}

// The three cases in which TensorIterator needs no sorting: all inputs of one shape and one obvious layout.
bool fast_layout(at::ArrayRef<Operand> operands, Layout& layout) {
  bool same = true;
  for (const Operand& input : operands) {
    if (input.sizes != layout.sizes) return false;
    same = same && input.strides == operands[0].strides;
  }
  if (std::all_of(operands.begin(), operands.end(), is_contiguous)) {
    layout.strides = engine::contiguous_strides(layout.sizes);
    return true;
  }
  if (std::all_of(operands.begin(), operands.end(), is_channels_last)) {
    layout.strides = format_strides(layout.sizes, at::MemoryFormat::ChannelsLast);
    return true;
  }
  if (!same || !is_dense(operands[0])) return false;
  layout.strides.assign(operands[0].strides.begin(), operands[0].strides.end());
  return true;
}

// 1: the first dimension is the outer one; -1: the inner one; 0: the strides do not say.
int compare_dims(at::ArrayRef<Sizes> strides, const Sizes& sizes, std::size_t first, std::size_t second) {
  for (const Sizes& input : strides) {
    if (input.empty()) continue;
    const std::int64_t a = input[first];
    const std::int64_t b = input[second];
    if (a == 0 || b == 0) continue;
    if (a != b) return a < b ? -1 : 1;
    if (sizes[first] > sizes[second]) return 1;
  }
  return 0;
}

// Dimensions from the innermost to the outermost: an insertion sort, because the order is only partial.
void sort_dims(at::ArrayRef<Sizes> strides, const Sizes& sizes, Permutation& order) {
  for (std::size_t i = sizes.size(); i-- > 0;) order.push_back(i);
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t j = i; j-- > 0;) {
      const int comparison = compare_dims(strides, sizes, order[j], order[moving]);
      if (comparison < 0) break;
      if (comparison > 0) {
        std::swap(order[j], order[moving]);
        moving = j;
      }
    }
  }
}

// Strides of an operand as broadcast to `sizes`: 0 in the dimensions that it is widened in.
void broadcast_strides(const Operand& input, const Sizes& sizes, Sizes& strides) {
  if (input.sizes.empty()) return;
  const std::size_t offset = sizes.size() - input.sizes.size();
  strides.assign(sizes.size(), 0);
  for (std::size_t i = 0; i < input.sizes.size(); ++i)
    if (input.sizes[i] != 1 || sizes[offset + i] == 1) strides[offset + i] = input.strides[i];
}

void sorted_layout(at::ArrayRef<Operand> operands, Layout& layout) {
  c10::SmallVector<Sizes, 4> strides(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) broadcast_strides(operands[i], layout.sizes, strides[i]);
  Permutation order;
  sort_dims(strides, layout.sizes, order);
  const std::size_t rank = layout.sizes.size();
  bool inverted = true;
  for (std::size_t i = 0; i < rank; ++i) inverted = inverted && order[i] == rank - 1 - i;
  if (inverted) {
    layout.strides = engine::contiguous_strides(layout.sizes);
    return;
  }
  layout.strides.resize(rank);
  std::int64_t next = 1;
  for (const std::size_t dim : order) {
    layout.strides[dim] = next;
    next *= layout.sizes[dim];
  }
}

}  // namespace

bool broadcast(Sizes& sizes, c10::IntArrayRef other) {
  if (other.size() > sizes.size()) sizes.insert(sizes.begin(), other.size() - sizes.size(), 1);
  const std::size_t offset = sizes.size() - other.size();
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& size = sizes[offset + i];
    if (other[i] == 1 || other[i] == size) continue;
    if (size != 1) return false;
    size = other[i];
  }
  return true;
}

bool expands_to(c10::IntArrayRef from, c10::IntArrayRef to) {
  if (from.size() > to.size()) return false;
  const std::size_t offset = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != to[offset + i]) return false;
  return true;
}

at::MemoryFormat suggested_format(const Operand& tensor) {
  if (c10::is_channels_last_strides_2d(tensor.sizes, tensor.strides)) return at::MemoryFormat::ChannelsLast;
  if (c10::is_channels_last_strides_3d(tensor.sizes, tensor.strides)) return at::MemoryFormat::ChannelsLast3d;
  return at::MemoryFormat::Contiguous;
}

bool iterator_layout(at::ArrayRef<Operand> operands, Layout& layout) {
  layout.sizes.assign(operands[0].sizes.begin(), operands[0].sizes.end());
  for (const Operand& input : operands.slice(1))
    if (!broadcast(layout.sizes, input.sizes)) return false;
  if (!fast_layout(operands, layout)) sorted_layout(operands, layout);
  return true;
}

bool emit_iterated(RuleCall& call, at::ArrayRef<Operand> operands, at::ScalarType dtype) {
  Layout layout;
  return iterator_layout(operands, layout) && call.output(layout.sizes, layout.strides, dtype);
}

bool can_write(const at::Tensor& self, c10::IntArrayRef sizes, at::ScalarType dtype) {
  at::assert_no_internal_overlap(self);
  return self.sizes() == sizes && c10::canCast(dtype, self.scalar_type());
}

Sizes preserved_strides(const Operand& tensor) {
  if (is_dense(tensor)) return copy_of(tensor.strides);
  return copy_of(at::infer_dense_strides(tensor.sizes, tensor.strides));
}

Sizes flat_strides(const at::Tensor& like, const Sizes& sizes) {
  if (like.dim() != 3) return engine::contiguous_strides(sizes);
  const auto shape = like.sizes(), steps = like.strides();
  const Sizes as_2d{shape[0], shape[1], 1, shape[2]};
  const Sizes steps_2d{steps[0], steps[1], shape[2] * steps[2], steps[2]};
  if (suggested_format({as_2d, steps_2d}) == at::MemoryFormat::Contiguous)
    return engine::contiguous_strides(sizes);
  return {sizes[1] * sizes[2], 1, sizes[1]};
}

bool view_strides(const Operand& tensor, c10::IntArrayRef sizes, Sizes& strides) {
  const auto found = at::detail::computeStride(tensor.sizes, tensor.strides, at::DimVector(sizes));
  if (!found) return false;
  strides.assign(found->begin(), found->end());
  return true;
}

bool infer_sizes(Sizes& sizes, std::int64_t elements) {
  std::int64_t known = 1;
  std::int64_t* unknown = nullptr;
  for (std::int64_t& size : sizes) {
    if (size < -1 || (size == -1 && unknown)) return false;
    if (size == -1)
      unknown = &size;
    else if (__builtin_mul_overflow(known, size, &known))
      return false;
  }
  if (!unknown) return known == elements;
  if (known == 0 || elements % known != 0) return false;
  *unknown = elements / known;
  return true;
}

bool mark_dims(const Sizes& dims, std::int64_t rank, std::uint64_t& marked) {
  if (rank > 63) return false;
  for (std::int64_t dim : dims) {
    if (!wrap_dim(dim, rank) || (marked >> dim & 1) != 0) return false;
    marked |= std::uint64_t{1} << dim;
  }
  return true;
}

bool any_negative(c10::IntArrayRef sizes) {
  return std::ranges::any_of(sizes, [](auto size) { return size < 0; });
}

bool fill(Sizes& values, std::size_t rank, std::int64_t least) {
  if (values.size() == 1) values.resize(rank, values[0]);
  return values.size() == rank && std::ranges::all_of(values, [&](auto value) { return value >= least; });
}

std::int64_t element_count(c10::IntArrayRef sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

}  // namespace opscope::engine
