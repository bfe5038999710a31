// What holds of every partition, on random graphs: of ops that fuse in every way, and of wild ones.
#include <algorithm>

#include "partition/check_partition.h"
#include "partition/random_model.h"

namespace opscope::test {
namespace {

constexpr Strategy kStrategies[] = {Strategy::kEachOp, Strategy::kLayer, Strategy::kFused};

void check_all(const Graph& graph, std::uint64_t seed) {
  const auto costs = estimate(graph, Convention::kOpscope);
  Random random(seed);
  for (const Strategy strategy : kStrategies) {
    for (const std::uint64_t memory : {std::uint64_t{0}, random.below(4096), random.below(1u << 20)}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(name(strategy)) + ", " +
                   std::to_string(memory) + " bytes");
      const PartitionOptions options{strategy, Count{memory}};
      const Partition partition = make_partition(graph, costs, options);
      check_partition(graph, costs, partition);
      const Partition again = make_partition(graph, costs, options);
      EXPECT_EQ(partition.of_op, again.of_op);
      EXPECT_EQ(partition.refs, again.refs);
      EXPECT_TRUE(
          std::ranges::equal(partition.subgraphs, again.subgraphs, {}, &Subgraph::type, &Subgraph::type));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(PartitionRandom, ModelsThatFuse) {
  for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed)
    check_all(RandomModel(seed).make(5 + seed % 90), seed);
}

TEST(PartitionRandom, WildGraphs) {
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed)
    check_all(RandomGraph(seed).make(seed % 70), seed);
}

// Otherwise the properties above would hold of nothing.
TEST(PartitionRandom, FusesAtAll) {
  std::size_t ops = 0, subgraphs = 0;
  Count fused{}, unfused{};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = RandomModel(seed).make(60);
    const auto partition = make_partition(graph, estimate(graph, Convention::kOpscope));
    ops += graph.ops.size(), subgraphs += partition.subgraphs.size();
    fused += partition.fused_bytes, unfused += partition.unfused_bytes;
  }
  EXPECT_LT(subgraphs * 4, ops * 3);
  EXPECT_LT(fused, unfused);
}

}  // namespace
}  // namespace opscope::test
