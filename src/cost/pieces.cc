// Storages become pieces, values without one a piece each; what the values in a piece are says what it is
// for.
#include "cost/pieces.h"

#include <algorithm>
#include <array>

#include "graph/reads.h"

namespace opscope {
namespace {

// What speaks for a piece, the strongest first: a parameter stays one whatever is written to it.
enum Claim : std::uint8_t { kWeight, kGradient, kState, kCache, kInput, kMade, kConstant, kNothing };

Claim claim_of(const Graph& graph, const Value& value) {
  switch (value.kind) {
    case ValueKind::kParameter:
    case ValueKind::kBuffer:
      return kWeight;
    case ValueKind::kGradient:
      return kGradient;
    case ValueKind::kOptimizerState:
      return kState;
    case ValueKind::kInput:
      return names_cache(graph.text(value.name)) ? kCache : kInput;
    case ValueKind::kConstant:
      return kConstant;
    default:
      return kNothing;
  }
}

constexpr MemoryKind kind_of(Claim claim) {
  switch (claim) {
    case kGradient:
      return MemoryKind::kGradients;
    case kState:
      return MemoryKind::kOptimizerState;
    case kCache:
      return MemoryKind::kKvCache;
    case kInput:
      return MemoryKind::kInputs;
    case kMade:
    case kNothing:
      return MemoryKind::kActivations;
    case kWeight:
    case kConstant:
      return MemoryKind::kWeights;
  }
  return MemoryKind::kActivations;
}

// By piece. Of what no value claims, the first to touch it decides: what an op reads before any has written
// it is a constant.
class Claims {
 public:
  Claims(const Graph& graph, const PieceMap& map)
      : graph_(graph), map_(map), claims_(map.pieces.size(), kNothing), touched_(map.pieces.size()) {
    for (ValueId id = 0; id < graph.values.size(); ++id) add(id, claim_of(graph, graph.values[id]));
    // A result says what it is by its name; its value may be an activation's or an input's.
    for (const auto id : graph.outputs)
      if (names_cache(graph.text(graph.values[id].name))) add(id, kCache);
    for (const auto& op : graph.ops) touch(op);
  }
  Claim operator[](std::size_t piece) const { return claims_[piece]; }

 private:
  void add(ValueId id, Claim claim) {
    auto& strongest = claims_[map_.of_value[id]];
    if (claim < strongest) strongest = claim;
  }
  void touch(const Op& op) {
    each_read(graph_, op, [&](ValueId id) { touch(id, kConstant); });
    for (const auto id : graph_.outputs_of(op)) touch(id, kMade);
  }
  void touch(ValueId id, Claim claim) {
    auto& was_touched = touched_[map_.of_value[id]];
    if (was_touched == 0) add(id, claim);
    was_touched = 1;
  }

  const Graph& graph_;
  const PieceMap& map_;
  std::vector<Claim> claims_;
  std::vector<char> touched_;
};

}  // namespace

bool names_cache(std::string_view value_name) {
  static constexpr std::array<std::string_view, 8> kWords{"past_key_value", "key_cache",       "value_cache",
                                                          "kv_cache",       "cache_params",    "conv_states",
                                                          "ssm_states",     "recurrent_states"};
  for (const auto word : kWords)
    if (value_name.find(word) != std::string_view::npos) return true;
  return false;
}

PieceMap::PieceMap(const Graph& graph) : of_value(graph.values.size()) {
  place_values(graph);
  find_kinds(graph);
}

void PieceMap::place_values(const Graph& graph) {
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
}

void PieceMap::find_kinds(const Graph& graph) {
  const Claims claims(graph, *this);
  is_constant.resize(pieces.size());
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    pieces[piece].kind = kind_of(claims[piece]);
    is_constant[piece] = claims[piece] == kConstant ? 1 : 0;
  }
}

namespace {

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
    std::vector<WideSum> born(steps + 1), gone(steps + 1);
    for (std::size_t piece = 0; piece < spans_.size(); ++piece) {
      const auto [first, last] = spans_[piece];
      if (map_.pieces[piece].kind == MemoryKind::kWeights || first == kNever) continue;
      born[first] += map_.pieces[piece].bytes.value();
      gone[last] += map_.pieces[piece].bytes.value();
    }
    std::vector<Count> result(steps);
    WideSum sum = 0;
    for (Step step = 0; step < steps; ++step) {
      sum += born[step];
      sum -= gone[step];
      result[step] = narrow(sum);
    }
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

}  // namespace

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

}  // namespace opscope
