// Views: the same ops at every level, numbered and joined. Properties hold on random graphs; what a person
// would count by hand holds on ResNet-18.
#include "analyse/explore/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "analyse/metrics_sums.h"
#include "analyse/small_models.h"
#include "analyse/traced_models.h"
#include "graph/builder.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

constexpr Level kAllLevels[] = {Level::kModule, Level::kLayer, Level::kOp, Level::kSubgraph};

std::vector<std::string> names_of(const GraphView& view) {
  std::vector<std::string> names;
  for (const ViewNode& node : view.nodes) names.emplace_back(node.name);
  return names;
}

const ViewNode& node_called(const GraphView& view, std::string_view name) {
  const auto found = std::ranges::find(view.nodes, name, &ViewNode::name);
  EXPECT_NE(found, view.nodes.end()) << name;
  return *found;
}

std::vector<std::string> inputs_of(const GraphView& view, std::string_view name) {
  std::vector<std::string> names;
  for (const ViewEdge& edge : view.inputs_of(node_called(view, name)))
    names.emplace_back(view.nodes[edge.from].name);
  return names;
}

void check_members(const GraphView& view) {
  const Profile& profile = *view.profile;
  std::vector<int> seen(profile.costs.size(), 0);
  for (std::uint32_t n = 0; n < view.nodes.size(); ++n) {
    const auto ops = view.ops_of(view.nodes[n]);
    EXPECT_TRUE(std::ranges::is_sorted(ops));
    for (const OpId op : ops) {
      ++seen[op];
      EXPECT_EQ(view.node_of[op], n);
    }
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](int count) { return count == 1; }));
  EXPECT_TRUE(test::same(test::sum(view.nodes), profile.totals));
}

void check_edges(const GraphView& view) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, ValueId>> distinct;
  std::size_t given = 0;
  for (std::uint32_t n = 0; n < view.nodes.size(); ++n) {
    for (const ViewEdge& edge : view.inputs_of(view.nodes[n])) {
      EXPECT_EQ(edge.to, n);
      ASSERT_LT(edge.from, view.nodes.size());
      EXPECT_NE(edge.from, n);
      EXPECT_TRUE(distinct.emplace(edge.from, edge.to, edge.value).second);
    }
    for (const std::uint32_t e : view.outputs_of(view.nodes[n])) EXPECT_EQ(view.edges[e].from, n);
    given += view.outputs_of(view.nodes[n]).size();
  }
  EXPECT_EQ(distinct.size(), view.edges.size());
  EXPECT_EQ(given, view.edges.size());
}

bool all_forward(const GraphView& view) {
  return std::ranges::all_of(view.edges, [](const ViewEdge& edge) { return edge.from < edge.to; });
}

std::string backward(const GraphView& view) {
  std::string text;
  for (const ViewEdge& edge : view.edges)
    if (edge.from >= edge.to)
      text += std::string(view.nodes[edge.from].name) + " -> " + std::string(view.nodes[edge.to].name) + "; ";
  return text;
}

TEST(View, HoldsEveryOpOnceOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = test::RandomGraph(seed).make(1 + seed * 3);
    const Profile profile = make_profile(graph);
    for (const Level level : kAllLevels)
      for (const std::uint32_t depth : {0u, 1u, 3u}) {
        SCOPED_TRACE(std::string(name(level)) + ", seed " + std::to_string(seed));
        const GraphView view = make_view(profile, level, depth);
        check_members(view);
        check_edges(view);
        EXPECT_TRUE(all_forward(view)) << backward(view);
      }
  }
}

TEST(View, HoldsEveryOpOnceOnTracedRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = test::RandomGraph(seed).make_traced(1 + seed * 3);
    const Profile profile = make_profile(graph);
    for (const Level level : kAllLevels) {
      SCOPED_TRACE(std::string(name(level)) + ", seed " + std::to_string(seed));
      const GraphView view = make_view(profile, level);
      check_members(view);
      check_edges(view);
    }
  }
}

TEST(View, OfLayersIsWhatSymbolicTraceDraws) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  const GraphView view = make_view(profile, Level::kLayer);
  ASSERT_EQ(view.nodes.size(), 71u);
  EXPECT_EQ(view.nodes.front().kind, "placeholder");
  EXPECT_EQ(view.nodes.front().name, "x");
  EXPECT_EQ(view.nodes.back().kind, "output");
  EXPECT_EQ(node_called(view, "layer1.0.conv1").kind, "call_module");
  EXPECT_EQ(node_called(view, "layer1.0.conv1").target, "Conv2d");
  EXPECT_EQ(node_called(view, "layer1.0.conv1").parameters.total, Count{64 * 64 * 3 * 3});
  EXPECT_EQ(node_called(view, "layer1.0.add").kind, "call_function");
  EXPECT_EQ(node_called(view, "layer1.0.add").target, "aten::add_");
  EXPECT_EQ(inputs_of(view, "layer1.0.add"), (std::vector<std::string>{"layer1.0.bn2", "maxpool"}));
  EXPECT_EQ(inputs_of(view, "conv1"), std::vector<std::string>{"x"});
  EXPECT_EQ(inputs_of(view, "output"), std::vector<std::string>{"fc"});
  EXPECT_EQ(view.edges.size(), 70u + 8u);  // a chain, and a second input for each of eight additions
}

TEST(View, OfATracersGraphIsItsNodes) {
  const Graph graph = test::as_fx(test::ResNet18::make());
  const Profile profile = make_profile(graph);
  const GraphView view = make_view(profile, Level::kLayer);
  ASSERT_EQ(view.nodes.size(), graph.nodes.size());
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    EXPECT_EQ(view.nodes[n].node, n);
    EXPECT_EQ(view.nodes[n].kind, name(graph.nodes[n].kind));
  }
  EXPECT_TRUE(all_forward(view));
}

TEST(View, PutsWhatRanBetweenTheGraphsWhereItRan) {
  const Graph graph = test::cut_in_three();
  const Profile profile = make_profile(graph);
  const GraphView view = make_view(profile, Level::kLayer);
  ASSERT_EQ(view.nodes.size(), graph.nodes.size() + 1);
  const auto outside = std::ranges::find(view.nodes, "outside", &ViewNode::kind);
  ASSERT_NE(outside, view.nodes.end());
  EXPECT_EQ(outside->name, "sigmoid");
  EXPECT_EQ((outside - 1)->kind, "output");
  EXPECT_EQ(graph.nodes[(outside + 1)->node].part, 2u);
}

TEST(View, OfModulesHasTheCallsAtADepth) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  EXPECT_EQ(names_of(make_view(profile, Level::kModule, 1)),
            (std::vector<std::string>{"x", "conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3",
                                      "layer4", "avgpool", "flatten", "fc", "output"}));
  const GraphView blocks = make_view(profile, Level::kModule, 2);
  EXPECT_EQ(node_called(blocks, "layer2.0").target, "BasicBlock");
  EXPECT_EQ(inputs_of(blocks, "layer2.0"), std::vector<std::string>{"layer1.1"});
  EXPECT_EQ(names_of(make_view(profile, Level::kModule, 0)),
            (std::vector<std::string>{"x", "ResNet", "output"}));
}

TEST(View, NumbersFurtherCallsOfAModule) {
  const Graph graph = test::shared_and_unknown();
  const Profile profile = make_profile(graph);
  const GraphView view = make_view(profile, Level::kModule, 1);
  EXPECT_EQ(inputs_of(view, "shared#2"), std::vector<std::string>{"shared"});
  EXPECT_EQ(inputs_of(view, "add"), (std::vector<std::string>{"foo_2", "x"}));
}

TEST(View, OfOpsNamesEachDifferently) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  const GraphView view = make_view(profile, Level::kOp);
  EXPECT_EQ(view.nodes.size(), graph.ops.size() + 2);
  const std::vector<std::string> names = names_of(view);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(node_called(view, "layer1.0.conv1.conv2d").target, "aten::conv2d");
  EXPECT_EQ(node_called(view, "layer1.0.add").kind, "call_function");
}

// What one view of a tensor is written through is read through another.
TEST(View, FollowsWritesThroughViews) {
  GraphBuilder b("model", "Model");
  const auto x = b.input({4, 4}, "x");
  const auto buffer = b.op("aten::zeros", {}, {{4, 4}});
  const auto row = b.op("aten::select.int", {{"self", buffer}}, {TensorSpec{4}.view_of(buffer)});
  b.op("aten::copy_", {{"self", row}, {"src", x}}, {TensorSpec{4}.view_of(row)});
  const auto y = b.op("aten::relu", {{"self", buffer}}, {{4, 4}});
  const Graph graph = b.finish({y});
  const Profile profile = make_profile(graph);
  EXPECT_EQ(inputs_of(make_view(profile, Level::kOp), "relu"), (std::vector<std::string>{"zeros", "copy"}));
}

TEST(View, BottlenecksMeetAtTheRidge) {
  EXPECT_EQ(bottleneck_of(999, 100, 10), Bottleneck::kMemoryBound);
  EXPECT_EQ(bottleneck_of(1000, 100, 10), Bottleneck::kMemoryBound);
  EXPECT_EQ(bottleneck_of(1001, 100, 10), Bottleneck::kComputeBound);
  EXPECT_EQ(bottleneck_of(0, 0, 10), Bottleneck::kMemoryBound);
  EXPECT_EQ(bottleneck_of(1, 0, 10), Bottleneck::kComputeBound);
  EXPECT_EQ(bottleneck_legend(2.5), "memory-bound up to 2.5 FLOPs per byte, compute-bound above");
}

TEST(View, LevelsHaveNames) {
  for (const Level level : kAllLevels) EXPECT_EQ(level_from_name(name(level)), level);
  EXPECT_THROW(level_from_name("galaxy"), Error);
}

// As one node, a layer's forward and backward would take from each other.
TEST(View, BackwardIsANodeOfItsOwn) {
  GraphBuilder b("net", "Net");
  const auto x = b.input({4}, "x");
  Tensor y, g;
  {
    const auto call = b.call("act", "ReLU");
    y = b.op("aten::relu", {{"self", x}}, {{4}});
  }
  const auto loss = b.op("aten::sum", {{"self", y}}, {{1}});
  g = b.op("aten::mul.Tensor", {{"self", loss}, {"other", y}}, {{4}});
  Graph graph = b.finish({loss, g});
  graph.ops[2].scope = graph.ops[0].scope;  // as autograd's ops have
  graph.phases = {{"forward", 0}, {"backward", 2}};
  const Profile profile = make_profile(graph);
  for (const Level level : {Level::kLayer, Level::kModule}) {
    const GraphView view = make_view(profile, level);
    EXPECT_EQ(names_of(view), (std::vector<std::string>{"x", "act", "sum", "act.backward", "output"}));
    for (const ViewEdge& edge : view.edges) EXPECT_LT(edge.from, edge.to);
    check_members(view);
  }
}

}  // namespace
}  // namespace opscope
