// Which memory is in use when, counted in storages: a view costs nothing, an in-place op makes nothing.
// Parameters, buffers and constants are there before the run and after it, and are counted apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/count.h"
#include "cost/cuda_allocator.h"
#include "cost/library_workspace.h"
#include "cost/memory_piece.h"
#include "graph/graph.h"

namespace opscope {

// The storages, then the values that have none, in their order.
std::vector<MemoryPiece> memory_pieces(const Graph& graph);

struct MemoryTimeline {
  std::vector<Count> alive;  // by op: bytes in use while it runs, what it makes and its workspace included,
                             // weights not
  Count weights{};           // there all the time
  Count peak{};              // of alive
  MemorySplit at_peak{};     // weights included
  OpId peak_op = kNone;      // the first that reaches the peak; kNone where there are no ops

  LibraryWorkspace library{};  // cuBLAS's and cuDNN's, on a CUDA device
  CudaAllocation allocator{};  // what PyTorch's allocator needs for it there; 0 on another device

  Count peak_memory_bytes() const { return weights + peak; }
  // What a device must have for it.
  Count needed_bytes() const { return std::max(weights + peak + library.most, allocator.needed); }
};
MemoryTimeline memory_timeline(const Graph& graph);
MemoryTimeline memory_timeline(const Graph& graph, std::span<const MemoryPiece> pieces);

// By op: what is in use while it runs, weights included.
std::vector<MemorySplit> memory_splits(const Graph& graph, std::span<const MemoryPiece> pieces);

// By node of a tracer's graph: bytes in use after its first run, by last use, with nodes in place of ops: a
// node also reads what the nodes that it takes give, and an input is in use from its placeholder on. What
// runs outside the graphs, and later runs of a part, keep their memory in use too.
std::vector<Count> node_timeline(const Graph& graph);

}  // namespace opscope
