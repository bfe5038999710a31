// The weights inside the objects that quantised ops are given in place of tensors.
#pragma once

#include "torch/engine/torch_headers.h"

namespace opscope::engine {

// Undefined where the value holds none.
at::Tensor packed_weight(const c10::IValue& value);

}  // namespace opscope::engine
