// How a tensor lies in memory, as far as it decides what a kernel can load at once.
#pragma once

#include "ops/op_call.h"

namespace opscope {

// How often two divides it, at most 16: kernels load so many elements at once.
double alignment(double size);
bool is_contiguous(const TensorView& tensor);
// Bytes in a row, in the order of the last dimension first: 4 for a transposed matrix of float32.
double run_bytes(const TensorView& tensor);
// The dimension before the last is the one without gaps.
bool is_transposed(const TensorView& tensor);
// At which multiples of bytes its rows begin (of a transposed matrix its columns), at most 16: what a kernel
// can load at once. A matrix that lies in another order is copied first.
double row_alignment(const TensorView& matrix);
bool is_channels_last(const TensorView& tensor);

}  // namespace opscope
