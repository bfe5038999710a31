// The graphs of opscope.Profiler: which calls are nodes, that no edge and no time gets lost, and what the
// totals are. Properties hold on random graphs.
#include "analyse/times/profiler_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/explore/view.h"
#include "analyse/small_models.h"
#include "graph/measured_graph.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

constexpr Level kAll[] = {Level::kModule, Level::kLayer, Level::kOp};

// A graph keeps its profile and what that speaks about.
struct Made {
  Made(Graph source, Level granularity)
      : graph(std::move(source)),
        profile(make_profile(graph)),
        shown(make_profiler_graph(profile, granularity)) {}
  Made(const Made&) = delete;

  std::vector<std::string> names() const {
    std::vector<std::string> made;
    for (const ProfilerNode& node : shown.nodes) made.emplace_back(node.name);
    return made;
  }
  std::vector<std::string> edges() const {
    std::vector<std::string> made;
    for (const ProfilerEdge& edge : shown.edges)
      made.push_back(std::string(shown.nodes[edge.from].name) + ">" + std::string(shown.nodes[edge.to].name));
    return made;
  }
  const ProfilerNode& node(std::string_view name) const {
    return *std::ranges::find(shown.nodes, name, &ProfilerNode::name);
  }

  Graph graph;
  Profile profile;
  ProfilerGraph shown;
};

using Names = std::vector<std::string>;

Graph resnet(std::uint32_t runs = 1, bool on_device = false) {
  Graph graph = test::ResNet18::make();
  test::measure(graph, {.runs = runs, .on_device = on_device});
  return graph;
}

TEST(ProfilerGraph, OfModulesHasThePartsAndTheOpsBetween) {
  const Made made(resnet(), Level::kModule);
  EXPECT_EQ(made.names(), (Names{"conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4",
                                 "avgpool", "flatten", "fc"}));
  EXPECT_EQ(made.edges(),
            (Names{"conv1>bn1", "bn1>relu", "relu>maxpool", "maxpool>layer1", "layer1>layer2",
                   "layer2>layer3", "layer3>layer4", "layer4>avgpool", "avgpool>flatten", "flatten>fc"}));
  EXPECT_EQ(made.node("layer4").type, "Sequential");
  EXPECT_EQ(made.node("fc").parameters.total.value(), 512u * 1000 + 1000);
  EXPECT_FALSE(made.node("flatten").is_module);
  ASSERT_EQ(made.shown.inputs.size(), 1u);
  EXPECT_EQ(made.shown.inputs[0].nodes, std::vector<std::uint32_t>{0});
  ASSERT_EQ(made.shown.outputs.size(), 1u);
  EXPECT_EQ(made.shown.outputs[0].nodes, std::vector<std::uint32_t>{10});
}

TEST(ProfilerGraph, OfLayersHasResidualAdds) {
  const Made made(resnet(), Level::kLayer);
  const Names edges = made.edges();
  const auto has = [&](const char* edge) { return std::ranges::find(edges, edge) != edges.end(); };
  EXPECT_TRUE(has("layer1.0.bn2>layer1.0.add"));
  EXPECT_TRUE(has("maxpool>layer1.0.add"));
  EXPECT_TRUE(has("layer2.0.downsample.1>layer2.0.add"));
  EXPECT_TRUE(has("layer1.0.relu#2>layer1.1.add"));
}

// A stack of blocks inside a module that holds all but a head.
Graph framed(int blocks) {
  GraphBuilder b("lm", "ForCausalLM");
  Tensor x = b.input({1, 8}, "x");
  {
    const auto model = b.call("model", "Model");
    for (int i = 0; i < blocks; ++i) {
      const std::string path = "layers." + std::to_string(i);
      const auto block = b.call(path, "Block");
      const auto inner = b.call("mlp", "MLP");
      x = b.op("aten::relu", {{"self", x}}, {{1, 8}});
      x = b.op("aten::gelu", {{"self", x}}, {{1, 8}});
    }
  }
  const auto head = b.call("head", "Linear");
  x = b.op("aten::neg", {{"self", x}}, {{1, 8}});
  return b.finish({x});
}

TEST(ProfilerGraph, LooksIntoAFrameThatHoldsNearlyEverything) {
  EXPECT_EQ(Made(framed(5), Level::kModule).names(),
            (Names{"model.layers.0", "model.layers.1", "model.layers.2", "model.layers.3", "model.layers.4",
                   "head"}));
  EXPECT_EQ(Made(framed(4), Level::kModule).names(), (Names{"model", "head"}));  // 8 of 9 ops
}

TEST(ProfilerGraph, OfALeafIsTheLeaf) {
  GraphBuilder b("linear", "Linear");
  const auto x = b.input({1, 8}, "x");
  const auto y = b.op("aten::relu", {{"self", x}}, {{1, 8}});
  const Made made(b.finish({y}), Level::kModule);
  EXPECT_EQ(made.names(), Names{"linear"});  // by the model's name
  EXPECT_FALSE(made.node("linear").time);    // not measured
}

TEST(ProfilerGraph, OpsThatGiveNoTensorAreLeftOut) {
  GraphBuilder b("net", "Net");
  const auto x = b.input({4}, "x");
  const auto y = b.op("aten::relu", {{"self", x}}, {{4}});
  const NamedArgument self("self", y);
  b.op_outputs("aten::_local_scalar_dense", {&self, 1}, {});
  const auto z = b.op("aten::neg", {{"self", y}}, {{4}});
  { const auto child = b.call("child", "Child"); }  // else the net itself is the only layer
  const Graph graph = b.finish({z});
  for (const Level granularity : kAll) {
    const Made made(graph, granularity);
    EXPECT_EQ(made.names(), (Names{"relu", "neg"}));
    EXPECT_EQ(made.edges(), Names{"relu>neg"});
    EXPECT_EQ(made.shown.left_out, 1u);
  }
}

TEST(ProfilerGraph, CountsCallsThatRanNothing) {
  GraphBuilder b("net", "Net");
  Tensor x = b.input({4}, "x");
  { const auto identity = b.call("identity", "Identity"); }
  {
    const auto act = b.call("act", "ReLU");
    x = b.op("aten::relu", {{"self", x}}, {{4}});
  }
  const Made made(b.finish({x}), Level::kLayer);
  EXPECT_EQ(made.names(), Names{"act"});
  EXPECT_EQ(made.shown.without_ops, 1u);
}

TEST(ProfilerGraph, TimesAddUp) {
  for (const bool on_device : {false, true}) {
    for (const Level granularity : kAll) {
      const Made made(resnet(1, on_device), granularity);
      const ProfilerStats stats = profiler_stats(made.shown);
      EXPECT_TRUE(stats.time);
      EXPECT_EQ(stats.time.value(), made.profile.totals.time.value());
      EXPECT_EQ(stats.ops, made.graph.ops.size());
      EXPECT_EQ(stats.parameters.total.value(), 11'689'512u);
      EXPECT_EQ(stats.run_time.value(), made.graph.measurement.timed[0] * 1000);
      Count of_types;
      for (const ProfilerType& type : stats.types) of_types += type.time;
      EXPECT_EQ(of_types, stats.time);
    }
  }
}

TEST(ProfilerGraph, AModulesCallTakesWhatItsScopeTook) {
  const Made made(resnet(), Level::kModule);
  const Measurement& measured = made.graph.measurement;
  for (ScopeId s = 1; s < made.graph.scopes.size(); ++s) {
    if (made.graph.path(made.graph.modules[made.graph.scopes[s].module]) != "layer1") continue;
    EXPECT_EQ(made.node("layer1").call_time, Count{measured.scopes[s]} * Count{1000});
  }
  EXPECT_FALSE(made.node("flatten").call_time);
}

TEST(ProfilerGraph, MedianIsBetweenTheMiddleTwo) {
  GraphBuilder b("net", "Net");
  Tensor x = b.input({4}, "x");
  for (int i = 0; i < 4; ++i) x = b.op("aten::relu", {{"self", x}}, {{4}});
  Graph graph = b.finish({x});
  test::measure(graph, {.runs = 1});
  graph.measurement.empty_interval = 0;
  graph.measurement.host = {10, 40, 20, 90};
  const Made made(std::move(graph), Level::kOp);
  const ProfilerStats stats = profiler_stats(made.shown);
  EXPECT_EQ(stats.time.value(), (10u + 40 + 20 + 90) * 1000);
  EXPECT_EQ(stats.mean_time.value(), 40'000u);
  EXPECT_EQ(stats.median_time.value(), 30'000u);
  EXPECT_EQ(stats.longest, 3u);
}

// Every tensor that one node's op makes and another's reads is an edge, at every granularity.
TEST(ProfilerGraph, HasEveryEdgeOfTheView) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    for (const Level granularity : {Level::kLayer, Level::kOp}) {
      const Made made(test::RandomGraph(seed).make(30), granularity);
      const Level level = granularity == Level::kOp ? Level::kOp : Level::kLayer;
      const GraphView view = make_view(made.profile, level);
      const auto is_node = [&](std::uint32_t n) {
        const auto ops = view.ops_of(view.nodes[n]);
        const bool is_module = level != Level::kOp && view.nodes[n].kind == "call_module";
        const auto gives = [&](OpId op) { return made.graph.ops[op].outputs.size > 0; };
        return !ops.empty() && (is_module || std::ranges::any_of(ops, gives));
      };
      const auto between = std::ranges::count_if(
          view.edges, [&](const ViewEdge& edge) { return is_node(edge.from) && is_node(edge.to); });
      EXPECT_EQ(static_cast<std::size_t>(between), made.shown.edges.size()) << seed;
    }
  }
}

TEST(ProfilerGraph, GranularitiesHaveNames) {
  EXPECT_EQ(granularity_from_name("module"), Level::kModule);
  EXPECT_EQ(granularity_from_name("layer"), Level::kLayer);
  EXPECT_THROW(granularity_from_name("op"), Error);
  try {
    granularity_from_name("layers");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "did you mean layer?");
  }
}

}  // namespace
}  // namespace opscope
