// Tracers' graphs in a profile: the same totals as every other view, names that a person would write, and
// rows that can be compared.
#include "analyse/trace/trace.h"

#include <gtest/gtest.h>

#include <set>

#include "analyse/metrics_sums.h"
#include "analyse/profile/rollup.h"
#include "analyse/traced_models.h"
#include "graph/graph.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

using test::same;
using test::sum;

using test::RandomGraph;

std::vector<std::string> labels(const Profile& profile) {
  std::vector<std::string> result;
  for (const NodeRow& row : profile.nodes()) result.emplace_back(row.label);
  return result;
}

TEST(Traced, NodesAndWhatRanOutsideAreTheTotal) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed).make_traced(120);
    const Profile profile = make_profile(graph);
    Metrics nodes = sum(profile.nodes()), parts = sum(profile.parts());
    EXPECT_TRUE(same(nodes, parts));
    nodes += profile.outside();
    EXPECT_TRUE(same(nodes, profile.totals)) << "seed " << seed;
    std::uint32_t count = 0;
    for (const PartRow& row : profile.parts()) count += row.nodes;
    EXPECT_EQ(count, graph.nodes.size());
    std::set<std::pair<PartId, std::string_view>> names;
    for (const NodeRow& row : profile.nodes()) names.insert({graph.nodes[row.node].part, row.label});
    EXPECT_EQ(names.size(), graph.nodes.size()) << "seed " << seed;
  }
}

TEST(Traced, WithoutATracerAllIsOutside) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  EXPECT_TRUE(profile.nodes().empty());
  EXPECT_TRUE(same(profile.outside(), profile.totals));
}

TEST(Traced, StatisticsAreTheTotal) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph traced = RandomGraph(seed).make_traced(80), plain = RandomGraph(seed).make(80);
    for (const Graph* graph : {&traced, &plain}) {
      const Profile profile = make_profile(*graph);
      const auto nodes = graph_nodes(profile);
      Metrics kinds = sum(count_kinds(nodes));
      if (!graph->parts.empty()) kinds += profile.outside();
      EXPECT_TRUE(same(kinds, profile.totals)) << "seed " << seed;
      std::uint64_t count = 0;
      for (const KindRow& row : count_kinds(nodes)) count += row.count;
      EXPECT_EQ(count, nodes.size());
    }
  }
}

TEST(Traced, TheLayerGraphIsWhatFxDraws) {
  const Graph own = test::ResNet18::make(), fx = test::as_fx(test::ResNet18::make());
  const TracerRow engine = tracer_row("static", make_profile(own)),
                  traced = tracer_row("fx", make_profile(fx));
  EXPECT_EQ(engine.nodes, 71u);
  EXPECT_EQ(traced.nodes, 71u);
  ASSERT_EQ(engine.kinds.size(), traced.kinds.size());
  for (std::size_t i = 0; i < engine.kinds.size(); ++i) {
    EXPECT_EQ(engine.kinds[i].kind, traced.kinds[i].kind);
    EXPECT_EQ(engine.kinds[i].count, traced.kinds[i].count);
  }
}

TEST(Labels, ThePathWins) {
  const Graph graph = test::cut_in_three();
  EXPECT_EQ(labels(make_profile(graph)),
            (std::vector<std::string>{"x", "first.weight", "first.bias", "first.linear", "relu", "relu_1",
                                      "output", "shared.weight", "shared.bias", "shared.linear", "output",
                                      "last.weight", "last.bias", "last.linear", "output"}));
}

TEST(Labels, OfRepeatedCalls) {
  const Graph graph = test::as_fx(test::ResNet18::make());
  const auto names = labels(make_profile(graph));
  for (const char* name :
       {"x", "conv1", "layer1.0.relu", "layer1.0.relu#2", "layer1.0.add", "flatten", "output"})
    EXPECT_TRUE(std::ranges::count(names, name)) << name;
}

// What no value and no module tells is read from the tracer's name, by the model's paths where one fits.
TEST(Labels, FromTheTracersName) {
  GraphBuilder b("net", "Net");
  const auto x = b.input({4}, "x");
  b.module("layer1.0", "Block");
  b.begin_part("forward");
  { const auto node = b.node(NodeKind::kPlaceholder, "l_stack0_", "L_stack0_"); }
  { const auto node = b.node(NodeKind::kGetAttr, "L__self___layer1_0", "L__self___layer1_0"); }
  const Graph graph = b.finish({x});
  EXPECT_EQ(labels(make_profile(graph)), (std::vector<std::string>{"stack0", "layer1.0"}));
}

// Dynamo's "args[0]" is the model's input, though it may come as an alias; a view of a part of it is not.
TEST(Labels, AnAliasOfAnInput) {
  GraphBuilder b("net", "Net");
  const auto x = b.input({4}, "tokens");
  b.begin_part("forward");
  for (const char* name : {"l_args_0_", "l_stack0_"})
    const auto node = b.node(NodeKind::kPlaceholder, name, name);
  Graph graph = b.finish({x});
  for (const std::int64_t offset : {0, 2}) {
    Value alias = graph.values[graph.inputs[0]];
    alias.kind = ValueKind::kConstant, alias.name = 0, alias.offset = offset;
    graph.values.push_back(alias);
    const auto id = static_cast<ValueId>(graph.values.size() - 1);
    graph.nodes[offset == 0 ? 0 : 1].outputs = graph.add_refs(std::array{id});
  }
  EXPECT_EQ(labels(make_profile(graph)), (std::vector<std::string>{"tokens", "stack0"}));
}

TEST(Labels, AnArgumentThatOnlyOneInputFits) {
  for (const bool several : {false, true}) {
    GraphBuilder b("net", "Net");
    const auto x = b.input({4}, "tokens");
    b.input({several ? 4 : 5}, "mask");
    b.begin_part("forward");
    { const auto node = b.node(NodeKind::kPlaceholder, "l_args_0_", "L_args_0_"); }
    Graph graph = b.finish({x});
    Value other = graph.values[graph.inputs[0]];
    other.kind = ValueKind::kConstant, other.name = 0, other.storage = kNone;
    graph.values.push_back(other);
    graph.nodes[0].outputs = graph.add_refs(std::array{static_cast<ValueId>(graph.values.size() - 1)});
    EXPECT_EQ(labels(make_profile(graph)).front(), several ? "args[0]" : "tokens");
  }
}

TEST(Labels, AnOpThatIsCalledAsAModule) {
  GraphBuilder b("net", "Net");
  auto x = b.input({4}, "x");
  b.begin_part("forward");
  {
    const auto node = b.node(NodeKind::kCallFunction, "relu", "torch.relu");
    x = b.op("aten::relu", {{"self", x}}, {{4}});
  }
  for (const char* name : {"relu_1", "relu_2"}) {
    const auto call = b.call("relu", "ReLU");
    const auto node = b.node(NodeKind::kCallModule, name, "relu");
    x = b.op("aten::relu", {{"self", x}}, {{4}});
  }
  const Graph graph = b.finish({x});
  EXPECT_EQ(labels(make_profile(graph)), (std::vector<std::string>{"relu_1", "relu", "relu#2"}));
}

TEST(TargetNames, AreShort) {
  GraphBuilder b("net", "Net");
  auto x = b.input({4}, "x");
  x = b.op("mylib::foo.fast", {{"x", x}}, {{4}});
  b.begin_part("forward");
  { const auto node = b.node(NodeKind::kOutput, "output", "output"); }
  const Graph graph = b.finish({x});
  const TargetNames names(graph);
  for (const auto& [target, expected] : {std::pair("torch.flatten", "flatten"),
                                         {"torch.nn.functional.relu", "relu"},
                                         {"torch._C._nn.linear", "linear"},
                                         {"_operator.add", "add"},
                                         {"aten.conv2d.default", "conv2d"},
                                         {"aten.add_.Tensor", "add"},
                                         {"torch.ops.aten.add.Tensor", "add"},
                                         {"mylib.foo.fast", "foo"},
                                         {"einops.einops.rearrange", "rearrange"},
                                         {"view", "view"},
                                         {"__getitem__", "__getitem__"},
                                         {"", ""}})
    EXPECT_EQ(names.short_name(target), expected) << target;
}

TEST(Comparison, ByTarget) {
  const Graph graph = test::as_fx(test::ResNet18::make());
  const Profile profile = make_profile(graph);
  const auto rows = count_targets(graph_nodes(profile));
  ASSERT_GE(rows.size(), 3u);
  EXPECT_EQ(rows[0].target, "Conv2d");
  EXPECT_EQ(rows[0].count, 20u);
  EXPECT_EQ(rows[0].metrics.work.macs, profile.totals.work.macs - Count{512 * 1000});
  EXPECT_TRUE(std::ranges::count(rows, std::string_view("torch.add"), &TargetRow::target));
}

TEST(Comparison, DifferenceHasASign) {
  const Graph one = test::ResNet18::make(1), two = test::ResNet18::make(2);
  std::vector<TracerRow> rows{tracer_row("static", make_profile(one)),
                              tracer_row("fx", make_profile(two)),
                              tracer_row("export", make_profile(one)),
                              {.tracer = "dynamo"}};
  rows[0].is_engine = true;
  rows[3].failure.reason = "no";
  compare_to_engine(rows, rows);
  EXPECT_EQ(rows[0].macs_difference, std::nullopt);
  EXPECT_EQ(rows[1].macs_difference, 1814073344);
  EXPECT_EQ(rows[2].macs_difference, 0);
  EXPECT_EQ(rows[3].macs_difference, std::nullopt);
  std::swap(rows[0].is_engine, rows[1].is_engine);
  compare_to_engine(rows, rows);
  EXPECT_EQ(rows[0].macs_difference, -1814073344);
}

TEST(Comparison, PartsAddUp) {
  const Graph graph = test::cut_in_three();
  const Profile whole = make_profile(graph);
  Metrics total = whole.outside();
  for (PartId part = 0; part < graph.parts.size(); ++part) {
    const Graph alone = part_of(graph, part);
    total += make_profile(alone).totals;
  }
  EXPECT_TRUE(same(total, whole.totals));
}

}  // namespace
}  // namespace opscope
