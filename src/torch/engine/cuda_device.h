// The rules by which PyTorch's kernels on a CUDA device follow its kind, and the release of PyTorch.
#pragma once

#include "graph/cuda_device.h"
#include "torch/engine/torch_version.h"

namespace opscope::engine {

// Releases of PyTorch as 211 for 2.11: what is chosen has changed.
inline constexpr int kRoundsDropout = 212;  // cuDNN's attention drops in sixteenths; others are left to flash
inline constexpr int kLargePools = 212;     // cuBLAS has as much on Blackwell as on Hopper
inline constexpr int kGroupsEfficient = 214;  // memory-efficient attention takes fewer key heads

struct CudaDevice : opscope::CudaDevice {
  int release = kTorchRelease;

  bool prefers_cudnn_attention() const { return major == 9 || major == 10; }
  bool has_flash_attention() const { return major >= 8; }
  bool multiplies_bfloat16() const { return major >= 8; }
  // Processors with little shared memory have no backward pass for wide heads.
  bool differentiates_flash(std::int64_t width, bool drops) const {
    return !(is_between(86, 89) || is_between(120, 121)) || width <= 192 || (width > 224 && !drops);
  }
  // Elements that a row of memory-efficient attention is a multiple of, as matrix units load them.
  std::int64_t efficient_alignment(bool is_half) const {
    if (is_half) return major >= 7 ? 8 : 1;
    return major >= 8 ? 4 : 1;
  }
  // What cuBLAS keeps for each thread that multiplies: NVIDIA's advice for Hopper and later, else its own
  // pools, two of 4 MiB and eight of 16 KiB.
  std::uint64_t cublas_pool_bytes() const {
    const bool is_large = major == 9 || (release >= kLargePools && (major == 10 || major == 12));
    return is_large ? std::uint64_t{32} << 20 : (std::uint64_t{8} << 20) + (std::uint64_t{128} << 10);
  }
};

}  // namespace opscope::engine
