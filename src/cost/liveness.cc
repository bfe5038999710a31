// The run is a row of steps: ops, or nodes and the ops outside them. Each piece of memory is in use from one
// step to another; sweeping over these spans gives the sums.
#include "cost/liveness.h"

#include <algorithm>
#include <utility>

#include "graph/reads.h"

namespace opscope {
namespace {

using Step = std::uint32_t;
constexpr Step kNever = kNone;

// The memory behind the values: pieces are the storages, then the values that have none.
class Memory {
 public:
  explicit Memory(const Graph& graph) : graph_(graph), piece_of_(graph.values.size()) {
    for (const auto& storage : graph.storages) bytes_.push_back(Count{storage.bytes});
    for (std::size_t id = 0; id < piece_of_.size(); ++id) {
      const auto& value = graph.values[id];
      piece_of_[id] = value.storage != kNone ? value.storage : bytes_.size();
      if (value.storage == kNone) bytes_.push_back(bytes_of(graph, value));
    }
    spans_.resize(bytes_.size());
    find_counted();
  }

  void touch(ValueId id, Step step) {
    auto& span = spans_[piece_of_[id]];
    if (span.first == kNever) span.first = step;
    span.last = step;
  }
  void touch(const Op& op, Step step) {
    each_read(graph_, op, [&](ValueId id) { touch(id, step); });
    for (const auto id : graph_.outputs_of(op)) touch(id, step);
  }

  void give_inputs_at_start() {
    for (const auto id : graph_.inputs)
      if (auto& span = spans_[piece_of_[id]]; span.first != kNever) span.first = 0;
  }
  // An input that is returned as it came may not have been touched.
  void keep_outputs(Step end) {
    for (const auto id : graph_.outputs) {
      auto& span = spans_[piece_of_[id]];
      if (span.first == kNever) span.first = 0;
      span.last = end;
    }
  }

  // By step: bytes in use during it; or after it, where what it touches last is gone.
  std::vector<Count> during(Step steps) const { return sums(steps, 0); }
  std::vector<Count> after(Step steps) const { return sums(steps, 1); }

 private:
  struct Span {
    Step first = kNever, last = 0;
  };
  // Wide enough for all storages together; a saturating count could not go down again.
  using Sum = unsigned __int128;

  // Weights are what they are whatever is written to them. Of the rest, what an op reads before any has
  // written it is a constant.
  void find_counted() {
    std::vector<char> is_weight(bytes_.size()), is_known(bytes_.size());
    is_counted_.resize(bytes_.size());
    for (std::size_t id = 0; id < piece_of_.size(); ++id) {
      const auto kind = graph_.values[id].kind;
      const auto piece = piece_of_[id];
      if (kind == ValueKind::kParameter || kind == ValueKind::kBuffer) is_weight[piece] = 1;
      if (kind == ValueKind::kInput) is_counted_[piece] = is_known[piece] = 1;
    }
    for (const auto& op : graph_.ops) {
      each_read(graph_, op, [&](ValueId id) { is_known[piece_of_[id]] = 1; });
      for (const auto id : graph_.outputs_of(op))
        if (std::exchange(is_known[piece_of_[id]], 1) == 0) is_counted_[piece_of_[id]] = 1;
    }
    for (std::size_t piece = 0; piece < bytes_.size(); ++piece)
      if (is_weight[piece] != 0) is_counted_[piece] = 0;
  }

  std::vector<Count> sums(Step steps, Step earlier) const {
    std::vector<Sum> born(steps + 1), gone(steps + 1);
    for (std::size_t piece = 0; piece < bytes_.size(); ++piece) {
      const auto [first, last] = spans_[piece];
      if (is_counted_[piece] == 0 || first == kNever) continue;
      born[first] += bytes_[piece].value();
      gone[last + 1 - earlier] += bytes_[piece].value();
    }
    std::vector<Count> result(steps);
    Sum sum = 0;
    for (Step step = 0; step < steps; ++step) {
      sum += born[step];
      sum -= gone[step];
      result[step] = static_cast<std::uint64_t>(std::min(sum, Sum{Count::kMax}));
    }
    return result;
  }

  const Graph& graph_;
  std::vector<std::size_t> piece_of_;  // by value
  std::vector<Count> bytes_;           // by piece, as the next ones
  std::vector<char> is_counted_;
  std::vector<Span> spans_;
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

MemoryTimeline memory_timeline(const Graph& graph) {
  if (graph.ops.empty()) return {};
  const auto steps = static_cast<Step>(graph.ops.size());
  Memory memory(graph);
  for (OpId op = 0; op < steps; ++op) memory.touch(graph.ops[op], op);
  memory.give_inputs_at_start();
  memory.keep_outputs(steps - 1);
  MemoryTimeline timeline{.alive = memory.during(steps)};
  const auto peak = std::max_element(timeline.alive.begin(), timeline.alive.end());
  timeline.peak = *peak;
  timeline.peak_op = static_cast<OpId>(peak - timeline.alive.begin());
  return timeline;
}

std::vector<Count> node_timeline(const Graph& graph) {
  if (graph.nodes.empty()) return {};
  const Steps steps(graph);
  Memory memory(graph);
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
