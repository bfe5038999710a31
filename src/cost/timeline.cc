// Each piece of memory is held from one op to another; sweeping over these spans gives the sums.
#include <algorithm>

#include "cost/liveness.h"
#include "cost/pieces.h"
#include "graph/graph.h"

namespace opscope {
namespace {

// By piece: the first op that touches it, and whether that one reads it.
struct FirstUse {
  OpId op = kNone;
  bool is_read = false;
};

class Holding {
 public:
  explicit Holding(const Graph& graph) : graph_(graph), map_(graph), first_(map_.pieces.size()) {
    for (OpId op = 0; op < graph.ops.size(); ++op) touch(op);
    for (std::size_t piece = 0; piece < first_.size(); ++piece)
      piece < graph.lifetimes.size() ? hold_as_told(piece) : hold_by_use(piece);
  }
  std::vector<MemoryPiece> take() && { return std::move(map_.pieces); }

 private:
  void touch(OpId op) {
    each_read(graph_, graph_.ops[op], [&](ValueId id) { touch(id, op, true); });
    for (const auto id : graph_.outputs_of(graph_.ops[op])) touch(id, op, false);
  }
  void touch(ValueId id, OpId op, bool is_read) {
    const auto piece = map_.of_value[id];
    if (first_[piece].op == kNone) first_[piece] = {op, is_read};
    map_.pieces[piece].last_use = op;
  }

  // A storage that is made in the run is no weight, even where what wrote it was not seen.
  void hold_as_told(std::size_t index) {
    auto& piece = map_.pieces[index];
    if (map_.is_constant[index] != 0 && graph_.lifetimes[index].made != kNone)
      piece.kind = MemoryKind::kActivations;
    piece.in_use = true;
    if (piece.kind == MemoryKind::kWeights) return;
    piece.held = graph_.lifetimes[index];
    const bool is_touched = first_[index].op != kNone || piece.returned;
    if (piece.kind == MemoryKind::kActivations && piece.held.made == kNone && !is_touched)
      piece.in_use = false;
  }

  void hold_by_use(std::size_t index) {
    auto& piece = map_.pieces[index];
    const auto [first, is_read] = first_[index];
    const bool is_kept = piece.kind == MemoryKind::kGradients || piece.kind == MemoryKind::kOptimizerState;
    piece.in_use = piece.kind == MemoryKind::kWeights || first != kNone || piece.returned || is_kept;
    if (piece.kind == MemoryKind::kWeights) return;
    const bool was_there = is_read || first == kNone || map_.is_input[index] != 0;
    piece.held = {was_there ? kNone : first, piece.returned || is_kept ? kNone : piece.last_use};
  }

  const Graph& graph_;
  PieceMap map_;
  std::vector<FirstUse> first_;  // by piece
};

// Calls visit(op, bytes in use) for each op in order, of the pieces that are in use and `counted`.
template <class Counted, class Visit>
void sweep(std::size_t ops, std::span<const MemoryPiece> pieces, Counted counted, Visit visit) {
  MemorySweep sweep(ops);
  for (const auto& piece : pieces)
    if (piece.in_use && counted(piece.kind)) sweep.add(piece.first_op(), piece.last_op(ops) + 1, piece.bytes);
  sweep.run(visit);
}

MemorySplit split_at(const Graph& graph, std::span<const MemoryPiece> pieces, OpId op) {
  MemorySplit split;
  for (const auto& piece : pieces)
    if (piece.in_use && piece.first_op() <= op && op <= piece.last_op(graph.ops.size()))
      split[piece.kind] += piece.bytes;
  split[MemoryKind::kWorkspace] += Count{graph.ops[op].workspace};
  return split;
}

Count weights_of(std::span<const MemoryPiece> pieces) {
  Count sum{};
  for (const auto& piece : pieces)
    if (piece.kind == MemoryKind::kWeights && piece.in_use) sum += piece.bytes;
  return sum;
}

}  // namespace

std::string_view name(MemoryKind kind) {
  static constexpr std::array<std::string_view, kMemoryKinds> kNames{
      "weights", "inputs", "activations", "workspace", "kv_cache", "gradients", "optimizer_state"};
  return kNames[static_cast<std::size_t>(kind)];
}

Count MemorySplit::total() const {
  Count sum{};
  for (const auto each : bytes) sum += each;
  return sum;
}

std::vector<MemoryPiece> memory_pieces(const Graph& graph) { return Holding(graph).take(); }

MemoryTimeline memory_timeline(const Graph& graph) { return memory_timeline(graph, memory_pieces(graph)); }

MemoryTimeline memory_timeline(const Graph& graph, std::span<const MemoryPiece> pieces) {
  MemoryTimeline timeline;
  timeline.weights = weights_of(pieces);
  timeline.at_peak[MemoryKind::kWeights] = timeline.weights;
  const auto ops = graph.ops.size();
  if (ops == 0) return timeline;
  timeline.alive.resize(ops);
  sweep(
      ops, pieces, [](MemoryKind kind) { return kind != MemoryKind::kWeights; },
      [&](std::size_t op, WideSum sum) { timeline.alive[op] = narrow(sum + graph.ops[op].workspace); });
  const auto peak = std::max_element(timeline.alive.begin(), timeline.alive.end());
  timeline.peak = *peak;
  timeline.peak_op = static_cast<OpId>(peak - timeline.alive.begin());
  timeline.at_peak = split_at(graph, pieces, timeline.peak_op);
  return timeline;
}

std::vector<MemorySplit> memory_splits(const Graph& graph, std::span<const MemoryPiece> pieces) {
  std::vector<MemorySplit> splits(graph.ops.size());
  const Count weights = weights_of(pieces);
  for (OpId op = 0; op < splits.size(); ++op) {
    splits[op][MemoryKind::kWeights] = weights;
    splits[op][MemoryKind::kWorkspace] = Count{graph.ops[op].workspace};
  }
  for (std::size_t index = 0; index < kMemoryKinds; ++index) {
    const auto kind = static_cast<MemoryKind>(index);
    if (kind == MemoryKind::kWeights || kind == MemoryKind::kWorkspace || splits.empty()) continue;
    sweep(
        splits.size(), pieces, [&](MemoryKind each) { return each == kind; },
        [&](std::size_t op, WideSum sum) { splits[op][kind] = narrow(sum); });
  }
  return splits;
}

}  // namespace opscope
