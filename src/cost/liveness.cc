// Storages become pieces, values without one a piece each; what the values in a piece are says what it is
// for. Each is held from one op to another; sweeping over these spans gives the sums.
#include "cost/liveness.h"

#include <algorithm>
#include <array>

#include "graph/graph.h"

namespace opscope {
namespace {

// Which piece of memory each value lives in, and what each piece is for.
struct PieceMap {
  explicit PieceMap(const Graph& graph);

  std::vector<std::uint32_t> of_value;
  std::vector<MemoryPiece> pieces;  // bytes, value, kind and returned; the rest is as it is made
  std::vector<char> is_input;       // by piece: given before the run
  std::vector<char> is_constant;    // by piece: a weight only because no op was seen to write it
};

// Wide enough for all storages together; a saturating count could not go down again.
using WideSum = unsigned __int128;
Count narrow(WideSum sum) {
  return sum < WideSum{Count::kMax} ? static_cast<std::uint64_t>(sum) : Count::kMax;
}

// What comes into use and what goes, step by step.
class MemorySweep {
 public:
  explicit MemorySweep(std::size_t steps) : born_(steps + 1), gone_(steps + 1) {}

  // In use from step `begin` to the one before `end`.
  void add(std::size_t begin, std::size_t end, Count bytes) {
    born_[begin] += bytes.value();
    gone_[end] += bytes.value();
  }
  // Calls visit(step, bytes in use) for each in order.
  template <class Visit>
  void run(Visit visit) const {
    WideSum sum = 0;
    for (std::size_t step = 0; step + 1 < born_.size(); ++step)
      visit(step, sum = sum + born_[step] - gone_[step]);
  }

 private:
  std::vector<WideSum> born_, gone_;
};

// What speaks for a piece, the strongest first: a parameter stays one whatever is written to it.
enum Claim : std::uint8_t { kWeight, kGradient, kState, kCache, kInput, kMade, kConstant, kNothing };

constexpr std::array<MemoryKind, 8> kKinds{
    MemoryKind::kWeights, MemoryKind::kGradients,   MemoryKind::kOptimizerState, MemoryKind::kKvCache,
    MemoryKind::kInputs,  MemoryKind::kActivations, MemoryKind::kWeights,        MemoryKind::kActivations};
// By the kind of a value; an input may also be a cache.
constexpr std::array<Claim, kValueKinds> kClaims{kInput,   kWeight,  kWeight,   kConstant,
                                                 kNothing, kNothing, kGradient, kState};

// By piece. Of what no value claims, the first to touch it decides: what an op reads before any has written
// it is a constant.
std::vector<Claim> claims_of(const Graph& graph, const PieceMap& map) {
  std::vector<Claim> claims(map.pieces.size(), kNothing);
  std::vector<char> touched(map.pieces.size());
  const auto add = [&](ValueId id, Claim claim) {
    Claim& strongest = claims[map.of_value[id]];
    strongest = std::min(strongest, claim);
  };
  const auto touch = [&](ValueId id, Claim claim) {
    if (std::exchange(touched[map.of_value[id]], 1) == 0) add(id, claim);
  };
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const auto& value = graph.values[id];
    const bool is_cache = value.kind == ValueKind::kInput && names_cache(graph.text(value.name));
    add(id, is_cache ? kCache : kClaims[static_cast<std::size_t>(value.kind)]);
  }
  // A result says what it is by its name; its value may be an activation's or an input's.
  for (const auto id : graph.outputs)
    if (names_cache(graph.text(graph.values[id].name))) add(id, kCache);
  for (const auto& op : graph.ops) {
    each_read(graph, op, [&](ValueId id) { touch(id, kConstant); });
    for (const auto id : graph.outputs_of(op)) touch(id, kMade);
  }
  return claims;
}

using Step = std::uint32_t;
constexpr Step kNever = kNone;

// Each piece is in use from the step that first touches it to the last.
class StepMemory {
 public:
  explicit StepMemory(const Graph& graph) : graph_(graph), map_(graph), spans_(map_.pieces.size()) {}

  void touch(ValueId id, Step step) {
    auto& span = spans_[map_.of_value[id]];
    if (span.first == kNever) span.first = step;
    span.last = step;
  }
  void touch(const Op& op, Step step) {
    each_read(graph_, op, [&](ValueId id) { touch(id, step); });
    for (const auto id : graph_.outputs_of(op)) touch(id, step);
  }
  // An input that is returned as it came may not have been touched.
  void keep_outputs(Step end) {
    for (const auto id : graph_.outputs) {
      auto& span = spans_[map_.of_value[id]];
      if (span.first == kNever) span.first = 0;
      span.last = end;
    }
  }

  // By step: bytes in use after it, where what it touches last is gone.
  std::vector<Count> after(Step steps) const {
    MemorySweep sweep(steps);
    for (std::size_t piece = 0; piece < spans_.size(); ++piece) {
      const auto [first, last] = spans_[piece];
      if (map_.pieces[piece].kind != MemoryKind::kWeights && first != kNever)
        sweep.add(first, last, map_.pieces[piece].bytes);
    }
    std::vector<Count> result;
    sweep.run([&](std::size_t, WideSum sum) { result.push_back(narrow(sum)); });
    return result;
  }

 private:
  struct Span {
    Step first = kNever, last = 0;
  };
  const Graph& graph_;
  PieceMap map_;
  std::vector<Span> spans_;  // by piece
};

// Each node where it first runs; ops outside the graphs and of later runs are steps of their own.
class Steps {
 public:
  explicit Steps(const Graph& graph) : graph_(graph) {
    for (const auto& op : graph.ops) of_op.push_back(step_of(op));
    pass_to(static_cast<NodeId>(graph.nodes.size()));
  }

  std::vector<Step> of_op, of_node;
  Step count = 0;

 private:
  Step step_of(const Op& op) {
    const auto next = static_cast<NodeId>(of_node.size());
    if (op.node != kNone && op.node >= next) {
      pass_to(op.node + 1);
      running_ = op.node;
    } else if (op.node == kNone || op.node != running_) {
      end_part();
      running_ = kNone;
      return count++;
    }
    return of_node[op.node];
  }

  // Nodes without ops have their turn between those that have some.
  void pass_to(NodeId end) {
    while (of_node.size() < end) of_node.push_back(count++);
  }
  void end_part() {
    if (of_node.empty()) return;
    const auto part = graph_.nodes[of_node.size() - 1].part;
    while (of_node.size() < graph_.nodes.size() && graph_.nodes[of_node.size()].part == part)
      of_node.push_back(count++);
  }

  const Graph& graph_;
  NodeId running_ = kNone;
};

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

bool names_cache(std::string_view value_name) {
  static constexpr std::array<std::string_view, 8> kWords{"past_key_value", "key_cache",       "value_cache",
                                                          "kv_cache",       "cache_params",    "conv_states",
                                                          "ssm_states",     "recurrent_states"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return value_name.find(word) != std::string_view::npos; });
}

PieceMap::PieceMap(const Graph& graph) : of_value(graph.values.size()) {
  pieces.reserve(graph.storages.size());
  for (const auto& storage : graph.storages) pieces.push_back({.bytes = Count{storage.bytes}});
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const auto& value = graph.values[id];
    of_value[id] = value.storage != kNone ? value.storage : static_cast<std::uint32_t>(pieces.size());
    if (value.storage == kNone) pieces.push_back({.bytes = bytes_of(graph, value)});
    auto& best = pieces[of_value[id]].value;
    if (best == kNone || (value.name != 0 && graph.values[best].name == 0)) best = id;
  }
  for (const auto id : graph.outputs) pieces[of_value[id]].returned = true;
  is_input.resize(pieces.size());
  for (const auto id : graph.inputs) is_input[of_value[id]] = 1;
  const auto claims = claims_of(graph, *this);
  is_constant.resize(pieces.size());
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    pieces[piece].kind = kKinds[claims[piece]];
    is_constant[piece] = claims[piece] == kConstant ? 1 : 0;
  }
}

std::vector<Count> node_timeline(const Graph& graph) {
  if (graph.nodes.empty()) return {};
  const Steps steps(graph);
  StepMemory memory(graph);
  // In the order of the steps, which is the order of the ops and of the nodes each by itself.
  OpId op = 0;
  const auto run_ops_to = [&](Step end) {
    for (; op < graph.ops.size() && steps.of_op[op] < end; ++op) memory.touch(graph.ops[op], steps.of_op[op]);
  };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const auto step = steps.of_node[id];
    run_ops_to(step + 1);
    for (const auto taken : graph.inputs_of(graph.nodes[id]))
      for (const auto value : graph.outputs_of(graph.nodes[taken])) memory.touch(value, step);
    for (const auto value : graph.outputs_of(graph.nodes[id])) memory.touch(value, step);
  }
  run_ops_to(steps.count);
  memory.keep_outputs(steps.count);
  const auto by_step = memory.after(steps.count);
  std::vector<Count> result;
  for (const auto step : steps.of_node) result.push_back(by_step[step]);
  return result;
}

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
  timeline.library = library_workspace(graph, timeline.alive, timeline.peak);
  if (!timeline.library.most_by_op.empty())
    timeline.allocator = simulate_cuda_allocator(graph, pieces, timeline.library);
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
