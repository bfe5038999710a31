// Graphs in graphs: what branches, loops and sequences cost, and files that mean harm by them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "cost/cost.h"
#include "readers/capture/capture_reader.h"
#include "readers/onnx/reader.h"
#include "readers/small_onnx.h"

namespace opscope {
namespace {

using namespace onnx_bytes;  // NOLINT: the tests' own words
using onnx_bytes::Graph;
using Shape = std::vector<std::int64_t>;

opscope::Graph read(const Graph& graph, const Dims& dims = {}, std::int64_t opset = 20) {
  return read_onnx(model(graph, opset), "file", "net", dims);
}

Shape output_shape(const opscope::Graph& graph, std::size_t i = 0) {
  const auto shape = graph.shape(graph.values[graph.outputs[i]]);
  return {shape.begin(), shape.end()};
}

struct Sum {
  Count macs, flops, bytes;
  Confidence confidence = Confidence::kExact;
};
Sum total(const opscope::Graph& graph) {
  Sum sum;
  for (const auto& cost : estimate(graph, Convention::kOpscope)) {
    sum.macs += cost.work.macs, sum.flops += cost.flops, sum.bytes += cost.traffic.total();
    sum.confidence = std::max(sum.confidence, cost.confidence);
  }
  return sum;
}

bool notes(const opscope::Graph& graph, std::string_view words) {
  return std::ranges::any_of(
      graph.diagnostics, [&](const Diagnostic& one) { return one.message.find(words) != std::string::npos; });
}

// --- Branches

Graph branches(const Graph& then, const Graph& other) {
  return {
      {node("If", {"flag"}, {"y"},
            {graph_attribute("then_branch", then.bytes()), graph_attribute("else_branch", other.bytes())})},
      {},
      {value_info("x", {2}), value_info("flag", {}, 9)},
      {field(1, "y")}};
}

TEST(OnnxBranches, BothAreAnUpperBoundUnlessTheConditionIsKnown) {
  const Graph small{{node("Relu", {"x"}, {"a"})}, {}, {}, {value_info("a", {2})}};
  const Graph large{{node("Relu", {"x"}, {"b"}), node("Exp", {"b"}, {"a"})}, {}, {}, {value_info("a", {2})}};
  auto graph = branches(small, large);
  const auto both = read(graph);
  EXPECT_EQ(both.ops.size(), 3u);
  EXPECT_EQ(total(both).confidence, Confidence::kUpperBound);
  EXPECT_TRUE(notes(both, "both are counted, as an upper bound"));
  graph.inputs.pop_back();
  graph.initializers = {integers("flag", {1})};
  const auto known = read(graph);
  EXPECT_EQ(known.ops.size(), 1u);
  EXPECT_EQ(total(known).confidence, Confidence::kExact);
  EXPECT_TRUE(known.diagnostics.empty());
}

// --- Loops

// h = h @ w, `trips` times; w is outside. Collects h.
Graph products(const Names& condition = {}) {
  Graph body{{node("MatMul", {"h", "w"}, {"h2"}), node("Identity", {"h2"}, {"seen"})},
             {},
             {value_info("i", {}, 7), value_info("go", {}, 9), value_info("h", {2, 4})},
             {field(1, "go2"), field(1, "h2"), field(1, "seen")}};
  body.nodes.push_back(condition.empty() ? node("Identity", {"go"}, {"go2"}) : condition[0]);
  return {{node("Loop", {"trips", "", "x"}, {"y", "all"}, {graph_attribute("body", body.bytes())})},
          {},
          {value_info("x", {2, 4})},
          {field(1, "y"), field(1, "all")}};
}

Graph products_of(std::int64_t trips, const Names& condition = {}) {
  auto graph = products(condition);
  graph.initializers = {integers("trips", {trips}), tensor("w", {4, 4})};
  return graph;
}

TEST(OnnxLoops, AShortLoopIsReadRunByRun) {
  const auto made = read(products_of(5));
  const auto sum = total(made);
  EXPECT_EQ(sum.macs, Count{5 * 2 * 4 * 4});
  EXPECT_EQ(sum.confidence, Confidence::kExact);
  EXPECT_EQ(output_shape(made, 0), (Shape{2, 4}));
  EXPECT_EQ(output_shape(made, 1), (Shape{5, 2, 4}));
}

TEST(OnnxLoops, ALongLoopIsThereTwiceAndCountsInFull) {
  const auto made = read(products_of(1'000'000));
  const auto sum = total(made);
  EXPECT_LT(made.ops.size(), 10u);
  EXPECT_EQ(sum.macs, Count{1'000'000} * 2 * 4 * 4);
  EXPECT_EQ(sum.confidence, Confidence::kExact);
  EXPECT_EQ(output_shape(made, 1), (Shape{1'000'000, 2, 4}));
  const auto written = write_json(made);
  EXPECT_EQ(write_json(read_capture(written, "again")), written);
  EXPECT_NE(written.find("\"repeats\":999999"), std::string::npos);
}

TEST(OnnxLoops, NoTripsAreNoOps) { EXPECT_EQ(total(read(products_of(0))).macs, Count{}); }

// The body's own condition: known to end the loop, or not known.
TEST(OnnxLoops, AConditionOnDataMakesTheLimitABound) {
  const auto stops = read(products_of(7, {node("Constant", {}, {"go2"}, {attribute("value_int", 0)})}));
  EXPECT_EQ(total(stops).macs, Count{2 * 4 * 4});
  EXPECT_EQ(output_shape(stops, 1), (Shape{1, 2, 4}));
  const auto open = read(products_of(7, {node("IsNaN", {"x"}, {"go2"})}));
  EXPECT_EQ(total(open).macs, Count{7 * 2 * 4 * 4});
  EXPECT_EQ(total(open).confidence, Confidence::kUpperBound);
  EXPECT_TRUE(notes(open, "7 runs are counted, as an upper bound"));
}

TEST(OnnxLoops, TripsThatNobodyKnowsAreSaidOrGiven) {
  auto graph = products();
  graph.initializers = {tensor("w", {4, 4})};
  graph.inputs.push_back(value_info("trips", {}, 7));
  const auto one = read(graph);
  EXPECT_EQ(total(one).macs, Count{2 * 4 * 4});
  EXPECT_EQ(total(one).confidence, Confidence::kEstimated);
  EXPECT_TRUE(notes(one, "--dim y.trips=N"));
  EXPECT_EQ(total(read(graph, {{"y.trips", 3}})).macs, Count{3 * 2 * 4 * 4});
  EXPECT_THROW(read(graph, {{"y.trips", -3}}), Error);
  graph.outputs[1] = value_info("all", {6, 2, 4});  // the file says it another way
  EXPECT_EQ(total(read(graph)).macs, Count{6 * 2 * 4 * 4});
  EXPECT_EQ(total(read(graph)).confidence, Confidence::kExact);
}

// h grows by x in every run: the last run's size stands for all but the first.
TEST(OnnxLoops, GrowingSizesAreAnUpperBoundWhereTheyAreNotRead) {
  const Graph body{
      {node("Concat", {"h", "x"}, {"h2"}, {attribute("axis", 0)}), node("Identity", {"go"}, {"go2"})},
      {},
      {value_info("i", {}, 7), value_info("go", {}, 9), field(1, "h")},
      {field(1, "go2"), field(1, "h2")}};
  Graph graph{{node("Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", body.bytes())})},
              {integers("trips", {10})},
              {value_info("x", {3})},
              {field(1, "y")}};
  const auto few = read(graph);
  EXPECT_EQ(output_shape(few), Shape{33});
  EXPECT_EQ(total(few).confidence, Confidence::kExact);
  graph.initializers = {integers("trips", {10'000})};
  const auto many = read(graph);
  EXPECT_EQ(output_shape(many), Shape{30'003});
  EXPECT_EQ(total(many).confidence, Confidence::kUpperBound);
  EXPECT_TRUE(notes(many, "as an upper bound"));
}

TEST(OnnxLoops, LoopsInLoopsSaturateAndEnd) {
  std::string inner = Graph{
      {node("Relu", {"h"}, {"h2"}), node("Identity", {"go"}, {"go2"})},
      {},
      {field(1, "i"), field(1, "go"), field(1, "h")},
      {field(1, "go2"),
       field(1, "h2")}}.bytes();
  const auto loop = [&](const std::string& body) {
    return node("Loop", {"trips", "", "h"}, {"h2"}, {graph_attribute("body", body)});
  };
  for (int i = 0; i < 30; ++i)
    inner = Graph{{loop(inner), node("Identity", {"go"}, {"go2"})},
                  {},
                  {field(1, "i"), field(1, "go"), field(1, "h")},
                  {field(1, "go2"), field(1, "h2")}}
                .bytes();
  const Graph graph{
      {loop(inner)}, {integers("trips", {std::int64_t{1} << 62})}, {value_info("h", {2})}, {field(1, "h2")}};
  const auto made = read(graph);
  EXPECT_LT(made.ops.size(), 100'000u);
  EXPECT_TRUE(total(made).flops.saturated());
}

// --- Scan

TEST(OnnxLoops, ScanGoesAlongAnAxis) {
  const Graph body{{node("Add", {"sum", "x"}, {"next"}), node("Identity", {"next"}, {"seen"})},
                   {},
                   {field(1, "sum"), field(1, "x")},
                   {field(1, "next"), field(1, "seen")}};
  const Graph graph{{node("Scan", {"zero", "x"}, {"y", "all"},
                          {graph_attribute("body", body.bytes()), attribute("num_scan_inputs", 1),
                           attribute("scan_input_axes", Shape{1}), attribute("scan_output_axes", Shape{1})})},
                    {},
                    {value_info("zero", {4}), value_info("x", {4, 1000})},
                    {field(1, "y"), field(1, "all")}};
  const auto made = read(graph);
  EXPECT_EQ(total(made).flops, Count{4 * 1000});
  EXPECT_EQ(output_shape(made, 0), Shape{4});
  EXPECT_EQ(output_shape(made, 1), (Shape{4, 1000}));
}

// --- Sequences

TEST(OnnxSequences, HoldTensorsAsListsDo) {
  const Graph body{{node("Exp", {"a"}, {"b"})}, {}, {field(1, "a")}, {field(1, "b")}};
  const Graph graph{
      {node("SequenceConstruct", {"x", "z"}, {"s"}), node("SequenceInsert", {"s", "x", "zero"}, {"t"}),
       node("SequenceMap", {"t"}, {"u"}, {graph_attribute("body", body.bytes())}),
       node("ConcatFromSequence", {"u"}, {"y"}, {attribute("axis", 0)}), node("SequenceLength", {"u"}, {"n"}),
       node("Range", {"zero", "n", "one"}, {"r"}), node("SequenceErase", {"t", "zero"}, {"v"}),
       node("SequenceAt", {"v", "one"}, {"last"})},
      {integers("zero", {0}), integers("one", {1})},
      {value_info("x", {2, 5}), value_info("z", {3, 5})},
      {field(1, "y"), field(1, "r"), field(1, "last")}};
  const auto made = read(graph);
  EXPECT_EQ(output_shape(made, 0), (Shape{7, 5}));
  EXPECT_EQ(output_shape(made, 1), Shape{3});
  EXPECT_EQ(output_shape(made, 2), (Shape{3, 5}));
  EXPECT_EQ(made.ops.size(), 4u);  // three times Exp, and the join
  EXPECT_EQ(total(made).confidence, Confidence::kExact);
}

TEST(OnnxSequences, OptionalsAreWhatTheyHold) {
  const Graph graph{{node("Optional", {"x"}, {"o"}), node("OptionalHasElement", {"o"}, {"has"}),
                     node("OptionalGetElement", {"o"}, {"e"}), node("Exp", {"e"}, {"y"})},
                    {},
                    {value_info("x", {2, 5})},
                    {field(1, "y"), field(1, "has")}};
  const auto made = read(graph);
  EXPECT_EQ(made.ops.size(), 1u);
  EXPECT_EQ(output_shape(made), (Shape{2, 5}));
}

// --- Sizes that depend on data, and numbers of fewer bits than a byte

TEST(OnnxBounds, DataDependentSizesAreTheLargestPossible) {
  const Graph graph{{node("NonZero", {"x"}, {"y"})}, {}, {value_info("x", {4, 5})}, {field(1, "y")}};
  const auto made = read(graph);
  EXPECT_EQ(output_shape(made), (Shape{2, 20}));
  EXPECT_EQ(total(made).confidence, Confidence::kUpperBound);
  EXPECT_TRUE(notes(made, "--dim y.1=N"));
  EXPECT_EQ(output_shape(read(graph, {{"y.1", 3}})), (Shape{2, 3}));
}

TEST(OnnxBounds, WhatIsMadeOfABoundIsOne) {
  const Graph graph{{node("NonZero", {"x"}, {"a"}), node("Neg", {"a"}, {"b"}),
                     node("ReduceMax", {"b"}, {"c"}), node("Neg", {"c"}, {"y"}), node("Exp", {"x"}, {"z"})},
                    {},
                    {value_info("x", {4, 5})},
                    {field(1, "y"), field(1, "z")}};
  const auto made = read(graph);
  std::vector<bool> bounded;
  for (const auto& op : made.ops) bounded.push_back(op.bounded);
  EXPECT_EQ(bounded, (std::vector<bool>{true, true, true, false, false}));
}

TEST(OnnxBounds, SmallNumbersShareBytes) {
  const std::pair<int, std::uint64_t> types[] = {{21, 3}, {22, 3}, {23, 3}, {25, 2},
                                                 {26, 2}, {24, 5}, {17, 5}};
  for (const auto& [type, bytes] : types) {
    const Graph graph{
        {node("Cast", {"x"}, {"y"}, {attribute("to", type)})}, {}, {value_info("x", {5})}, {field(1, "y")}};
    EXPECT_EQ(total(read(graph)).bytes, Count{5 * 4 + bytes}) << type;
  }
}

}  // namespace
}  // namespace opscope
