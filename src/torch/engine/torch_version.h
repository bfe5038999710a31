// What differs between the releases of torch that opscope supports, each fact once.
#pragma once

#include <torch/version.h>

namespace opscope::engine {

constexpr bool torch_is_before(int major, int minor) {
  return TORCH_VERSION_MAJOR < major || (TORCH_VERSION_MAJOR == major && TORCH_VERSION_MINOR < minor);
}

constexpr int kTorchRelease = TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR;  // 213 for 2.13

// rms_norm is made of pointwise ops, which keep their input's layout.
constexpr bool kRmsNormKeepsLayout = torch_is_before(2, 9);
// The CPU's fused attention takes keys and values with fewer heads than the query: grouped ones, one for all.
constexpr bool kFusesGroupedHeads = !torch_is_before(2, 9);
constexpr bool kFusesOneHeadForAll = !torch_is_before(2, 14);

}  // namespace opscope::engine
