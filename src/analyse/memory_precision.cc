// Two bytes in place of four: exact by the sizes of the dtypes. What is held in other dtypes, and workspaces,
// stay as they are.
#include "analyse/memory_advice.h"

namespace opscope {
namespace {

// Of a piece with this many bytes, what bfloat16 would not need.
Count spared(const Graph& graph, const MemoryPiece& piece) {
  if (piece.value == kNone) return {};
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

// Autocast works on copies of the weights, which its cache and autograd hold through the step.
void advise_autocast(const WhatIf& what_if, Count copies, MemoryReport& report) {
  std::vector<MemoryChange> changes;
  for (const auto& piece : report.pieces)
    if (piece.in_use && piece.kind == MemoryKind::kActivations)
      if (const Count bytes = spared(report.graph(), piece)) changes.push_back(less(report, piece, bytes));
  const std::size_t places = changes.size();
  OpId last = static_cast<OpId>(report.graph().ops.size()) - 1;
  for (const auto& phase : report.phases)
    if (phase.name == "optimizer" && phase.begin > 0) last = phase.begin - 1;
  changes.push_back({0, last, copies, true});
  report.advice.push_back({Remedy::kHalfAll,
                           "activations",
                           "train under torch.autocast in bfloat16; its copies of the weights are counted",
                           places,
                           what_if.saved_by(changes),
                           {}});
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
  if (report.is_training) return advise_autocast(what_if, weights, report);
  if (weights)
    report.advice.push_back(
        {Remedy::kHalfWeights, "weights", "hold the weights in bfloat16", weight_places, weights, {}});
  if (!changes.empty())
    report.advice.push_back({Remedy::kHalfAll,
                             "weights and activations",
                             "run the model in bfloat16",
                             weight_places + changes.size(),
                             weights + what_if.saved_by(changes),
                             {}});
}

}  // namespace opscope
