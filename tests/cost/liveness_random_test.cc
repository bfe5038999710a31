// Memory over time of random graphs and random runs of parts, against sets of storages searched step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cost/liveness.h"
#include "graph/graph.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

using Counts = std::vector<Count>;

TensorSpec bytes(std::int64_t n) { return TensorSpec(ints{n}, DType::kUInt8); }

using Piece = std::pair<bool, Id>;  // a storage, or a value that has none

Piece piece_of(const Graph& graph, ValueId id) {
  const auto storage = graph.values[id].storage;
  return storage == kNone ? Piece{true, id} : Piece{false, storage};
}

Count size_of(const Graph& graph, Piece piece) {
  return piece.first ? bytes_of(graph, graph.values[piece.second])
                     : Count{graph.storages[piece.second].bytes};
}

std::set<Piece> pieces_of_kind(const Graph& graph, std::initializer_list<ValueKind> kinds) {
  std::set<Piece> found;
  for (ValueId id = 0; id < graph.values.size(); ++id)
    for (const auto kind : kinds)
      if (graph.values[id].kind == kind) found.insert(piece_of(graph, id));
  return found;
}

std::set<Piece> counted(const Graph& graph) {
  auto found = pieces_of_kind(graph, {ValueKind::kInput});
  std::set<Piece> read;
  for (const auto& op : graph.ops) {
    each_read(graph, op, [&](ValueId id) { read.insert(piece_of(graph, id)); });
    for (const auto id : graph.outputs_of(op))
      if (!read.contains(piece_of(graph, id))) found.insert(piece_of(graph, id));
  }
  for (const auto& piece : pieces_of_kind(graph, {ValueKind::kParameter, ValueKind::kBuffer}))
    found.erase(piece);
  return found;
}

std::set<Piece> touched_by(const Graph& graph, const Op& op) {
  std::set<Piece> found;
  each_read(graph, op, [&](ValueId id) { found.insert(piece_of(graph, id)); });
  for (const auto id : graph.outputs_of(op)) found.insert(piece_of(graph, id));
  return found;
}

std::set<Piece> returned(const Graph& graph) {
  std::set<Piece> found;
  for (const auto id : graph.outputs) found.insert(piece_of(graph, id));
  return found;
}

bool touches(const std::vector<std::set<Piece>>& steps, std::size_t begin, std::size_t end, Piece piece) {
  for (auto step = begin; step < end; ++step)
    if (steps[step].contains(piece)) return true;
  return false;
}

// The kind of each piece, asked of every value and every op anew.
MemoryKind kind_of(const Graph& graph, Piece piece) {
  const auto has = [&](ValueKind kind) { return pieces_of_kind(graph, {kind}).contains(piece); };
  if (has(ValueKind::kParameter) || has(ValueKind::kBuffer)) return MemoryKind::kWeights;
  if (has(ValueKind::kGradient)) return MemoryKind::kGradients;
  if (has(ValueKind::kOptimizerState)) return MemoryKind::kOptimizerState;
  if (has(ValueKind::kInput)) return MemoryKind::kInputs;
  for (const auto& op : graph.ops) {
    bool is_read = false, is_written = false;
    each_read(graph, op, [&](ValueId id) { is_read = is_read || piece_of(graph, id) == piece; });
    for (const auto id : graph.outputs_of(op)) is_written = is_written || piece_of(graph, id) == piece;
    if (is_read) break;
    if (is_written) return MemoryKind::kActivations;
  }
  const bool is_told = !piece.first && piece.second < graph.lifetimes.size();
  return is_told && graph.lifetimes[piece.second].made != kNone ? MemoryKind::kActivations
                                                                : MemoryKind::kWeights;
}

std::set<Piece> all_pieces(const Graph& graph) {
  std::set<Piece> found;
  for (ValueId id = 0; id < graph.values.size(); ++id) found.insert(piece_of(graph, id));
  for (Id storage = 0; storage < graph.lifetimes.size(); ++storage)
    if (graph.lifetimes[storage].made != kNone) found.insert({false, storage});
  return found;
}

class Oracle {
 public:
  explicit Oracle(const Graph& graph)
      : graph_(graph), inputs_(pieces_of_kind(graph, {ValueKind::kInput})), kept_(returned(graph)) {
    for (const auto& op : graph.ops) steps_.push_back(touched_by(graph, op));
    for (const auto& piece : all_pieces(graph)) kinds.emplace(piece, kind_of(graph, piece));
  }
  std::map<Piece, MemoryKind> kinds;

  bool is_in_use(Piece piece, MemoryKind kind, OpId op) const {
    if (kind == MemoryKind::kWeights) return true;
    const bool is_told = !piece.first && piece.second < graph_.lifetimes.size();
    return is_told ? is_told_alive(graph_.lifetimes[piece.second], op) : is_needed(piece, kind, op);
  }
  MemorySplit split(OpId op) const {
    MemorySplit split;
    for (const auto& [piece, kind] : kinds)
      if (is_in_use(piece, kind, op)) split[kind] += size_of(graph_, piece);
    split[MemoryKind::kWorkspace] += Count{graph_.ops[op].workspace};
    return split;
  }

 private:
  static bool is_told_alive(Lifetime life, OpId op) {
    return (life.made == kNone || life.made <= op) && (life.freed == kNone || op <= life.freed);
  }
  bool is_needed(Piece piece, MemoryKind kind, OpId op) const {
    const bool stays = kind == MemoryKind::kGradients || kind == MemoryKind::kOptimizerState;
    const bool is_read_first = stays && !written_first(piece);
    const bool is_there = inputs_.contains(piece) || is_read_first || touches(steps_, 0, op + 1, piece);
    return is_there && (stays || kept_.contains(piece) || touches(steps_, op, steps_.size(), piece));
  }
  bool written_first(Piece piece) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].contains(piece)) continue;
      bool is_read = false;
      each_read(graph_, graph_.ops[i],
                [&](ValueId id) { is_read = is_read || piece_of(graph_, id) == piece; });
      return !is_read;
    }
    return false;
  }

  const Graph& graph_;
  std::vector<std::set<Piece>> steps_;
  std::set<Piece> inputs_, kept_;
};

TEST(MemoryTimeline, AgreesWithBruteForce) {
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    auto graph = test::RandomGraph(seed).make(1 + seed % 50);
    test::Random random(seed);
    for (auto& value : graph.values)
      if (random.chance(10)) value.storage = kNone;
    told += graph.lifetimes.empty() ? 0 : 1;
    const Oracle oracle(graph);
    const auto pieces = memory_pieces(graph);
    const auto timeline = memory_timeline(graph, pieces);
    const auto splits = memory_splits(graph, pieces);
    ASSERT_EQ(splits.size(), graph.ops.size());
    Counts alive;
    for (OpId op = 0; op < graph.ops.size(); ++op) {
      auto split = oracle.split(op);
      ASSERT_EQ(splits[op].bytes, split.bytes) << "seed " << seed << ", op " << op;
      split[MemoryKind::kWeights] = 0;
      alive.push_back(split.total());
    }
    ASSERT_EQ(timeline.alive, alive) << "seed " << seed;
    const auto peak = std::max_element(alive.begin(), alive.end());
    EXPECT_EQ(timeline.peak, *peak);
    EXPECT_EQ(timeline.peak_op, static_cast<OpId>(peak - alive.begin()));
    EXPECT_EQ(timeline.at_peak, splits[timeline.peak_op]);
    EXPECT_EQ(timeline.weights, splits[0][MemoryKind::kWeights]);
  }
  EXPECT_GT(told, 40u);
}

// Runs parts, again and again, with ops between them, and remembers what happened when.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed) {
    for (auto i = 1 + random_.below(3); i-- > 0;) live_.push_back(b_.input(bytes(size())));
    live_.push_back(b_.parameter("weight", bytes(1 << 20)));
    for (auto i = 2 + random_.below(6); i-- > 0;) run_part();
    for (auto i = random_.below(3); i-- > 0;) outside();
    graph = b_.finish({random_.pick(live_), live_.back()});
    finish();
  }

  struct Happening {
    NodeId node = kNone;  // in its first run
    std::set<Piece> touched;
  };
  Graph graph;
  std::vector<Happening> steps;

 private:
  struct Plan {
    NodeKind kind;
    std::vector<NodeId> inputs;
    std::uint64_t ops;
  };

  std::int64_t size() { return 1 + static_cast<std::int64_t>(random_.below(1000)); }

  Tensor op() {
    const auto from = random_.pick(live_);
    if (random_.chance(3)) return b_.op("aten::view", {{"self", from}}, {bytes(1).view_of(from)});
    return b_.op("aten::cat", {{"tensors", tensors{from, random_.pick(live_)}}}, {bytes(size())});
  }

  void outside() {
    live_.push_back(op());
    ops_of_.push_back(static_cast<std::uint32_t>(steps.size()));
    steps.push_back({});
  }

  void run_part() {
    const bool is_new = plans_.empty() || random_.chance(2);
    const auto index = is_new ? plans_.size() : random_.below(plans_.size());
    if (!is_new || random_.chance(2)) outside();
    const auto part = b_.begin_part("part" + std::to_string(index));
    if (is_new) plans_.emplace_back();
    const auto count = is_new ? 1 + random_.below(7) : plans_[index].size();
    must_work_ = random_.below(count);
    for (std::size_t i = 0; i < count; ++i) run_node(part, i, is_new);
  }

  void run_node(PartId part, std::size_t index, bool is_new) {
    if (is_new) plans_[part].push_back(random_plan(part, index));
    const auto& plan = plans_[part][index];
    tensors given;
    if (plan.kind == NodeKind::kPlaceholder) given.push_back(random_.pick(live_));
    const auto node = b_.node(plan.kind, "n" + std::to_string(index), "t", {}, given);
    if (is_new) {
      auto& graph_so_far = b_.graph();
      graph_so_far.nodes[node].inputs = graph_so_far.add_node_refs(plan.inputs);
      steps.push_back({.node = node, .touched = {}});
    }
    for (std::uint64_t i = 0; i < plan.ops; ++i) {
      if (!is_new) steps.push_back({});
      live_.push_back(op());
      ops_of_.push_back(static_cast<std::uint32_t>(steps.size() - 1));
    }
  }

  Plan random_plan(PartId part, std::size_t index) {
    Plan plan{static_cast<NodeKind>(random_.below(6)), {}, 0};
    const auto begin = static_cast<NodeId>(b_.graph().nodes.size() - index);
    EXPECT_TRUE(index == 0 || b_.graph().nodes[begin].part == part);
    for (auto n = index == 0 ? 0 : random_.below(3); n-- > 0;)
      plan.inputs.push_back(begin + static_cast<NodeId>(random_.below(index)));
    if (plan.kind >= NodeKind::kCallModule && plan.kind <= NodeKind::kCallMethod) plan.ops = random_.below(3);
    if (index == must_work_) plan = {NodeKind::kCallFunction, plan.inputs, 1 + random_.below(2)};
    return plan;
  }

  void finish() {
    for (OpId op = 0; op < graph.ops.size(); ++op)
      steps[ops_of_[op]].touched.merge(touched_by(graph, graph.ops[op]));
    for (auto& step : steps) {
      if (step.node == kNone) continue;
      const auto& node = graph.nodes[step.node];
      for (const auto id : graph.outputs_of(node)) step.touched.insert(piece_of(graph, id));
      for (const auto taken : graph.inputs_of(node))
        for (const auto id : graph.outputs_of(graph.nodes[taken])) step.touched.insert(piece_of(graph, id));
    }
  }

  test::Random random_;
  GraphBuilder b_;
  tensors live_;
  std::vector<std::vector<Plan>> plans_;  // by part
  std::vector<std::uint32_t> ops_of_;     // by op: its step
  std::size_t must_work_ = 0;  // a node with ops: when a part without any ran, a capture does not tell
};

TEST(NodeTimeline, AgreesWithBruteForce) {
  std::size_t nodes = 0, later_runs = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomRun run(seed);
    const auto& graph = run.graph;
    std::vector<std::set<Piece>> steps;
    for (const auto& step : run.steps) steps.push_back(step.touched);
    const auto kept = returned(graph);
    Counts expected(graph.nodes.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (run.steps[i].node == kNone) continue;
      for (const auto& piece : counted(graph)) {
        const bool was_touched = touches(steps, 0, i + 1, piece);
        const bool is_needed = touches(steps, i + 1, steps.size(), piece);
        const bool is_passed_by = !touches(steps, 0, steps.size(), piece);
        if (kept.contains(piece) ? was_touched || is_passed_by : was_touched && is_needed)
          expected[run.steps[i].node] += size_of(graph, piece);
      }
    }
    ASSERT_EQ(node_timeline(graph), expected) << "seed " << seed;
    nodes += graph.nodes.size();
    for (const auto& part : graph.parts) later_runs += part.calls - 1;
  }
  EXPECT_GT(nodes, 1000u);
  EXPECT_GT(later_runs, 100u);
}

}  // namespace
}  // namespace opscope
