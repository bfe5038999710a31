// What kernels of PyTorch's own on a CUDA device allocate for themselves while they run, by the sizes of the
// call. What cuBLAS and cuDNN take is not here: see cost/library_workspace.h.
#pragma once

#include <string_view>

#include "torch/engine/cuda_device.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

using CudaScratch = std::uint64_t (*)(at::ArrayRef<c10::IValue> arguments, const CudaDevice& device);

CudaScratch find_cuda_scratch(std::string_view op);  // nullptr: nothing worth telling

}  // namespace opscope::engine
