#include "hardware/predict/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace opscope {
namespace {

// Of sizes that no memory holds: the most that there is.
std::int64_t scaled(std::int64_t stride, std::int64_t size) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(stride, size, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace

double alignment(double size) {
  double found = 1;
  while (found < 16 && std::fmod(size, 2 * found) == 0) found *= 2;
  return found;
}

bool is_contiguous(const TensorView& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.rank(); i-- > 0;) {
    if (i >= tensor.strides.size()) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected = scaled(expected, tensor.shape[i]);
  }
  return true;
}

double run_bytes(const TensorView& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.rank(); i-- > 0;) {
    if (i >= tensor.strides.size()) break;
    if (tensor.shape[i] == 1) continue;
    if (tensor.strides[i] != expected && !(expected == 1 && tensor.strides[i] == 0)) break;
    expected = scaled(expected, tensor.shape[i]);
  }
  return static_cast<double>(expected) * static_cast<double>(element_bytes(tensor.dtype));
}

bool is_transposed(const TensorView& tensor) {
  const auto rank = tensor.rank();
  return rank >= 2 && tensor.strides.size() == rank && tensor.strides[rank - 2] == 1 &&
         tensor.strides[rank - 1] != 1;
}

double row_alignment(const TensorView& matrix) {
  const auto rank = matrix.rank();
  if (rank < 2) return 16;
  double row = static_cast<double>(matrix.dim(-1));
  if (is_transposed(matrix))
    row = static_cast<double>(matrix.strides[rank - 1]);
  else if (matrix.strides.size() == rank && matrix.strides[rank - 1] == 1 && matrix.shape[rank - 2] > 1)
    row = static_cast<double>(matrix.strides[rank - 2]);
  return std::min(16.0, alignment(row) * static_cast<double>(element_bytes(matrix.dtype)));
}

bool is_channels_last(const TensorView& tensor) {
  return tensor.rank() >= 4 && tensor.strides.size() == tensor.rank() && tensor.strides[1] == 1 &&
         tensor.shape[1] > 1;
}

}  // namespace opscope
