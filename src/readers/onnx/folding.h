// Arithmetic on the numbers of small tensors, for onnx_fold.cc's table.
#pragma once

#include <optional>

#include "readers/onnx/call.h"

namespace opscope {

inline constexpr std::size_t kMostFolded = 4096;  // numbers

namespace folding {

using MaybeInfo = std::optional<OnnxInfo>;

// nullopt where there are too many numbers, or not as many as the shape says.
MaybeInfo make(Shape shape, DType dtype, Numbers numbers);

// Elementwise, with the broadcasting that shape arithmetic needs: equal sizes, or one number on one side.
MaybeInfo add(const OnnxCall& call);
MaybeInfo subtract(const OnnxCall& call);
MaybeInfo multiply(const OnnxCall& call);
MaybeInfo divide(const OnnxCall& call);
MaybeInfo modulo(const OnnxCall& call);
MaybeInfo smaller(const OnnxCall& call);
MaybeInfo larger(const OnnxCall& call);
MaybeInfo equal(const OnnxCall& call);
MaybeInfo less(const OnnxCall& call);
MaybeInfo greater(const OnnxCall& call);
MaybeInfo both(const OnnxCall& call);
MaybeInfo either(const OnnxCall& call);

MaybeInfo negate(const OnnxCall& call);
MaybeInfo absolute(const OnnxCall& call);
MaybeInfo floor_of(const OnnxCall& call);
MaybeInfo ceil_of(const OnnxCall& call);
MaybeInfo root(const OnnxCall& call);
MaybeInfo inverted(const OnnxCall& call);

// Of a list, to one number.
MaybeInfo product(const OnnxCall& call);
MaybeInfo sum(const OnnxCall& call);
MaybeInfo highest(const OnnxCall& call);
MaybeInfo lowest(const OnnxCall& call);

}  // namespace folding
}  // namespace opscope
