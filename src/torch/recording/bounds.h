// Sizes that depend on data which a static capture does not have: the largest they can be, or the limit that
// the user set. What such an op returns is flagged, and so is what is computed from it.
#pragma once

#include <span>
#include <string_view>

#include "torch/engine/execute.h"

namespace opscope::engine {

// Names that the user can limit: "nms", "nonzero".
std::span<const std::string_view> limit_names();

struct BoundRow {
  std::string_view op;
  std::string_view limit;
  bool (*run)(const Call& call, std::string_view limit);
};
const BoundRow* find_bound(std::string_view op);  // nullptr: none

// A tensor of known data among an op's results: itself, or wrapped for a device that is pretended.
at::Tensor as_known(Recording& recording, const at::Tensor& value);

}  // namespace opscope::engine
