// How much memory a run holds at most, from the reports that PyTorch's allocators make to a profiler: the
// same figures as torch.profiler's memory events, without starting one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "torch/engine/torch_headers.h"

namespace opscope::engine {

// The most bytes that this thread, and autograd's on its behalf, had on the device during the call, beyond
// what was there before it. Nothing where a profiler listens already: there is one place for either.
std::optional<std::uint64_t> peak_growth(c10::Device device, const std::function<void()>& call);

// Bytes on the device that these tensors hold, each storage once.
std::uint64_t held_bytes(const std::vector<at::Tensor>& tensors, c10::Device device);

}  // namespace opscope::engine
