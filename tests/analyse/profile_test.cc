// Profiles: numbers that can be counted by hand, and what has to hold for every graph.
#include "analyse/profile/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <tuple>

#include "analyse/metrics_sums.h"
#include "analyse/small_models.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

using test::same;
using test::sum;

using test::RandomGraph;
using test::ResNet18;

const ModuleRow& module_at(const Profile& profile, std::string_view path) {
  const auto found = std::ranges::find_if(profile.modules(), [&](const ModuleRow& row) {
    return profile.graph->path(profile.graph->modules[row.module]) == path;
  });
  EXPECT_NE(found, profile.modules().end()) << path;
  return *found;
}

std::vector<std::string> layer_names(const Profile& profile) {
  std::vector<std::string> names;
  for (const LayerRow& layer : profile.layers()) names.emplace_back(layer.name);
  return names;
}

TEST(Profile, ResNet18) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  EXPECT_EQ(profile.parameters.total, Count{11689512});
  EXPECT_EQ(profile.parameters.trainable, Count{11689512});
  EXPECT_EQ(profile.parameters.buffers, Count{9620});
  EXPECT_EQ(profile.totals.work.macs, Count{1814073344});
  EXPECT_EQ(profile.totals.ops, 69u);
  EXPECT_EQ(profile.layers().size(), 69u);
  EXPECT_EQ(profile.coverage.exact, 69u);
  EXPECT_EQ(profile.types().front().type, "conv2d");
  EXPECT_EQ(profile.types().front().metrics.ops, 20u);
  EXPECT_EQ(profile.layers().front().name, "conv1");
  EXPECT_EQ(profile.layers().front().type, "conv2d");
  EXPECT_EQ(profile.layers().front().bottleneck, Bottleneck::kComputeBound);
  ASSERT_EQ(profile.advice().size(), 1u);
  EXPECT_EQ(profile.advice()[0].suggestions.size(), 3u);
}

TEST(Profile, TorchConvention) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph, {.convention = Convention::kTorch});
  EXPECT_EQ(profile.totals.flops, Count{2 * 1814073344ULL});
}

TEST(Profile, LayerNames) {
  const Graph graph = ResNet18::make();
  const auto names = layer_names(make_profile(graph));
  for (const char* name :
       {"relu", "layer1.0.relu", "layer1.0.relu#2", "layer1.0.add", "layer2.0.downsample.1", "flatten", "fc"})
    EXPECT_TRUE(std::ranges::count(names, name)) << name;
}

// Names are views of text that the profile keeps.
TEST(Profile, NamesOutliveTheProfileTheyWereMadeFor) {
  const Graph graph = ResNet18::make();
  auto first = std::make_unique<Profile>(make_profile(graph));
  const auto names = layer_names(*first);
  const Profile copy = *first;
  const Profile moved = std::move(*first);
  first.reset();
  EXPECT_EQ(layer_names(copy), names);
  EXPECT_EQ(layer_names(moved), names);
}

// Made once, whoever asks first: the profile, a copy, or another thread.
TEST(Profile, ViewsAreSharedByCopiesAndThreads) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph), copy = profile;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { EXPECT_EQ(profile.partition().of_op.size(), graph.ops.size()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(&profile.partition(), &copy.partition());
  EXPECT_EQ(&profile.layers(), &copy.layers());
}

TEST(Profile, SharedTiedUnknownUnused) {
  const Graph graph = test::shared_and_unknown();
  const Profile profile = make_profile(graph);
  EXPECT_EQ(profile.parameters.total, Count{110});
  EXPECT_EQ(profile.parameters.trainable, Count{100});
  EXPECT_EQ(module_at(profile, "shared").parameters.total, Count{110});
  EXPECT_EQ(module_at(profile, "shared").calls, 2u);
  EXPECT_EQ(module_at(profile, "shared").metrics.work.macs, Count{2 * 10 * 10});
  EXPECT_EQ(module_at(profile, "head").parameters.total, Count{100});
  EXPECT_EQ(module_at(profile, "unused").metrics.ops, 0u);
  EXPECT_EQ(module_at(profile, "unused").calls, 0u);
  EXPECT_EQ(profile.totals.confidence, Confidence::kUnknown);
  ASSERT_EQ(profile.coverage.unknown_ops.size(), 1u);
  EXPECT_EQ(profile.coverage.unknown_ops[0].op, "mylib::foo");
  EXPECT_EQ(profile.coverage.unknown_ops[0].count, 3u);
  ASSERT_EQ(profile.diagnostics.size(), 2u);
  EXPECT_EQ(profile.diagnostics[1].kind, "unknown_op");
  EXPECT_NE(profile.diagnostics[1].message.find("opscope.register_op(\"mylib::foo\""), std::string::npos);
  EXPECT_EQ(layer_names(profile),
            (std::vector<std::string>{"shared", "shared#2", "head", "foo", "foo_1", "foo_2", "add"}));
}

TEST(Profile, OpNamesThatMeetModuleNames) {
  GraphBuilder b("net", "Net");
  auto x = b.input({4});
  for (const char* child : {"relu", "relu_2"}) {
    const auto call = b.call(child, "ReLU");
    x = b.op("aten::relu", {{"self", x}}, {{4}});
  }
  for (int i = 0; i < 3; ++i) x = b.op("aten::relu", {{"self", x}}, {{4}});
  x = b.op("mylib::relu_1", {{"self", x}}, {{4}});
  const Graph graph = b.finish({x});
  EXPECT_EQ(layer_names(make_profile(graph)),
            (std::vector<std::string>{"relu", "relu_2", "relu_1", "relu_3", "relu_4", "relu_1_1"}));
}

TEST(Profile, RootWithoutChildrenIsOneLayer) {
  GraphBuilder b("net", "LonelyNet");
  auto x = b.input({4});
  x = b.op("aten::relu", {{"self", x}}, {{4}});
  x = b.op("aten::relu", {{"self", x}}, {{4}});
  const Graph graph = b.finish({x});
  const Profile profile = make_profile(graph);
  EXPECT_EQ(layer_names(profile), std::vector<std::string>{"lonelynet"});
  EXPECT_EQ(profile.layers()[0].metrics.ops, 2u);
}

TEST(Profile, NoOps) {
  GraphBuilder b("net", "Net");
  const auto x = b.input({4});
  const Graph graph = b.finish({x});
  const Profile profile = make_profile(graph);
  EXPECT_EQ(profile.totals.ops, 0u);
  EXPECT_EQ(profile.totals.arithmetic_intensity(), 0.0);
  EXPECT_TRUE(profile.layers().empty());
  EXPECT_THROW(find_node(profile, "0"), Error);
}

TEST(Profile, FindsNodes) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  EXPECT_EQ(find_node(profile, "12"), std::vector<OpId>{12});
  EXPECT_EQ(find_node(profile, "conv1"), std::vector<OpId>{0});
  EXPECT_EQ(find_node(profile, "conv1.conv2d"), std::vector<OpId>{0});
  EXPECT_EQ(find_node(profile, "layer1.0").size(), 7u);
  EXPECT_EQ(find_node(profile, "aten::conv2d").size(), 20u);
  EXPECT_EQ(find_node(profile, "conv2d").size(), 20u);
  EXPECT_THROW(find_node(profile, "69"), Error);
  try {
    find_node(profile, "layer1.0.cnov1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("layer1.0.conv1"), std::string::npos) << error.hint();
  }
}

// Children and own ops add up to their parent.
void expect_tree_adds_up(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<Metrics> below = own_metrics(profile);
  for (const ModuleRow& row : profile.modules())
    if (graph.modules[row.module].parent != kNone) below[graph.modules[row.module].parent] += row.metrics;
  for (const ModuleRow& row : profile.modules()) EXPECT_TRUE(same(row.metrics, below[row.module]));
}

TEST(Profile, EveryViewHasTheSameTotal) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed).make(120);
    const Profile profile = make_profile(graph);
    Metrics ops;
    for (const OpCost& cost : profile.costs) ops += cost;
    EXPECT_TRUE(same(profile.totals, ops));
    EXPECT_TRUE(same(profile.totals, profile.modules().front().metrics));
    const Parameters &whole = profile.parameters, &root = profile.modules().front().parameters;
    EXPECT_EQ(std::tie(whole.total, whole.trainable, whole.bytes, whole.buffers, whole.buffer_bytes),
              std::tie(root.total, root.trainable, root.bytes, root.buffers, root.buffer_bytes));
    EXPECT_TRUE(same(profile.totals, sum(profile.layers())));
    EXPECT_TRUE(same(profile.totals, sum(profile.types())));
    expect_tree_adds_up(profile);
    const Coverage& c = profile.coverage;
    EXPECT_EQ(c.exact + c.estimated + c.upper_bound + c.unknown, graph.ops.size());
    EXPECT_EQ(profile.modules().size(), graph.modules.size());
    const auto names = layer_names(profile);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "seed " << seed;
    for (OpId op = 0; op < graph.ops.size(); ++op) ASSERT_LT(profile.layer_of()[op], profile.layers().size());
  }
}

}  // namespace
}  // namespace opscope
