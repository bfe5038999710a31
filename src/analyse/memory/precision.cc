// Two bytes in place of four: exact by the sizes of the dtypes. What is held in other dtypes, and workspaces,
// stay as they are.
#include <algorithm>

#include "analyse/memory/advice.h"

namespace opscope {
namespace {

// PyTorch's attention computes in float32 whatever it is given, and keeps for backward what that made.
bool is_kept_by_attention(const Graph& graph, const MemoryPiece& piece) {
  if (piece.held.made == kNone) return false;
  const auto& op = graph.ops[piece.held.made];
  return short_op_name(graph.op_name(op)) == "scaled_dot_product_attention" &&
         std::ranges::find(graph.outputs_of(op), piece.value) == graph.outputs_of(op).end();
}

// Of a piece with this many bytes, what bfloat16 would not need. An optimiser counts its steps in float32.
Count spared(const Graph& graph, const MemoryPiece& piece) {
  if (piece.value == kNone) return {};
  if (piece.kind == MemoryKind::kOptimizerState && graph.shape(graph.values[piece.value]).empty()) return {};
  if (is_kept_by_attention(graph, piece)) return {};
  switch (graph.values[piece.value].dtype) {
    case DType::kFloat32:
      return piece.bytes / 2;
    case DType::kFloat64:
      return piece.bytes - piece.bytes / 4;
    default:
      return {};
  }
}

MemoryChange less(const MemoryReport& report, const MemoryPiece& piece, Count bytes) {
  return {piece.first_op(), piece.last_op(report.graph().ops.size()), bytes, false};
}

}  // namespace

void advise_precision(const WhatIf& what_if, MemoryReport& report) {
  Count weights{};
  std::size_t weight_places = 0;
  std::vector<MemoryChange> changes;
  for (const auto& piece : report.pieces) {
    const Count bytes = spared(report.graph(), piece);
    if (!piece.in_use || !bytes) continue;
    if (piece.kind == MemoryKind::kWeights)
      weights += bytes, ++weight_places;
    else
      changes.push_back(less(report, piece, bytes));
  }
  if (weights && !report.is_training)
    report.advice.push_back(
        {Remedy::kHalfWeights, "weights", "hold the weights in bfloat16", weight_places, weights, {}});
  if (changes.empty()) return;
  report.advice.push_back({Remedy::kHalfAll,
                           report.is_training ? "all that training holds" : "weights and activations",
                           report.is_training ? "train the model in bfloat16, its weights and optimizer too"
                                              : "run the model in bfloat16",
                           weight_places + changes.size(),
                           weights + what_if.saved_by(changes),
                           {}});
}

}  // namespace opscope
