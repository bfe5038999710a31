// What cuBLAS and cuDNN take from PyTorch's allocator on a CUDA device, beside the tensors: pools that are
// kept from the first use on, and what a convolution holds while it runs.
#pragma once

#include <span>
#include <vector>

#include "base/count.h"
#include "graph/graph.h"

namespace opscope {

struct LibraryWorkspace {
  Count pools{};          // cuBLAS's: one for each thread that multiplies, forward's and backward's
  Count least{}, most{};  // what all of it adds to the peak; only cuDNN knows which of its algorithms runs
  std::vector<Count> least_by_op{}, most_by_op{};  // what an op holds while it runs; empty on other devices
  bool is_exact() const { return least == most; }
};

// `alive`: by op, bytes in use while it runs, weights not; `peak`: the most of them.
LibraryWorkspace library_workspace(const Graph& graph, std::span<const Count> alive, Count peak);

}  // namespace opscope
