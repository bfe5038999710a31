// What PyTorch's choice of kernels depends on, of a CUDA device that need not be there.
#pragma once

#include "torch/engine/torch_version.h"

namespace opscope::engine {

// Releases of PyTorch as 211 for 2.11: what is chosen has changed.
inline constexpr int kRoundsDropout = 212;  // cuDNN's attention drops in sixteenths; others are left to flash
inline constexpr int kGroupsEfficient = 214;  // memory-efficient attention takes fewer key heads

// A Hopper GPU: an H100 or H200.
struct CudaDevice {
  int major = 9;
  int processors = 132;
  int threads_per_processor = 2048;
  int release = kTorchRelease;

  bool prefers_cudnn_attention() const { return major == 9 || major == 10; }
};

}  // namespace opscope::engine
