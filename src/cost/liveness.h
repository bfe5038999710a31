// Which memory is in use when, counted in storages: a view costs nothing, an in-place op makes nothing.
// Parameters, buffers and constants are there before the run and after it, and are counted apart.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/count.h"
#include "graph/graph.h"

namespace opscope {

enum class MemoryKind : std::uint8_t {
  kWeights,  // parameters, buffers and constants
  kInputs,
  kActivations,
  kWorkspace,  // what ops need while they run and do not give
  kKvCache,    // keys and values that a language model keeps for its next token
  kGradients,
  kOptimizerState,
};
inline constexpr std::size_t kMemoryKinds = 7;
std::string_view name(MemoryKind kind);  // "weights", "kv_cache"

struct MemorySplit {
  std::array<Count, kMemoryKinds> bytes{};  // by kind
  Count& operator[](MemoryKind kind) { return bytes[static_cast<std::size_t>(kind)]; }
  Count operator[](MemoryKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
  Count total() const;
};

// A storage is in use for its lifetime, where the capture tells it. Otherwise from the op that makes it to the last op that reads or writes it or any view of it, so
// that a result which nothing reads is gone after its op. Inputs are in use from the first op to the last one
// that reads them, and what the model returns stays to the end.
struct MemoryTimeline {
  std::vector<Count> alive;  // by op: bytes in use while it runs, what it makes included, weights not
  Count peak{};
  MemorySplit at_peak{};  // weights included
  OpId peak_op = kNone;  // the first that reaches the peak; kNone where there are no ops
};
MemoryTimeline memory_timeline(const Graph& graph);

// By node of a tracer's graph: bytes in use after its first run. As above, with nodes in place of ops: a node
// also reads what the nodes that it takes give, and an input is in use from its placeholder on. What runs
// outside the graphs, and later runs of a part, keep their memory in use too.
std::vector<Count> node_timeline(const Graph& graph);

}  // namespace opscope
