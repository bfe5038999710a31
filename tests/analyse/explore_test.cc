// Looking around: ranges, names, conditions, standings, and the ways between nodes, counted by hand.
#include "analyse/explore/explore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analyse/fusion/subgraphs.h"
#include "analyse/small_models.h"
#include "analyse/traced_models.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

class Explore : public ::testing::Test {
 protected:
  std::vector<std::uint32_t> numbers(const ExploreQuery& query) const {
    std::vector<std::uint32_t> nodes = select_nodes(view, query, flops).nodes;
    for (std::uint32_t& n : nodes) ++n;
    return nodes;
  }
  std::string error(const ExploreQuery& query) const {
    try {
      select_nodes(view, query, flops);
    } catch (const Error& e) {
      return std::string(e.what()) + " | " + e.hint();
    }
    return "";
  }
  static double flops(const ViewNode& node) { return static_cast<double>(node.metrics.flops); }
  std::uint32_t at(std::string_view name) const { return node_called(view, name, "--node"); }

  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  const GraphView view = make_view(profile, Level::kLayer);
};

TEST_F(Explore, RangesCountFromOneAndIncludeTheirEnds) {
  EXPECT_EQ(numbers({.start = 1, .end = 3}), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(numbers({.start = 70}), (std::vector<std::uint32_t>{70, 71}));
  EXPECT_EQ(numbers({.end = 2}), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(numbers({.around = "5", .context = 1}), (std::vector<std::uint32_t>{4, 5, 6}));
  EXPECT_EQ(numbers({.around = "1", .context = 2}), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(numbers({.around = "output", .context = 2}), (std::vector<std::uint32_t>{69, 70, 71}));
  EXPECT_EQ(numbers({.around = "35"}).size(), 21u);
  EXPECT_EQ(numbers({.max_nodes = 4}).size(), 4u);
}

TEST_F(Explore, ConditionsCombine) {
  EXPECT_EQ(numbers({.type = "conv"}).size(), 20u);
  EXPECT_EQ(numbers({.find = "CONV1", .module = "layer1"}).size(), 2u);
  EXPECT_EQ(numbers({.find = "1x512x7x7"}).front(), at("layer4.0.conv1") + 1);
  EXPECT_EQ(numbers({.module = "layer1.0"}), (std::vector<std::uint32_t>{6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(numbers({.start = 10, .type = "conv", .top = 2}).size(), 2u);
  EXPECT_EQ(numbers({.type = "relu", .top = 1}), std::vector<std::uint32_t>{at("relu") + 1});
  const auto slow = numbers({.bound = Bottleneck::kMemoryBound});
  EXPECT_TRUE(std::ranges::find(slow, at("maxpool") + 1) != slow.end());
}

TEST_F(Explore, SaysWhatIsWrong) {
  EXPECT_EQ(error({.start = 300}), "there is no node 300 | nodes are numbered 1 to 71");
  EXPECT_EQ(error({.start = 9, .end = 4}),
            "the range begins at node 9 and ends at node 4 | --start 4 --end 9");
  EXPECT_EQ(error({.start = 1, .around = "5"}),
            "either a range or the nodes around one | leave out --start and --end");
  EXPECT_EQ(error({.around = "layer1.0.cnov1"}).substr(0, 40), "no node is called 'layer1.0.cnov1' | did");
  EXPECT_EQ(error({.around = "layer1"}).substr(0, 42), "'layer1' is a module of 14 nodes, 6 to 19 ");
  EXPECT_NE(error({.find = "attention"}), "");
  EXPECT_NE(error({.type = "cnov2d"}).find("did you mean conv2d"), std::string::npos);
  EXPECT_NE(error({.module = "layer9"}).find("did you mean layer"), std::string::npos);
}

TEST_F(Explore, FindsATracersNodesByEitherName) {
  const Graph traced = test::as_fx(test::ResNet18::make());
  const Profile its = make_profile(traced);
  const GraphView nodes = make_view(its, Level::kLayer);
  EXPECT_EQ(node_called(nodes, "layer1.0.conv1", "--node"), node_called(nodes, "layer1_0_conv1", "--node"));
}

TEST_F(Explore, StandsInItsSubgraph) {
  const Standing conv = standing_of(view, view.nodes[at("conv1")]);
  ASSERT_EQ(conv.subgraphs.size(), 1u);
  EXPECT_EQ(conv.flops, profile.partition().subgraphs[conv.subgraphs[0]].flops);
  EXPECT_EQ(standing_of(view, view.nodes[0]).why_none, "an input");
  EXPECT_FALSE(standing_of(view, view.nodes[0]).bound);
  const ExploreSummary summary = summarise(view);
  EXPECT_EQ(summary.partitioned_ops, summary.working_ops);
  std::uint64_t subgraphs = 0;
  for (const Band& band : summarise_partition(profile).bounds) subgraphs += band.ops;
  EXPECT_EQ(subgraphs, profile.partition().subgraphs.size());
}

TEST_F(Explore, CountsTheWaysAroundABlock) {
  const auto ways = ways_between(view, at("maxpool"), at("layer1.0.add"));
  ASSERT_TRUE(ways);
  EXPECT_EQ(ways->count, Count{2});
  EXPECT_EQ(ways->shortest, (std::vector<std::uint32_t>{at("maxpool"), at("layer1.0.add")}));
  EXPECT_EQ(ways->costliest.size(), 7u);
  EXPECT_EQ(ways->nodes, 7u);
  ASSERT_EQ(ways->stages.size(), 2u);
  EXPECT_EQ(ways->stages[0].between, 5u);
}

TEST_F(Explore, CountsTheWaysThroughTheModel) {
  const auto ways = ways_between(view, at("x"), at("output"));
  ASSERT_TRUE(ways);
  EXPECT_EQ(ways->count, Count{256});  // two around each of eight blocks
  EXPECT_EQ(ways->nodes, 71u);
  EXPECT_FALSE(ways_between(view, at("output"), at("x")));
  EXPECT_FALSE(ways_between(view, at("layer2.0.conv1"), at("layer2.0.downsample.0")));
}

// 2^100 ways are counted as at least 2^64 - 1, in no time.
TEST(ExploreWays, SaturateOnAChainOfForks) {
  GraphBuilder b("forks", "Forks");
  Tensor x = b.input({4}, "x");
  for (int i = 0; i < 100; ++i) {
    const Tensor left = b.op("aten::relu", {{"self", x}}, {{4}}),
                 right = b.op("aten::tanh", {{"self", x}}, {{4}});
    x = b.op("aten::add.Tensor", {{"self", left}, {"other", right}}, {{4}});
  }
  const Graph graph = b.finish({x});
  const Profile profile = make_profile(graph);
  const GraphView view = make_view(profile, Level::kOp);
  const auto ways = ways_between(view, 0, static_cast<std::uint32_t>(view.nodes.size() - 1));
  ASSERT_TRUE(ways);
  EXPECT_TRUE(ways->count.saturated());
  EXPECT_EQ(ways->stages.size(), 102u);
  EXPECT_EQ(ways->stages[0].ways, Count{2});
  EXPECT_EQ(ways->shortest.size(), 202u);
}

// Against walking every way, on graphs small enough for that.
Count walk(const GraphView& view, std::uint32_t from, std::uint32_t to) {
  if (from == to) return 1;
  std::set<std::uint32_t> next;
  for (const std::uint32_t e : view.outputs_of(view.nodes[from]))
    if (view.edges[e].to > from && view.edges[e].to <= to) next.insert(view.edges[e].to);
  Count sum{};
  for (const std::uint32_t n : next) sum += walk(view, n, to);
  return sum;
}

TEST(ExploreWays, AreThoseThatAWalkFinds) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = test::RandomGraph(seed).make(14);
    const Profile profile = make_profile(graph);
    const GraphView view = make_view(profile, Level::kOp);
    const auto count = static_cast<std::uint32_t>(view.nodes.size());
    for (std::uint32_t from = 0; from < count; ++from)
      for (std::uint32_t to = from + 1; to < count; ++to) {
        const auto ways = ways_between(view, from, to);
        EXPECT_EQ(ways ? ways->count : Count{}, walk(view, from, to)) << seed << ": " << from << " to " << to;
      }
  }
}

}  // namespace
}  // namespace opscope
