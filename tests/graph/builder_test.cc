// What the builder keeps right by itself: pools, storages, paths, calls, ownership.
#include "graph/builder.h"

#include <gtest/gtest.h>

#include "graph/graph.h"

namespace opscope {
namespace {

TEST(Graph, InternsOnce) {
  Graph graph;
  const auto a = graph.intern("aten::add");
  EXPECT_EQ(graph.intern("aten::add"), a);
  EXPECT_EQ(graph.intern(""), 0u);
  EXPECT_EQ(graph.text(a), "aten::add");
  EXPECT_EQ(graph.string_count(), 2u);
  EXPECT_EQ(graph.add_target("aten::add", "Tensor"), 0u);
  EXPECT_EQ(graph.add_target("aten::add", ""), 1u);
  EXPECT_EQ(graph.add_target("aten::add", "Tensor"), 0u);
}

TEST(Graph, Numel) {
  const std::int64_t plain[] = {2, 3, 4};
  const std::int64_t huge[] = {1LL << 40, 1LL << 40};
  const std::int64_t empty[] = {1LL << 40, 1LL << 40, 0};
  EXPECT_EQ(numel({}), Count{1});
  EXPECT_EQ(numel(plain), Count{2 * 3 * 4});
  EXPECT_TRUE(numel(huge).saturated());
  EXPECT_EQ(numel(empty), Count{0});
}

TEST(Graph, EveryEnumHasAName) {
  EXPECT_EQ(name(ValueKind::kInput), "input");
  EXPECT_EQ(name(ValueKind::kOutput), "output");
  EXPECT_EQ(name(ArgumentKind::kNone), "none");
  EXPECT_EQ(name(ArgumentKind::kBoolList), "bools");
  EXPECT_EQ(short_op_name("aten::conv2d"), "conv2d");
  EXPECT_EQ(short_op_name("bare"), "bare");
  for (const auto& row : kDTypes) EXPECT_EQ(dtype_from_name(row.name), row.dtype);
  EXPECT_FALSE(dtype_from_name("float33"));
}

TEST(GraphBuilder, ModulesCallsAndOwnership) {
  GraphBuilder b("net", "Net");
  auto x = b.input({1, 4});
  for (int i = 0; i < 2; ++i) {
    const auto block = b.call("layer.0", "Block");
    const auto fc = b.call("fc", "Linear");
    const auto weight = b.parameter("weight", {4, 4});
    b.tie("alias", weight);
    x = b.op("aten::linear", {{"input", x}, {"weight", weight}}, {{1, 4}});
  }
  const auto graph = b.finish({x});
  ASSERT_EQ(graph.modules.size(), 4u);  // root, layer, layer.0, layer.0.fc
  EXPECT_EQ(graph.path(graph.modules[3]), "layer.0.fc");
  EXPECT_EQ(graph.modules[3].parent, 2u);
  ASSERT_EQ(graph.scopes.size(), 5u);  // root, and two calls of two modules
  EXPECT_EQ(graph.scopes[3].call, 1u);
  EXPECT_EQ(graph.scopes[4].parent, 3u);
  EXPECT_EQ(graph.ops[1].scope, 4u);
  EXPECT_EQ(graph.values[1].kind, ValueKind::kParameter);
  EXPECT_EQ(graph.text(graph.values[1].name), "layer.0.fc.weight");
  EXPECT_EQ(graph.owned.size(), 2u);  // one value, two names
  EXPECT_EQ(graph.values[graph.outputs[0]].kind, ValueKind::kOutput);
}

TEST(GraphBuilder, StoragesAndStrides) {
  GraphBuilder b;
  const auto x = b.input({2, 3, 4});
  const auto y = b.op("aten::view", {{"self", x}, {"size", ints{6, 4}}}, {TensorSpec{6, 4}.view_of(x)});
  const auto z =
      b.op("aten::to.dtype", {{"self", y}, {"dtype", DType::kFloat16}}, {{{6, 4}, DType::kFloat16}});
  const auto graph = b.finish({z});
  EXPECT_EQ(graph.values[y.id].storage, graph.values[x.id].storage);
  EXPECT_NE(graph.values[z.id].storage, graph.values[x.id].storage);
  EXPECT_EQ(graph.storages[graph.values[z.id].storage].bytes, 6u * 4 * 2);
  const auto strides = graph.strides(graph.values[x.id]);
  EXPECT_EQ(ints(strides.begin(), strides.end()), (ints{12, 4, 1}));
  EXPECT_EQ(graph.op_name(graph.ops[1]), "aten::to");
  EXPECT_EQ(graph.text(graph.targets[graph.ops[1].target].overload), "dtype");
}

TEST(GraphBuilder, EveryKindOfArgument) {
  GraphBuilder b;
  const auto x = b.input({1});
  b.op("t::t",
       {{"a", nullptr},
        {"b", x},
        {"c", tensors{x, {}}},
        {"d", 3},
        {"e", 0.5f},
        {"f", false},
        {"g", "text"},
        {"h", DType::kInt8},
        {"i", ints{1, 2}},
        {"j", floats{0.5}},
        {"k", bools{true, false}},
        {"l", std::nullopt}},
       {});
  const auto graph = b.finish({x});
  const ArgumentKind kinds[] = {ArgumentKind::kNone,      ArgumentKind::kTensor,   ArgumentKind::kTensorList,
                                ArgumentKind::kInt,       ArgumentKind::kFloat,    ArgumentKind::kBool,
                                ArgumentKind::kString,    ArgumentKind::kDType,    ArgumentKind::kIntList,
                                ArgumentKind::kFloatList, ArgumentKind::kBoolList, ArgumentKind::kNone};
  const auto arguments = graph.arguments_of(graph.ops[0]);
  ASSERT_EQ(arguments.size(), std::size(kinds));
  for (std::size_t i = 0; i < arguments.size(); ++i) EXPECT_EQ(arguments[i].kind, kinds[i]) << i;
  EXPECT_EQ(graph.values_in(arguments[2])[1], kNone);
}

TEST(GraphBuilder, NodesAroundOps) {
  GraphBuilder b;
  auto x = b.input({4});
  auto run = [&] {
    b.begin_part("forward");
    const NodeId input = b.node(NodeKind::kPlaceholder, "x", "x", {}, {x});
    const auto block = b.call("block", "Block");
    const auto node = b.node(NodeKind::kCallModule, "block", "block", {input});
    b.op("aten::relu", {{"self", x}}, {{4}});
    x = b.op("aten::neg", {{"self", x}}, {{4}});
  };
  run();
  const auto first = x;
  x = b.op("aten::abs", {{"self", x}}, {{4}});  // between the two runs
  run();
  EXPECT_EQ(b.begin_part("resume"), 1u);
  const NodeId other = b.node(NodeKind::kGetAttr, "x", "weight");
  const auto graph = b.finish({x});
  ASSERT_EQ(graph.parts.size(), 2u);
  EXPECT_EQ(graph.parts[0].calls, 2u);
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[other].part, 1u);
  EXPECT_EQ(graph.nodes[1].module, 1u);
  ASSERT_EQ(graph.outputs_of(graph.nodes[1]).size(), 1u);
  EXPECT_EQ(graph.outputs_of(graph.nodes[1])[0], first.id);
  const NodeId nodes[] = {1, 1, kNone, 1, 1};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) EXPECT_EQ(graph.ops[i].node, nodes[i]) << i;
}

TEST(Writer, OneItemPerLine) {
  GraphBuilder b("net");
  auto x = b.input({1, 8});
  {
    const auto fc = b.call("fc", "Linear");
    x = b.op("aten::linear", {{"input", x}, {"weight", b.parameter("weight", {4, 8})}, {"bias", nullptr}},
             {{1, 4}});
  }
  b.source("net.py:3");
  EXPECT_EQ(write_json(b.finish({x})), R"({
  "schema_version": 1,
  "capture": {
    "model": "net",
    "source": "",
    "tracer": "static",
    "torch": "",
    "seconds": 0.0,
    "slow_path": [],
    "dependencies": []
  },
  "modules": [
    {"id":0,"name":"","path":"","type":"Model"},
    {"id":1,"parent":0,"name":"fc","path":"fc","type":"Linear"}
  ],
  "scopes": [
    {"id":0,"module":0},
    {"id":1,"parent":0,"module":1}
  ],
  "storages": [32,128,16],
  "values": [
    {"id":0,"kind":"input","dtype":"float32","shape":[1,8],"strides":[8,1],"storage":0,"name":"input","device":"cpu"},
    {"id":1,"kind":"parameter","dtype":"float32","shape":[4,8],"strides":[8,1],"storage":1,"name":"fc.weight","device":"cpu","trainable":true},
    {"id":2,"kind":"output","dtype":"float32","shape":[1,4],"strides":[4,1],"storage":2,"device":"cpu"}
  ],
  "owned": [
    {"module":1,"value":1,"name":"weight"}
  ],
  "inputs": [0],
  "outputs": [2],
  "ops": [
    {"id":0,"op":"aten::linear","scope":1,"arguments":{"input":{"tensor":0},"weight":{"tensor":1},"bias":null},"outputs":[2],"source":"net.py:3"}
  ],
  "declared": [],
  "diagnostics": []
}
)");
}

TEST(Writer, TracersGraph) {
  GraphBuilder b("net");
  auto x = b.input({2});
  b.begin_part("forward");
  const NodeId input = b.node(NodeKind::kPlaceholder, "x", "x", {}, {x});
  {
    const auto act = b.call("act", "ReLU");
    const auto node = b.node(NodeKind::kCallModule, "act", "act", {input});
    x = b.op("aten::relu", {{"self", x}}, {{2}});
  }
  b.begin_part("resume");
  const NodeId end = b.node(NodeKind::kOutput, "output", "output");
  b.graph().breaks = {{.reason = "print", .detail = {}, .source = "net.py:4", .after = 0}};
  b.graph().capture.rungs = {{"fx", "failed", "why", {}, {}, 0.5}};
  const auto written = write_json(b.finish({x}));
  EXPECT_EQ(end, 2u);
  EXPECT_NE(written.find(R"(
    "dependencies": [],
    "rungs": [
      {"tracer":"fx","outcome":"failed","reason":"why","seconds":0.5}
    ]
  },
)"),
            std::string::npos)
      << written;
  EXPECT_NE(written.find(R"(
  "outputs": [1],
  "parts": [
    {"name":"forward","calls":1},
    {"name":"resume","calls":1}
  ],
  "breaks": [
    {"reason":"print","source":"net.py:4","after":0}
  ],
  "nodes": [
    {"id":0,"kind":"placeholder","name":"x","target":"x","outputs":[0]},
    {"id":1,"kind":"call_module","name":"act","target":"act","module":1,"inputs":[0],"outputs":[1]},
    {"id":2,"kind":"output","name":"output","target":"output","part":1}
  ],
  "ops": [
    {"id":0,"op":"aten::relu","scope":1,"arguments":{"self":{"tensor":0}},"outputs":[1],"node":1}
  ],
)"),
            std::string::npos)
      << written;
}

}  // namespace
}  // namespace opscope
