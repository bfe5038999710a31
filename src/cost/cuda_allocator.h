// PyTorch's caching allocator on a CUDA device, simulated: it takes memory from the driver in segments,
// splits them into blocks and keeps what is freed, so that a run needs more than its tensors hold.
#pragma once

#include <span>

#include "cost/library_workspace.h"
#include "cost/memory_piece.h"

namespace opscope {

struct CudaAllocation {
  Count allocated_least{}, allocated_most{};  // torch.cuda.max_memory_allocated
  Count reserved{};                           // torch.cuda.max_memory_reserved, with the most workspace
  Count needed{};                             // a device with so much runs it
};

// Weights first, then one run of the ops.
CudaAllocation simulate_cuda_allocator(const Graph& graph, std::span<const MemoryPiece> pieces,
                                       const LibraryWorkspace& library);

}  // namespace opscope
