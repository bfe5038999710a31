// What PyTorch's choice of kernels and their memory depends on, of a CUDA device that need not be there. A
// capture for one that was named carries it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opscope {

// By default a Hopper GPU: an H100 or H200.
struct CudaDevice {
  std::int64_t major = 9, minor = 0;  // compute capability
  std::int64_t processors = 132;      // streaming multiprocessors
  friend bool operator==(const CudaDevice&, const CudaDevice&) = default;

  constexpr bool is_between(std::int64_t low, std::int64_t high) const {  // 86 for 8.6
    return major * 10 + minor >= low && major * 10 + minor <= high;
  }
  // CUDA C++ Programming Guide, technical specifications per compute capability: resident threads.
  constexpr std::int64_t threads_per_processor() const {
    if (is_between(75, 75)) return 1024;
    return is_between(86, 89) || major >= 12 ? 1536 : 2048;
  }
};

// "8.0x108": capability and processors, as a request has them.
std::string to_text(const CudaDevice& device);
std::optional<CudaDevice> cuda_device_from(std::string_view text);  // nullopt: it is none

// In a capture: the device, and what cuBLAS keeps there for each thread that multiplies.
struct CapturedCuda {
  CudaDevice device;
  std::uint64_t cublas_pool_bytes = 0;
  friend bool operator==(const CapturedCuda&, const CapturedCuda&) = default;
};

}  // namespace opscope
