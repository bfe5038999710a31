// Captured models as graphs of costs: what depends on what, what is held where.
#include "plan/split/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "analyse/small_models.h"
#include "base/error.h"
#include "plan/split/flow.h"

namespace opscope {
namespace {

std::vector<Profile> profiles_of(const Graph& graph, const Cluster& cluster) {
  std::vector<Profile> profiles;
  for (const ClusterGroup& group : cluster.groups) {
    ProfileOptions options;
    options.hardware = group.target.device;
    profiles.push_back(make_profile(graph, options));
  }
  return profiles;
}

Cluster cluster_of(const std::string& devices) {
  Cluster cluster = cluster_from(devices, "--devices");
  set_links(cluster, {"10Gbit/s,50us"}, "--link");
  return cluster;
}

SplitModel split(const Graph& graph, const Cluster& cluster, const SplitOptions& options = {}) {
  return split_model(profiles_of(graph, cluster), cluster, options, PlanObjective::kThroughput);
}

TEST(Split, HoldsAllWeightsAndPredictsAllTime) {
  const Graph graph = test::ResNet18::make();
  const Cluster cluster = cluster_of("4xl4");
  const auto profiles = profiles_of(graph, cluster);
  const SplitModel model = split(graph, cluster);
  double bytes = std::accumulate(model.costs.shared_bytes.begin(), model.costs.shared_bytes.end(), 0.0);
  double seconds = 0;
  for (const CostNode& node : model.costs.nodes) bytes += node.bytes, seconds += node.seconds[0];
  const double result = 1000 * 4;  // stays with who makes it
  const double unread = 20 * 8;    // num_batches_tracked
  EXPECT_EQ(bytes, static_cast<double>(profiles[0].memory().weights) - unread + result);
  EXPECT_NEAR(seconds, profiles[0].predicted.seconds, 1e-9);
}

TEST(Split, APartHoldsNoLessThanItsTensors) {
  const Graph graph = test::ResNet18::make(8);
  const Cluster cluster = cluster_of("4xl4");
  const PlannedGraph planned = plan_model(profiles_of(graph, cluster), cluster, {}, {});
  const double peak = static_cast<double>(profiles_of(graph, cluster)[0].memory().peak_memory_bytes());
  EXPECT_TRUE(planned.answer.is_proven());
  ASSERT_GT(planned.answer.plan.parts.size(), 1u);
  double bytes = 0;
  for (const PlanPart& part : planned.answer.plan.parts) bytes += part.bytes;
  EXPECT_GT(bytes, peak);
  for (const PlanBaseline& other : planned.baselines)
    if (other.plan) {
      EXPECT_GE(other.plan->figures.slowest_seconds, planned.answer.value * (1 - 1e-9)) << other.name;
    }
}

TEST(Split, ATiedWeightIsHeldOnceByEachDevice) {
  GraphBuilder builder("tied");
  const auto x = builder.input({4, 64});
  const auto weight = builder.parameter("weight", {64, 64});
  const auto linear = [&](Tensor in) {
    return builder.op("aten::linear", {{"input", in}, {"weight", weight}, {"bias", nullptr}}, {{4, 64}});
  };
  const Graph graph = builder.finish({linear(linear(linear(x)))});
  const SplitModel model = split(graph, cluster_of("2xl4"));
  ASSERT_EQ(model.costs.shared_bytes, (std::vector<double>{64 * 64 * 4}));
  for (const CostNode& node : model.costs.nodes) EXPECT_EQ(node.shared, (std::vector<std::uint32_t>{0}));
}

TEST(Split, PinnedInputsAreReadInTheirGroup) {
  const Graph graph = test::ResNet18::make();
  Cluster cluster = cluster_of("2xl4,1xt4@cloud");
  set_pins(cluster, {"input=cloud"}, "--pin");
  const PlannedGraph planned = plan_model(profiles_of(graph, cluster), cluster, {}, {});
  const PlanPart& first = planned.answer.plan.parts.front();
  EXPECT_EQ(planned.graph.classes[first.device_class].name, "cloud");
  EXPECT_EQ(first.nodes.front(), 0u);
}

TEST(Split, ReplicasShareTheDevices) {
  const Graph graph = test::ResNet18::make();
  Cluster cluster = cluster_of("4xl4,1xt4@cloud");
  const auto profiles = profiles_of(graph, cluster);
  double best = kCannotRun;
  for (std::size_t replicas = 1; replicas <= 5; ++replicas) {
    if (replicas == 5) {
      EXPECT_THROW(plan_model(profiles, cluster, {.replicas = replicas}, {}), Error);
      continue;
    }
    const PlannedGraph planned = plan_model(profiles, cluster, {.replicas = replicas}, {});
    EXPECT_EQ(planned.replicas.count, replicas);
    EXPECT_EQ(planned.graph.devices(), replicas == 1 ? 5 : 4 / replicas);
    EXPECT_DOUBLE_EQ(planned.replicas.period_seconds * static_cast<double>(replicas), planned.answer.value);
    best = std::min(best, planned.replicas.period_seconds);
  }
  const PlannedGraph chosen = plan_model(profiles, cluster, {.replicas = 0}, {});
  EXPECT_DOUBLE_EQ(chosen.replicas.period_seconds, best);
  EXPECT_NEAR(chosen.replicas.lower_bound_seconds, best, best * 1e-9);
  EXPECT_THROW(plan_model(profiles, cluster, {.replicas = 2}, {.objective = PlanObjective::kLatency}), Error);
}

TEST(Split, ManyOpsAreTakenTogether) {
  const Graph graph = test::ResNet18::make();
  const Cluster cluster = cluster_of("2xl4");
  const auto profiles = profiles_of(graph, cluster);
  const PlannedGraph fine = plan_model(profiles, cluster, {}, {});
  const PlannedGraph coarse = plan_model(profiles, cluster, {.most_nodes = 20}, {});
  EXPECT_LE(coarse.graph.nodes.size(), 20u);
  EXPECT_GE(coarse.answer.value, fine.answer.value * (1 - 1e-9));
  EXPECT_LE(coarse.answer.lower_bound, fine.answer.value);
  EXPECT_FALSE(coarse.notes.empty());
}

TEST(Split, ChangesInPlaceStayTogether) {
  GraphBuilder builder("in place");
  const auto x = builder.input({4, 64});
  const auto buffer = builder.buffer("state", {4, 64});
  const auto read = builder.op("aten::add.Tensor", {{"self", x}, {"other", buffer}, {"alpha", 1}}, {{4, 64}});
  const auto relu = builder.op("aten::relu", {{"self", read}}, {{4, 64}});
  builder.op("aten::copy_", {{"self", buffer}, {"src", relu}, {"non_blocking", false}},
             {TensorSpec{4, 64}.view_of(buffer)});
  const Graph graph = builder.finish({relu});
  const SplitModel model = split(graph, cluster_of("2xl4"));
  ASSERT_EQ(model.costs.nodes.size(), 3u);
  EXPECT_FALSE(model.costs.nodes[0].colocate.empty());
  EXPECT_EQ(model.costs.nodes[0].colocate, model.costs.nodes[2].colocate);
}

}  // namespace
}  // namespace opscope
