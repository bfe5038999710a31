// What ops of a model need of each other and of memory that outlives them, as far as it matters to where they
// run: tensors between them by the last op that wrote them, weights and caches that they see, and what has to
// be on one device because it is changed in place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/cost.h"
#include "cost/memory_piece.h"
#include "graph/graph.h"

namespace opscope {

struct OpFlow {
  struct Edge {
    OpId from = 0, to = 0;
    ValueId value = 0;
  };
  std::vector<Edge> edges;
  // By op: pieces of memory that are there before and after the run and that it sees: weights, caches.
  std::vector<std::vector<std::uint32_t>> held_by;
  // By op: caches that it reads and that are gone before the run ends, for a longer one that takes their
  // place.
  std::vector<std::vector<std::uint32_t>> freed_caches;
  std::vector<OpId> made_by;                // by piece; kNone: it was there before
  std::vector<bool> held;                   // by piece: it is in held_by of those that see it
  std::vector<std::vector<OpId>> together;  // ops that have to be on one device
  // Ops that run where another does: a view with what made its memory or, of a weight, with who reads it;
  // what depends on no input with who first reads it; what nobody reads with what it is made from.
  std::vector<std::pair<OpId, OpId>> beside;
  std::vector<OpId> reads_inputs, gives_outputs;
  std::vector<OpId> output_makers;  // by output of the graph; kNone: it was there before
  std::vector<Edge> weight_views;   // of memory that is there before the run, and who reads them

  bool is_held(std::uint32_t piece) const { return held[piece]; }
};

OpFlow op_flow(const Graph& graph, std::span<const OpCost> costs, std::span<const MemoryPiece> pieces);

}  // namespace opscope
