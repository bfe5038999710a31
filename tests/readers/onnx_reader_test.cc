// Models made node by node: what the rules answer, what is said to be unknown, and files that mean harm.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/graph.h"
#include "readers/capture/capture_reader.h"
#include "readers/cost_of.h"
#include "readers/onnx/reader.h"
#include "readers/small_onnx.h"

namespace opscope {
namespace {

using namespace onnx_bytes;  // NOLINT: the tests' own words
using onnx_bytes::Graph;
using Shape = std::vector<std::int64_t>;

opscope::Graph read(const std::string& bytes, const Dims& dims = {}) {
  return read_onnx(bytes, "file", "net", dims);
}

std::string problem(const std::string& bytes, const Dims& dims = {}) {
  try {
    read(bytes, dims);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Shape output_shape(const opscope::Graph& graph, std::size_t i = 0) {
  const auto shape = graph.shape(graph.values[graph.outputs[i]]);
  return {shape.begin(), shape.end()};
}

// One node, x in (and weights), y out, with no shape declared for y: the rule has to find it.
struct Rule {
  std::string type;
  std::vector<Shape> inputs;
  Names attributes;
  Shape expected;
  std::int64_t macs = 0;
  std::string domain = {};
};

std::string one_node(const Rule& rule) {
  Graph graph;
  Names names;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    graph.inputs.push_back(value_info(names.back(), {rule.inputs[i].begin(), rule.inputs[i].end()}));
  }
  graph.nodes = {node(rule.type, names, {"y"}, rule.attributes, rule.domain)};
  graph.outputs = {field(1, "y")};
  return model(graph, 23);
}

const Rule kRules[] = {
    {"Conv",
     {{2, 4, 9, 9}, {8, 2, 3, 3}, {8}},
     {attribute("group", 2), attribute("strides", {2, 2})},
     {2, 8, 4, 4},
     2 * 8 * 4 * 4 * 2 * 9},
    {"Conv", {{1, 4, 10}, {8, 4, 3}}, {text_attribute("auto_pad", "SAME_UPPER")}, {1, 8, 10}, 8 * 10 * 4 * 3},
    {"Conv", {{1, 1, 5, 5, 5}, {1, 1, 3, 3, 3}}, {attribute("dilations", {2, 2, 2})}, {1, 1, 1, 1, 1}, 27},
    {"ConvTranspose",
     {{1, 4, 5, 5}, {4, 3, 2, 2}},
     {attribute("strides", {2, 2})},
     {1, 3, 10, 10},
     4 * 5 * 5 * 3 * 4},
    {"MaxPool",
     {{1, 4, 7, 7}},
     {attribute("kernel_shape", {2, 2}), attribute("strides", {2, 2}), attribute("ceil_mode", 1)},
     {1, 4, 4, 4}},
    {"AveragePool", {{1, 4, 7}}, {attribute("kernel_shape", Shape{3})}, {1, 4, 5}},
    {"GlobalAveragePool", {{1, 4, 7, 7}}, {}, {1, 4, 1, 1}},
    {"MatMul", {{2, 3, 4, 5}, {5, 6}}, {}, {2, 3, 4, 6}, 2 * 3 * 4 * 5 * 6},
    {"MatMul", {{5}, {5}}, {}, {}, 5},
    {"Gemm", {{4, 5}, {6, 5}, {6}}, {attribute("transB", 1)}, {4, 6}, 4 * 5 * 6},
    {"Gemm", {{5, 4}, {5, 6}}, {attribute("transA", 1)}, {4, 6}, 4 * 5 * 6},
    {"Einsum",
     {{2, 3, 4}, {2, 5, 4}},
     {text_attribute("equation", "bij,bkj->bik")},
     {2, 3, 5},
     2 * 3 * 5 * 4},
    {"LSTM",
     {{7, 2, 6}, {1, 20, 6}, {1, 20, 5}},
     {attribute("hidden_size", 5)},
     {7, 1, 2, 5},
     14 * (120 + 100)},
    {"Attention",
     {{2, 10, 16}, {2, 12, 8}, {2, 12, 8}},
     {attribute("q_num_heads", 4), attribute("kv_num_heads", 2)},
     {2, 10, 16},
     2 * 4 * 10 * 12 * (4 + 4)},
    {"MultiHeadAttention",
     {{2, 10, 16}, {2, 12, 16}, {2, 12, 16}},
     {attribute("num_heads", 4)},
     {2, 10, 16},
     2 * 4 * 10 * 12 * (4 + 4),
     "com.microsoft"},
    {"FusedMatMul",
     {{2, 4, 5}, {2, 6, 5}},
     {attribute("transB", 1)},
     {2, 4, 6},
     2 * 4 * 5 * 6,
     "com.microsoft"},
    {"SkipLayerNormalization", {{2, 10, 16}, {2, 10, 16}, {16}, {16}}, {}, {2, 10, 16}, 0, "com.microsoft"},
    {"LayerNormalization", {{2, 10, 16}, {16}, {16}}, {}, {2, 10, 16}},
    {"RMSNormalization", {{2, 10, 16}, {16}}, {}, {2, 10, 16}},
    {"GroupNormalization", {{2, 8, 4}, {8}, {8}}, {attribute("num_groups", 2)}, {2, 8, 4}},
    {"BatchNormalization", {{2, 8, 4}, {8}, {8}, {8}, {8}}, {}, {2, 8, 4}},
    {"Add", {{2, 1, 4}, {3, 1}}, {}, {2, 3, 4}},
    {"Where", {{1}, {2, 1}, {3}}, {}, {2, 3}},
    {"Max", {{2, 1}, {3}, {1}}, {}, {2, 3}},
    {"Transpose", {{2, 3, 4}}, {}, {4, 3, 2}},
    {"Transpose", {{2, 3, 4}}, {attribute("perm", {0, 2, 1})}, {2, 4, 3}},
    {"Concat", {{2, 3}, {2, 5}}, {attribute("axis", -1)}, {2, 8}},
    {"Flatten", {{2, 3, 4}}, {attribute("axis", 2)}, {6, 4}},
    {"Gather", {{9, 4}, {2, 3}}, {}, {2, 3, 4}},
    {"GatherElements", {{9, 4}, {2, 4}}, {}, {2, 4}},
    {"GatherND", {{9, 4, 5}, {3, 2}}, {}, {3, 5}},
    {"ReduceMean", {{2, 3, 4}}, {attribute("axes", Shape{-1}), attribute("keepdims", 0)}, {2, 3}},
    {"ReduceSum", {{2, 3, 4}}, {}, {1, 1, 1}},
    {"ArgMax", {{2, 3, 4}}, {attribute("axis", 1)}, {2, 1, 4}},
    {"Softmax", {{2, 3}}, {}, {2, 3}},
    {"DepthToSpace", {{1, 8, 2, 3}}, {attribute("blocksize", 2)}, {1, 2, 4, 6}},
    {"QuantizeLinear", {{2, 3}, {}}, {}, {2, 3}},
    {"DequantizeLinear", {{2, 3}, {}}, {}, {2, 3}},
    {"MatMulInteger", {{4, 5}, {5, 6}}, {}, {4, 6}, 4 * 5 * 6},
    {"QLinearConv", {{1, 4, 8, 8}, {}, {}, {8, 4, 3, 3}, {}, {}, {}, {}}, {}, {1, 8, 6, 6}, 8 * 36 * 4 * 9},
    {"Identity", {{}}, {}, {}},
    {"Relu", {{0, 3}}, {}, {0, 3}},
};

TEST(OnnxRules, FindShapesAndWork) {
  for (const auto& rule : kRules) {
    const auto graph = read(one_node(rule));
    EXPECT_EQ(output_shape(graph), rule.expected) << rule.type;
    EXPECT_EQ(macs_of(graph), rule.macs) << rule.type;
    EXPECT_EQ(unknown_ops(graph), 0) << rule.type;
  }
}

TEST(OnnxRules, WhatIsNotUnderstoodIsUnknown) {
  const Rule cases[] = {{"Conv", {{2, 4, 9, 9}, {8, 2, 3}}, {}, {}},
                        {"NoSuchOp", {{2, 3}}, {}, {}},
                        {"Relu", {{2, 3}}, {}, {}, 0, "my.domain"},
                        {"Softmax", {}, {}, {}},
                        {"Hardmax", {}, {}, {}},  // its row is not asked
                        {"relu", {{2, 3}}, {}, {}, 0, "aten"},
                        {"Loop", {{1}, {1}}, {}, {}}};
  for (const auto& rule : cases) {
    const auto graph = read(one_node(rule));
    EXPECT_EQ(unknown_ops(graph), 1) << rule.type;
    ASSERT_EQ(graph.diagnostics.size(), 1u) << rule.type;
    EXPECT_EQ(graph.diagnostics[0].message, "the shape of 'y' is not known") << rule.type;
  }
}

TEST(OnnxRules, ProductsThatDoNotFitAreSaid) {
  for (const auto* type : {"MatMul", "Gemm"}) {
    const auto graph = read(one_node({type, {{2, 3}, {4, 5}}, {}, {}}));
    EXPECT_EQ(unknown_ops(graph), 1) << type;
    ASSERT_EQ(graph.diagnostics.size(), 2u) << type;
    EXPECT_EQ(graph.diagnostics[0].op, std::string("onnx::") + type);
    EXPECT_EQ(graph.diagnostics[0].message, "the shapes 2x3 and 4x5 of 'y' do not fit") << type;
  }
}

// 10x20 resized by sizes: the proportions are kept where the node asks for that, over the axes it names.
TEST(OnnxRules, ResizeKeepsProportions) {
  struct Case {
    Shape sizes;
    Names attributes;
    Shape expected;
  };
  const auto policy = [](const char* name) { return text_attribute("keep_aspect_ratio_policy", name); };
  const auto axes = attribute("axes", {-2, 3});
  const Case cases[] = {{{1, 3, 40, 40}, {}, {1, 3, 40, 40}},
                        {{40, 40}, {axes}, {1, 3, 40, 40}},
                        {{40, 40}, {axes, policy("stretch")}, {1, 3, 40, 40}},
                        {{40, 40}, {axes, policy("not_larger")}, {1, 3, 20, 40}},
                        {{40, 40}, {axes, policy("not_smaller")}, {1, 3, 40, 80}},
                        {{7, 7}, {attribute("axes", {3, 2}), policy("not_larger")}, {1, 3, 4, 7}},  // 3.5 up
                        {{1, 3, 40, 40}, {policy("not_larger")}, {1, 3, 10, 20}}};  // channels do not grow
  for (const auto& one : cases) {
    const Graph graph{{node("Resize", {"x", "", "", "sizes"}, {"y"}, one.attributes)},
                      {integers("sizes", one.sizes)},
                      {value_info("x", {1, 3, 10, 20})},
                      {field(1, "y")}};
    const auto made = read(model(graph));
    EXPECT_EQ(output_shape(made), one.expected);
    EXPECT_EQ(unknown_ops(made), 0);
  }
  for (const auto& bad : {attribute("axes", {2, 4}), attribute("axes", {2, -2}), policy("largest")}) {
    const Graph graph{{node("Resize", {"x", "", "", "sizes"}, {"y"}, {bad})},
                      {integers("sizes", bad == policy("largest") ? Shape{1, 3, 40, 40} : Shape{40, 40})},
                      {value_info("x", {1, 3, 10, 20})},
                      {field(1, "y")}};
    EXPECT_EQ(unknown_ops(read(model(graph))), 1);
  }
}

// What was an attribute, or meant something else, before.
TEST(OnnxRules, OldOpsetsAreReadAsTheyWere) {
  struct Case {
    std::string type;
    std::vector<Shape> inputs;
    Names attributes;
    std::int64_t opset;
    Shape expected;
  };
  const Case cases[] = {
      {"Add", {{2, 3, 4, 5}, {3, 4}}, {attribute("broadcast", 1), attribute("axis", 1)}, 6, {2, 3, 4, 5}},
      {"Upsample", {{1, 2, 3, 4}}, {reals_attribute("scales", {1, 1, 2, 3})}, 7, {1, 2, 6, 12}},
      {"Slice", {{9, 5}}, {attribute("starts", Shape{1}), attribute("ends", Shape{4})}, 9, {3, 5}},
      {"Unsqueeze", {{9, 5}}, {attribute("axes", Shape{0, 3})}, 11, {1, 9, 5, 1}},
      {"ReduceSum", {{9, 5}}, {attribute("axes", Shape{1}), attribute("keepdims", 0)}, 11, {9}},
      {"TopK", {{9, 5}}, {attribute("k", 2)}, 9, {9, 2}},
      {"Pad", {{9, 5}}, {attribute("pads", Shape{1, 0, 2, 3})}, 2, {12, 8}},
      {"Split", {{9, 5}}, {attribute("split", Shape{9})}, 2, {9, 5}},
  };
  for (const auto& one : cases) {
    Graph graph;
    Names names;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      names.push_back("x" + std::to_string(i));
      graph.inputs.push_back(value_info(names.back(), {one.inputs[i].begin(), one.inputs[i].end()}));
    }
    graph.nodes = {node(one.type, names, {"y"}, one.attributes)};
    graph.outputs = {field(1, "y")};
    const auto made = read(model(graph, one.opset));
    EXPECT_EQ(output_shape(made), one.expected) << one.type;
    EXPECT_EQ(unknown_ops(made), 0) << one.type;
  }
}

// y = x of unknown shape: all that follows is unknown too, and none of it zero.
TEST(OnnxRules, UnknownShapesStayUnknown) {
  const Graph graph{{node("NoSuchOp", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})},
                    {},
                    {value_info("x", {2, 3})},
                    {field(1, "y")}};
  EXPECT_EQ(unknown_ops(read(model(graph))), 2);
}

// An inference from elsewhere is asked for what has neither a rule nor a declared shape, and gets the node
// alone.
TEST(OnnxRules, AsksAnInferenceForRareShapes) {
  const Graph graph{{node("NoSuchOp", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})},
                    {},
                    {value_info("x", {2, 3})},
                    {field(1, "y")}};
  const OnnxInference infer = [](const std::string& bytes) {
    const bool is_the_node =
        bytes.find("NoSuchOp") != std::string::npos && bytes.find("Relu") == std::string::npos;
    return is_the_node ? model({{}, {}, {}, {value_info("a", {5, 7})}}) : std::string();
  };
  const auto made = read_onnx(model(graph), "file", "net", {}, infer);
  EXPECT_EQ(output_shape(made), (Shape{5, 7}));
  EXPECT_EQ(unknown_ops(made), 1);  // its cost stays unknown
  const OnnxInference silent = [](const std::string&) { return std::string(); };
  EXPECT_EQ(unknown_ops(read_onnx(model(graph), "file", "net", {}, silent)), 2);
}

// x [batch, 6] -> Shape -> Gather -> Concat(., 2, 3) -> Reshape
TEST(OnnxFold, ShapeArithmeticBecomesShapes) {
  Graph graph;
  graph.inputs = {value_info("x", {"batch", 6})};
  graph.initializers = {integers("zero", {0}), integers("rest", {2, 3}), integers("two", {2})};
  graph.nodes = {node("Shape", {"x"}, {"s"}),
                 node("Gather", {"s", "zero"}, {"b"}),
                 node("Concat", {"b", "rest"}, {"t"}, {attribute("axis", 0)}),
                 node("Reshape", {"x", "t"}, {"y"}),
                 node("Mul", {"b", "two"}, {"c"}),
                 node("Range", {"zero", "c", "two"}, {"r"})};
  graph.outputs = {field(1, "y")};
  const auto read_graph = read(model(graph), {{"batch", 4}});
  EXPECT_EQ(output_shape(read_graph), (Shape{4, 2, 3}));
  EXPECT_EQ(read_graph.ops.size(), 1u);
  EXPECT_EQ(parameters_of(read_graph), 0);  // numbers that only shape things are none
}

TEST(OnnxGraphs, FunctionsAreGoneInto) {
  const auto twice =
      function("local", "Twice", {"a"}, {"c"}, {node("Relu", {"a"}, {"b"}), node("Relu", {"b"}, {"c"})});
  const auto four =
      function("local", "Four", {"a"}, {"c"},
               {node("Twice", {"a"}, {"b"}, {}, "local"), node("Twice", {"b"}, {"c"}, {}, "local")});
  const Graph graph{{node("Four", {"x"}, {"y"}, {}, "local")}, {}, {value_info("x", {2})}, {field(1, "y")}};
  EXPECT_EQ(read(model(graph, 20, {twice, four})).ops.size(), 4u);
}

// An inner graph reads an input that the call of the function around it leaves out.
TEST(OnnxGraphs, BranchesSeeWhatAFunctionWasNotGiven) {
  const Graph clip{{node("Clip", {"a", "least"}, {"c"})}, {}, {}, {field(1, "c")}};
  const Graph relu{{node("Relu", {"a"}, {"c"})}, {}, {}, {field(1, "c")}};
  const auto f = function(
      "local", "F", {"a", "least"}, {"c"},
      {node("Constant", {}, {"flag"}, {attribute("value_int", 1)}),
       node("If", {"flag"}, {"c"},
            {graph_attribute("then_branch", clip.bytes()), graph_attribute("else_branch", relu.bytes())})});
  const Graph graph{{node("F", {"x"}, {"y"}, {}, "local")}, {}, {value_info("x", {4, 4})}, {field(1, "y")}};
  const auto made = read(model(graph, 20, {f}));
  EXPECT_EQ(output_shape(made), (Shape{4, 4}));
  EXPECT_EQ(unknown_ops(made), 0);
}

// However often a function is called, its constants and its branches' weights are the file's, once.
TEST(OnnxGraphs, WeightsInFunctionsAreKeptOnce) {
  const Graph branch{{node("Mul", {"b", "w"}, {"c"})}, {tensor("w", {3})}, {}, {field(1, "c")}};
  const auto f =
      function("local", "F", {"a"}, {"c"},
               {node("Constant", {}, {"flag"}, {attribute("value_int", 1)}),
                node("Constant", {}, {"v"}, {tensor_attribute("value", tensor("", {2, 3}))}),
                node("Mul", {"a", "v"}, {"b"}),
                node("If", {"flag"}, {"c"},
                     {graph_attribute("then_branch", branch.bytes()), graph_attribute("else_branch", "")})});
  const Graph graph{{node("F", {"x"}, {"a"}, {}, "local"), node("F", {"a"}, {"y"}, {}, "local")},
                    {},
                    {value_info("x", {2, 3})},
                    {field(1, "y")}};
  const auto made = read(model(graph, 20, {f}));
  EXPECT_EQ(made.ops.size(), 4u);
  EXPECT_EQ(parameters_of(made), 2 * 3 + 3);
  EXPECT_EQ(std::ranges::count(made.values, ValueKind::kParameter, &Value::kind), 2);
}

// --- Files that mean harm

// F0 called 2^levels times, by functions that each call the one before twice.
std::string doubled(const Names& body, int levels) {
  Names functions{function("local", "F0", {"a"}, {"b"}, body)};
  for (int i = 1; i <= levels; ++i) {
    const auto inner = "F" + std::to_string(i - 1);
    functions.push_back(
        function("local", "F" + std::to_string(i), {"a"}, {"b"},
                 {node(inner, {"a"}, {"c"}, {}, "local"), node(inner, {"a"}, {"b"}, {}, "local")}));
  }
  const Graph graph{{node("F" + std::to_string(levels), {"x"}, {"y"}, {}, "local")},
                    {},
                    {value_info("x", {2})},
                    {field(1, "y")}};
  return model(graph, 20, functions);
}

TEST(OnnxHarm, WhatFunctionsRepeatIsBounded) {
  const auto integer = [](const char* name, std::int64_t value) {
    return node("Constant", {}, {name}, {attribute("value_int", value)});
  };
  const auto many = tensor_attribute("value", integers("", Shape(4096, 1)));
  EXPECT_EQ(problem(doubled({node("Constant", {}, {"b"}, {many})}, 14)), "");  // the file's, once
  const Names sums{node("Constant", {}, {"v"}, {many}), node("Add", {"v", "v"}, {"b"})};
  EXPECT_EQ(problem(doubled(sums, 10)), "");
  EXPECT_EQ(problem(doubled(sums, 14)), "its constants and shapes unfold to more than 32 million numbers");

  Graph branch{{}, {}, {}, {field(1, "w0")}};
  for (int i = 0; i < 1000; ++i) branch.initializers.push_back(tensor("w" + std::to_string(i), {}));
  const Names choice{integer("flag", 1), node("If", {"flag"}, {"b"},
                                              {graph_attribute("then_branch", branch.bytes()),
                                               graph_attribute("else_branch", "")})};
  const auto* too_many = "its functions unfold to more than two million nodes";
  EXPECT_EQ(problem(doubled(choice, 10)), "");
  EXPECT_EQ(problem(doubled(choice, 12)), too_many);

  const Names wide{node("Sum", Names(8000, "a"), {"b"})};
  EXPECT_EQ(problem(doubled(wide, 12)), too_many);
}

TEST(OnnxHarm, CyclesAndMissingNamesAreErrors) {
  const Graph cycle{{node("Relu", {"b"}, {"a"}), node("Relu", {"a"}, {"b"})}, {}, {}, {field(1, "a")}};
  EXPECT_EQ(problem(model(cycle)), "Relu reads 'b' before anything makes it");
  const Graph missing{{}, {}, {value_info("x", {2})}, {field(1, "y")}};
  EXPECT_EQ(problem(model(missing)), "the graph's output reads 'y' before anything makes it");
}

TEST(OnnxHarm, FunctionsWithoutEnd) {
  const auto self = function("local", "Self", {"a"}, {"b"}, {node("Self", {"a"}, {"b"}, {}, "local")});
  const Graph graph{{node("Self", {"x"}, {"y"}, {}, "local")}, {}, {value_info("x", {2})}, {field(1, "y")}};
  EXPECT_EQ(problem(model(graph, 20, {self})), "its functions call each other without end");
  // 2^30 nodes from thirty functions.
  Names laughs{function("local", "F0", {"a"}, {"a"}, {})};
  for (int i = 1; i <= 30; ++i) {
    const auto inner = "F" + std::to_string(i - 1);
    laughs.push_back(
        function("local", "F" + std::to_string(i), {"a"}, {"a"},
                 {node(inner, {"a"}, {"a"}, {}, "local"), node(inner, {"a"}, {"a"}, {}, "local")}));
  }
  const Graph bomb{{node("F30", {"x"}, {"y"}, {}, "local")}, {}, {value_info("x", {2})}, {field(1, "y")}};
  EXPECT_EQ(problem(model(bomb, 20, laughs)), "its functions unfold to more than two million nodes");
}

TEST(OnnxHarm, BranchesNestedDeeply) {
  std::string inner = Graph{{node("Relu", {"x"}, {"a"})}, {}, {}, {value_info("a", {2})}}.bytes();
  for (int i = 0; i < 500; ++i)
    inner = Graph{{node("If", {"flag"}, {"a"},
                        {graph_attribute("then_branch", inner), graph_attribute("else_branch", "")})},
                  {},
                  {},
                  {value_info("a", {2})}}
                .bytes();
  const Graph graph{{node("If", {"flag"}, {"y"},
                          {graph_attribute("then_branch", inner), graph_attribute("else_branch", "")})},
                    {},
                    {value_info("x", {2}), value_info("flag", {}, 9)},
                    {field(1, "y")}};
  EXPECT_EQ(unknown_ops(read(model(graph))), 1);  // where it gave up
}

TEST(OnnxHarm, HugeShapesSaturate) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const Graph graph{
      {node("MatMul", {"x", "w"}, {"a"}), node("Concat", {"a", "a"}, {"y"}, {attribute("axis", 0)})},
      {tensor("w", {kHuge, kHuge})},
      {value_info("x", {kHuge, kHuge})},
      {field(1, "y")}};
  const auto made = read(model(graph));
  EXPECT_EQ(output_shape(made), (Shape{std::numeric_limits<std::int64_t>::max(), kHuge}));
  EXPECT_EQ(problem(model({{}, {tensor("w", {-5})}, {}, {field(1, "w")}})),
            "a tensor has a negative dimension");
}

// Names that are not text, names twice, no names: the capture that is written can be read.
TEST(OnnxHarm, BadNamesAreMended) {
  const std::string bad = "\xff\xfe\x80";
  const Graph graph{{node("Relu", {bad}, {"\xc3"}), node(bad, {"\xc3"}, {"y"}), node("Relu", {"y"}, {"y"})},
                    {tensor("w.\xff", {2}), tensor("w.\xff", {3})},
                    {value_info(bad, {2}), value_info(bad, {2})},
                    {field(1, "y"), field(1, "y")}};
  const auto made = read(model(graph));
  EXPECT_NO_THROW(read_capture(write_json(made), "again"));
}

TEST(OnnxHarm, NoModelAtAll) {
  EXPECT_NE(problem("\x08"), "");
  EXPECT_NE(problem(std::string(100, '\xff')), "");
  EXPECT_EQ(problem(""), "");  // an empty message is an empty model
}

}  // namespace
}  // namespace opscope
