// What a device must have for a run to fit: the one place where it is added up. Tensors by the memory model,
// and what the allocator and the driver keep beside them.
#pragma once

#include <string>

#include "cost/liveness.h"

namespace opscope {

// Of the memory that comes and goes: what the allocator rounds up and cannot join. The default reserve;
// docs/sweep.md has real runs at a limit, which need 2 to 5 % of it in training.
inline constexpr double kAllocatorShare = 0.05;
// Of a whole device: the driver's context and the kernels' code.
inline constexpr Count kContextBytes{std::uint64_t{512} << 20};

struct Reserve {
  bool by_default = true;
  Count fixed{};  // by default the driver's, on a whole device; else what the user keeps free

  // "2GiB", "10%" of the memory, "" for the default. Throws Error for what is none, or all of the memory.
  static Reserve from(const std::string& text, Count memory, bool whole_device);
};

struct MemoryNeed {
  Count tensors{}, allocator{}, fixed{};
  Count library{};  // of cuBLAS and cuDNN, where the capture is of a CUDA device
  Count total() const { return tensors + library + allocator + fixed; }
};
// Weights and a KV cache are allocated once and lie close; the rest comes and goes.
MemoryNeed memory_need(const MemorySplit& at_peak, const Reserve& reserve);
// The same of a capture of a CUDA device with what its allocator needs, as simulated.
MemoryNeed memory_need(const MemoryTimeline& timeline, const Reserve& reserve);

}  // namespace opscope
