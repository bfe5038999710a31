// Random graphs for property tests: every kind of value, argument and scope, from a seed, the same on every
// machine (no std distributions, whose results the standard leaves open).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "graph/builder.h"

namespace opscope::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }
  template <class Items>
  const auto& pick(const Items& items) {
    return items[below(std::size(items))];
  }

 private:
  std::mt19937_64 engine_;
};

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed), builder_("random \"model\" \xc3\xa9", "Root") {}

  Graph make(std::size_t op_count) {
    for (std::size_t i = 0; i < 1 + random_.below(3); ++i) live_.push_back(builder_.input(spec()));
    while (builder_.graph().ops.size() < op_count) module(0, op_count);
    describe();
    tensors outputs;
    for (std::size_t i = 0; i < 1 + random_.below(2); ++i) outputs.push_back(random_.pick(live_));
    auto graph = builder_.finish(outputs);
    if (random_.chance(2)) tell_memory(graph);
    graph.verify();
    return graph;
  }

  // The same with a tracer's graphs around the ops: some parts run again, some ops run outside, some nodes
  // have no ops.
  Graph make_traced(std::size_t op_count) {
    auto graph = make(op_count);
    graph.capture.tracer = "dynamo";
    for (auto i = 1 + random_.below(4); i-- > 0;) add_part(graph);
    for (std::size_t first = 0; first < graph.ops.size();) first = run_part(graph, first);
    for (PartId part = 0; part < graph.parts.size(); ++part)
      if (random_.chance(2)) graph.breaks.push_back({"a \"print\"", "all\nof it", "net.py:7", part});
    graph.breaks.push_back({"skipped", {}, {}, kNone});
    graph.capture.rungs = {{"fx", "failed", "why", "hint", "all\n", 0.5}, {"dynamo", "used", {}, {}, {}, 0}};
    graph.verify();
    return graph;
  }

 private:
  // When storages were held, what ops took beside, and the phases of a training step.
  void tell_memory(Graph& graph) {
    const auto ops = graph.ops.size();
    if (ops == 0) return;
    for (std::size_t i = 0; i < graph.storages.size(); ++i) {
      const auto a = static_cast<OpId>(random_.below(ops)), b = static_cast<OpId>(random_.below(ops));
      const OpId made = random_.chance(4) ? kNone : std::min(a, b);
      graph.lifetimes.push_back({made, random_.chance(4) ? kNone : std::max(a, b)});
    }
    for (auto& op : graph.ops)
      if (random_.chance(3)) op.workspace = random_.chance(5) ? Count::kMax : random_.below(1000);
    for (auto& value : graph.values)
      if (value.kind == ValueKind::kConstant && random_.chance(2))
        value.kind = random_.chance(2) ? ValueKind::kGradient : ValueKind::kOptimizerState;
    if (random_.chance(2)) tell_cache(graph.kv_cache);
    if (random_.chance(2))
      graph.phases = {{"forward", 0},
                      {"backward", static_cast<OpId>(random_.below(ops))},
                      {"optimizer", static_cast<OpId>(ops)}};
  }

  void tell_cache(KvCache& cache) {
    cache.type = "DynamicCache", cache.batch = 2, cache.past_len = 7;
    if (random_.chance(2)) cache.capacity = 9, cache.block = 16;
    for (auto i = 1 + random_.below(3); i-- > 0;) {
      KvLayer layer{.kind = static_cast<KvKind>(random_.below(3)), .dtype = DType::kInt4, .heads = 2};
      if (layer.kind == KvKind::kSliding) layer.window = 5;
      layer.key_width = 8, layer.value_width = 4;
      layer.bytes_per_token = random_.below(100), layer.state_bytes = random_.below(2);
      layer.shared_bytes = random_.below(2);
      cache.layers.push_back(layer);
    }
    if (random_.chance(2)) cache.latent = {1, 2, 3, 4, 5, 6};
  }

  void add_part(Graph& graph) {
    const auto begin = static_cast<NodeId>(graph.nodes.size());
    const auto part = static_cast<PartId>(graph.parts.size());
    graph.parts.push_back({.name = "forward", .calls = 0});
    for (auto i = random_.below(9); i-- > 0;) {
      std::vector<NodeId> inputs;
      const auto earlier = graph.nodes.size() - begin;
      for (auto n = random_.below(4); n-- > 0 && earlier > 0;)
        inputs.push_back(begin + static_cast<NodeId>(random_.below(earlier)));
      graph.nodes.push_back({.kind = static_cast<NodeKind>(random_.below(6)),
                             .name = graph.intern(random_.pick(kArgumentNames)),
                             .target = graph.intern(random_.pick(kTargets)),
                             .source = graph.intern(random_.pick(kStrings)),
                             .part = part,
                             .module = static_cast<ModuleId>(random_.below(graph.modules.size())),
                             .inputs = graph.add_node_refs(inputs)});
    }
  }

  // Lets some part run from op `first` on: its nodes in order, each with a few ops. Returns the op after.
  std::size_t run_part(Graph& graph, std::size_t first) {
    if (random_.chance(4)) return first + 1;
    const auto part = static_cast<PartId>(random_.below(graph.parts.size()));
    const bool is_first_run = graph.parts[part].calls++ == 0;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      auto& node = graph.nodes[id];
      if (node.part != part) continue;
      for (auto n = random_.below(4); n-- > 0 && first < graph.ops.size(); ++first) {
        graph.ops[first].node = id;
        if (is_first_run) node.outputs = graph.ops[first].outputs;
      }
    }
    return first + 1;
  }

  void module(int depth, std::size_t op_count) {
    const auto call = builder_.call(random_.pick(kModuleNames), random_.pick(kTypes));
    if (random_.chance(2)) live_.push_back(builder_.parameter("weight", spec(), random_.chance(2)));
    if (random_.chance(4)) live_.push_back(builder_.buffer("running", spec()));
    if (random_.chance(8)) live_.push_back(builder_.constant(spec()));
    for (auto i = random_.below(4); i-- > 0 && builder_.graph().ops.size() < op_count;) {
      if (depth < 4 && random_.chance(3))
        module(depth + 1, op_count);
      else
        op();
    }
  }

  void op() {
    std::vector<NamedArgument> arguments;
    for (auto i = random_.below(6); i-- > 0;) arguments.push_back(argument());
    std::vector<TensorSpec> outputs;
    for (auto i = random_.below(3); i-- > 0;) outputs.push_back(spec());
    for (const auto made : builder_.op_outputs(random_.pick(kTargets), arguments, outputs))
      live_.push_back(made);
    if (random_.chance(5)) builder_.source("model.py:42");
    builder_.graph().ops.back().bounded = random_.chance(7);
    if (random_.chance(9)) builder_.declare_cost(random_.below(1000), std::nullopt, Count::kMax);
  }

  NamedArgument argument() {
    const std::string_view name = random_.pick(kArgumentNames);
    switch (random_.below(11)) {
      case 0:
        return {name, nullptr};
      case 1:
        return {name, tensors{random_.pick(live_), Tensor{}, random_.pick(live_)}};
      case 2:
        return {name, static_cast<std::int64_t>(random_.pick(kInts))};
      case 3:
        return {name, double{random_.pick(kReals)}};
      case 4:
        return {name, random_.chance(2)};
      case 5:
        return {name, std::string(random_.pick(kStrings))};
      case 6:
        return {name, kDTypes[random_.below(kDTypes.size())].dtype};
      case 7:
        return {name, ints(std::begin(kInts), std::begin(kInts) + random_.below(std::size(kInts)))};
      case 8:
        return {name, floats(std::begin(kReals), std::begin(kReals) + random_.below(std::size(kReals)))};
      case 9:
        return {name, bools{true, false, true}};
      default:
        return {name, random_.pick(live_)};
    }
  }

  TensorSpec spec() {
    ints shape;
    for (auto i = random_.below(5); i-- > 0;) shape.push_back(random_.pick(kDims));
    TensorSpec made(shape, kDTypes[random_.below(kDTypes.size())].dtype);
    if (random_.chance(6)) made.strides = ints{};
    if (!live_.empty() && random_.chance(4)) {
      made.alias = random_.pick(live_);
      made.offset = static_cast<std::int64_t>(random_.below(10));
    }
    return made;
  }

  void describe() {
    auto& graph = builder_.graph();
    graph.capture.source = "a test";
    graph.capture.torch = "2.13.0";
    graph.capture.seconds = random_.chance(4) ? 0 : 1.25e-3;
    graph.capture.slow_path = {{"aten::nonzero", random_.below(9)}};
    graph.capture.dependencies = {{"dir/\xe6\xa8\xa1.py", 120, -5}};
    graph.diagnostics = {{"assumption", "aten::nonzero", "head", "tab\there, line\nbreak, quote\", nul "}};
  }

  static constexpr std::string_view kModuleNames[] = {"a", "b", "layer.0", "layer.1", "e\xcc\x81\\\"x"};
  static constexpr std::string_view kTypes[] = {"Linear", "Block", ""};
  static constexpr std::string_view kTargets[] = {
      "aten::add.Tensor", "aten::conv2d", "aten::linear", "aten::relu_",
      "mylib::odd",       "aten::view",   "bare",         "ai.onnx::Conv"};
  static constexpr std::string_view kArgumentNames[] = {"input", "weight", "bias", "stride",
                                                        "self",  "other",  "",     "\"q"};
  static constexpr std::string_view kStrings[] = {"", "cpu", "a \"b\" \\ c", "\x01\x1f", "\xf0\x9f\x98\x80"};
  static constexpr std::int64_t kInts[] = {
      0, -1, 1, 7, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  static constexpr std::int64_t kDims[] = {0, 1,   2,         3,
                                           8, 224, 1LL << 40, std::numeric_limits<std::int64_t>::max()};
  static constexpr double kReals[] = {0.0,
                                      -0.0,
                                      1.0,
                                      0.1,
                                      -1e300,
                                      5e-324,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN()};

  Random random_;
  GraphBuilder builder_;
  tensors live_;
};

}  // namespace opscope::test
