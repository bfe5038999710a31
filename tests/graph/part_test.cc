// A part is a graph of its own, and all parts with what runs outside them are the whole.
#include <gtest/gtest.h>

#include <algorithm>

#include "cost/cost.h"
#include "graph/graph.h"
#include "graph/measured_graph.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (const auto id : values) names.emplace_back(graph.text(graph.values[id].name));
  return names;
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& op : graph.ops) names.emplace_back(short_op_name(graph.op_name(op)));
  return names;
}

using Names = std::vector<std::string>;

// x -> [conv -> relu_] -> neg -> [view -> linear, twice] -> output; the second part runs again on its result.
class Parts : public testing::Test {
 protected:
  Parts() {
    auto x = b.input({1, 3, 4, 4}, "x");
    b.begin_part("forward");
    const NodeId input = b.node(NodeKind::kPlaceholder, "l_x_", "L_x_", {}, {x});
    {
      const auto conv = b.call("conv", "Conv2d");
      const auto weight = b.parameter("weight", {4, 3, 1, 1});
      const auto node = b.node(NodeKind::kCallModule, "conv", "conv", {input});
      x = b.op("aten::conv2d", {{"input", x}, {"weight", weight}, {"stride", ints{1, 1}}}, {{1, 4, 4, 4}});
      b.declare_cost(7, std::nullopt, std::nullopt);
      x = b.op("aten::relu_", {{"self", x}}, {TensorSpec{1, 4, 4, 4}.view_of(x)});
    }
    const NodeId output = b.node(NodeKind::kOutput, "output", "output", {input + 1}, {x});
    EXPECT_EQ(output, 2u);
    x = b.op("aten::neg", {{"self", x}}, {{1, 4, 4, 4}});
    const auto mask = b.buffer("mask", {64});
    for (int run = 0; run < 2; ++run) x = second(x, mask);
    b.graph().breaks = {{"print", "all", "net.py:3", 0}, {"other", "", "", 1}, {"skipped", "", "", kNone}};
    b.graph().diagnostics = {
        {"assumption", "", "", "of all"}, {"bound", "aten::neg", "", "n"}, {"bound", "aten::mul", "", "m"}};
    graph = b.finish({x});
  }

  Tensor second(Tensor x, Tensor mask) {
    b.begin_part("resume");
    const NodeId input = b.node(NodeKind::kPlaceholder, "stack0", "stack0", {}, {x});
    const auto head = b.call("head", "Head");
    const auto weight = b.parameter("weight", {64, 64});
    const NodeId gets = b.node(NodeKind::kGetAttr, "weight", "head.weight", {}, {weight});
    const auto node = b.node(NodeKind::kCallFunction, "linear", "torch.linear", {input, gets});
    const auto flat = b.op("aten::view", {{"self", x}}, {TensorSpec{1, 64}.view_of(x)});
    const auto masked = b.op("aten::mul", {{"self", flat}, {"other", mask}}, {{1, 64}});
    return b.op("aten::linear", {{"input", masked}, {"weight", weight}, {"bias", nullptr}}, {{1, 64}});
  }

  GraphBuilder b{"net"};
  Graph graph;
};

TEST_F(Parts, KeepTheTimesOfTheirOps) {
  test::measure(graph, {.runs = 3, .on_device = true});
  const auto part = part_of(graph, 1);
  const auto& whole = graph.measurement;
  std::vector<Nanoseconds> host, begins;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].node == kNone || graph.nodes[graph.ops[op].node].part != 1) continue;
    for (const auto sample : Measurement::samples(whole.host, op, 3)) host.push_back(sample);
    begins.push_back(whole.host_begin[op]);
  }
  EXPECT_EQ(part.measurement.host, host);
  EXPECT_EQ(part.measurement.host_begin, begins);
  EXPECT_EQ(part.measurement.device.size(), host.size());
  EXPECT_EQ(part.measurement.environment.device, "cuda:0");
  EXPECT_TRUE(part.measurement.timed.empty());  // of the whole model
  EXPECT_EQ(part.measurement.peak_memory_bytes, 0u);
}

TEST_F(Parts, TheFirst) {
  const auto part = part_of(graph, 0);
  EXPECT_EQ(op_names(part), (Names{"conv2d", "relu_"}));
  EXPECT_EQ(part.nodes.size(), 3u);
  EXPECT_EQ(part.ops[0].node, 1u);
  EXPECT_EQ(names_of(part, part.inputs), (Names{"x"}));
  // Both the input of relu_ and its result are values; only the result is read elsewhere.
  ASSERT_EQ(part.outputs.size(), 1u);
  EXPECT_EQ(part.outputs[0], part.outputs_of(part.ops[1])[0]);
  EXPECT_EQ(part.values[part.outputs[0]].kind, ValueKind::kOutput);
  EXPECT_EQ(part.values[part.outputs_of(part.ops[0])[0]].storage, part.values[part.outputs[0]].storage);
  EXPECT_EQ(part.storages.size(), 3u);  // x, the weight, the activation
  ASSERT_EQ(part.owned.size(), 1u);
  EXPECT_EQ(part.text(part.values[part.owned[0].value].name), "conv.weight");
  ASSERT_EQ(part.declared.size(), 1u);
  EXPECT_EQ(part.declared[0].op, 0u);
  ASSERT_EQ(part.breaks.size(), 1u);
  EXPECT_EQ(part.breaks[0].reason, "print");
  EXPECT_EQ(part.breaks[0].after, 0u);
  ASSERT_EQ(part.diagnostics.size(), 1u);
  EXPECT_EQ(part.diagnostics[0].message, "of all");
}

TEST_F(Parts, OneThatRunsTwice) {
  const auto part = part_of(graph, 1);
  EXPECT_EQ(op_names(part), (Names{"view", "mul", "linear", "view", "mul", "linear"}));
  EXPECT_EQ(part.parts[0].name, "resume");
  EXPECT_EQ(part.parts[0].calls, 2u);
  EXPECT_EQ(part.nodes.size(), 3u);
  EXPECT_EQ(part.nodes[2].part, 0u);
  EXPECT_EQ(part.inputs_of(part.nodes[2])[1], 1u);
  for (const auto& op : part.ops) EXPECT_EQ(op.node, 2u);
  // What neg made is given to the first run; what the first run made stays inside.
  EXPECT_EQ(names_of(part, part.inputs), (Names{"stack0"}));
  EXPECT_EQ(part.values[part.inputs[0]].kind, ValueKind::kInput);
  EXPECT_EQ(part.outputs, (std::vector<ValueId>{part.outputs_of(part.ops[5])[0]}));
  EXPECT_EQ(part.owned.size(), 2u);  // head.weight and mask, not conv.weight
  EXPECT_EQ(part.diagnostics.size(), 2u);
}

TEST_F(Parts, PathsStayTheSame) {
  for (const PartId id : {0u, 1u}) {
    const auto part = part_of(graph, id);
    ASSERT_EQ(part.modules.size(), graph.modules.size());
    for (std::size_t m = 0; m < part.modules.size(); ++m)
      EXPECT_EQ(part.path(part.modules[m]), graph.path(graph.modules[m]));
    EXPECT_EQ(part.scopes.size(), graph.scopes.size());
  }
}

TEST(PartOf, ATensorThatIsOnlyPassedOnIsAnInput) {
  GraphBuilder b;
  const auto x = b.op("aten::rand", {}, {{4}});
  const auto y = b.op("aten::neg", {{"self", x}}, {{4}});
  b.begin_part("forward");
  const NodeId input = b.node(NodeKind::kPlaceholder, "x", "x", {}, {x});
  const NodeId unused = b.node(NodeKind::kPlaceholder, "y", "y", {}, {y});
  const NodeId output = b.node(NodeKind::kOutput, "output", "output", {input}, {x});
  const auto part = part_of(b.finish({x}), 0);
  EXPECT_EQ(unused + 1, output);
  EXPECT_EQ(names_of(part, part.inputs), (Names{"x", "y"}));
  EXPECT_TRUE(part.outputs.empty());  // it makes nothing
  EXPECT_TRUE(part.ops.empty());
}

TEST(PartOf, AViewOfAWeightMadeElsewhereStandsForTheWeight) {
  GraphBuilder b;
  const auto x = b.input({4, 4});
  const auto weight = b.parameter("weight", {4, 4});
  b.parameter("other", {4});
  const auto view = b.op("aten::t", {{"self", weight}}, {TensorSpec{4, 4}.view_of(weight)});
  b.graph().values[view.id].kind = ValueKind::kParameter;
  b.begin_part("forward");
  Tensor y;
  {
    const auto node = b.node(NodeKind::kCallFunction, "mm", "torch.mm");
    y = b.op("aten::mm", {{"self", x}, {"mat2", view}}, {{4, 4}});
  }
  const auto part = part_of(b.finish({y}), 0);
  ASSERT_EQ(part.owned.size(), 1u);
  EXPECT_EQ(part.text(part.owned[0].name), "weight");
  EXPECT_EQ(part.inputs.size(), 1u);
}

TEST(PartOf, ChecksThePart) {
  GraphBuilder b;
  const auto x = b.input({1});
  const auto graph = b.finish({x});
  EXPECT_ANY_THROW(part_of(graph, 0));
}

// The op as far as it can be told without ids.
std::string told(const Graph& graph, const Op& op) {
  std::string text(graph.op_name(op));
  text.append(graph.text(graph.targets[op.target].overload)).append(graph.text(op.source));
  text += std::to_string(op.scope) + (op.bounded ? "b" : "");
  const auto add = [&](ValueId id) {
    for (const auto dim : graph.shape(graph.values[id])) text += ' ' + std::to_string(dim);
    text.append(name(graph.values[id].dtype));
  };
  each_read(graph, op, add);
  text += "->";
  for (const auto id : graph.outputs_of(op)) add(id);
  return text;
}

TEST(PartOf, PartsAndTheRestAddUpToTheWhole) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto graph = test::RandomGraph(seed).make_traced(seed % 60);
    const auto costs = estimate(graph, Convention::kOpscope);
    std::size_t ops = 0, declared = 0, nodes = 0;
    for (const auto& op : graph.ops) ops += op.node == kNone ? 1 : 0;
    for (const auto& cost : graph.declared) declared += graph.ops[cost.op].node == kNone ? 1 : 0;
    for (PartId id = 0; id < graph.parts.size(); ++id) {
      const auto part = part_of(graph, id);
      const auto part_costs = estimate(part, Convention::kOpscope);
      std::size_t next = 0;
      for (OpId op = 0; op < graph.ops.size(); ++op) {
        if (graph.ops[op].node == kNone || graph.nodes[graph.ops[op].node].part != id) continue;
        ASSERT_LT(next, part.ops.size());
        ASSERT_EQ(told(part, part.ops[next]), told(graph, graph.ops[op])) << "seed " << seed;
        ASSERT_EQ(part_costs[next].flops, costs[op].flops);
        ASSERT_EQ(part_costs[next].traffic.total(), costs[op].traffic.total());
        ASSERT_EQ(part_costs[next].traffic.weight_bytes, costs[op].traffic.weight_bytes);
        ++next;
      }
      ASSERT_EQ(next, part.ops.size());
      ops += part.ops.size();
      declared += part.declared.size();
      nodes += part.nodes.size();
    }
    ASSERT_EQ(ops, graph.ops.size());
    ASSERT_EQ(declared, graph.declared.size());
    ASSERT_EQ(nodes, graph.nodes.size());
  }
}

TEST(PartOf, APartOfAPartIsThatPart) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto graph = test::RandomGraph(seed).make_traced(seed % 60);
    for (PartId id = 0; id < graph.parts.size(); ++id) {
      const auto part = part_of(graph, id);
      ASSERT_EQ(write_json(part_of(part, 0)), write_json(part)) << "seed " << seed;
    }
  }
}

// Whatever a part gives is made in it, whatever it takes is not; and nothing is there that nothing needs.
TEST(PartOf, HasItsBordersAndNothingElse) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto graph = test::RandomGraph(seed).make_traced(seed % 60);
    for (PartId id = 0; id < graph.parts.size(); ++id) {
      const auto part = part_of(graph, id);
      std::vector<int> made(part.values.size()), used(part.values.size()), storages(part.storages.size());
      for (const auto& op : part.ops) {
        each_read(part, op, [&](ValueId value) { used[value] = 1; });
        for (const auto value : part.outputs_of(op)) made[value] = used[value] = 1;
      }
      for (const auto& node : part.nodes)
        for (const auto value : part.outputs_of(node)) used[value] = 1;
      for (const auto& entry : part.owned) used[entry.value] = 1;
      for (const auto value : part.inputs) EXPECT_EQ(made[value], 0);
      for (const auto value : part.outputs) EXPECT_EQ(made[value], 1);
      for (ValueId value = 0; value < part.values.size(); ++value) {
        EXPECT_EQ(used[value], 1);
        if (part.values[value].storage != kNone) storages[part.values[value].storage] = 1;
      }
      EXPECT_EQ(std::count(storages.begin(), storages.end(), 0), 0);
    }
  }
}

}  // namespace
}  // namespace opscope
