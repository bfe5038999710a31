// Data of plots: shares add up to one, nothing is lost between the model and its picture.
#include "analyse/plot/plot.h"

#include <gtest/gtest.h>

#include <map>

#include "analyse/small_models.h"
#include "base/error.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

using test::RandomGraph;
using test::ResNet18;

constexpr Level kLevels[] = {Level::kModule, Level::kLayer, Level::kOp, Level::kSubgraph};
const Metric* const kMetrics[] = {&metric_at("flops"), &metric_at("macs"), &metric_at("memory_bytes"),
                                  &metric_at("params")};

void expect_adds_up(const Profile& profile, const RooflinePlot& plot) {
  double time = 0;
  Count flops;
  std::uint64_t nodes = 0;
  for (const RooflinePoint& point : plot.points) {
    time += point.time_share;
    flops += point.flops * Count{point.count};
    nodes += point.count;
  }
  EXPECT_EQ(flops, profile.totals.flops);
  EXPECT_EQ(plot.flops, profile.totals.flops);
  EXPECT_NEAR(time, plot.points.empty() ? 0 : 1, 1e-9);
  EXPECT_NEAR(plot.memory_bound.time_share + plot.compute_bound.time_share, time, 1e-9);
  EXPECT_EQ(plot.memory_bound.nodes + plot.compute_bound.nodes, nodes);
  EXPECT_EQ(plot.memory_bound.flops + plot.compute_bound.flops, flops);
  EXPECT_LE(plot.memory_bytes, profile.totals.memory_bytes());
  EXPECT_TRUE(plot.level == Level::kSubgraph || plot.memory_bytes == profile.totals.memory_bytes());
}

TEST(Roofline, OfResNet18) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const Level level : kLevels) expect_adds_up(profile, make_roofline(profile, level, {}));
  const RooflinePlot plot = make_roofline(profile, Level::kLayer, {});
  // Four convolutions of 56x56 with 64 channels in one dot, 2 * 56*56*64 * 64*3*3 FLOPs each.
  const RooflinePoint& first = plot.points.front();
  EXPECT_EQ(first.name, "layer1.*.conv*");
  EXPECT_EQ(first.count, 4u);
  EXPECT_EQ(first.flops, Count{2ull * 56 * 56 * 64 * 64 * 3 * 3});
  EXPECT_TRUE(first.compute_bound);
  EXPECT_EQ(plot.compute_bound.nodes, 20u);
}

TEST(Roofline, SidesFollowTheRidge) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  std::uint64_t before = 1000;
  for (const double ridge : {0.01, 1.0, 10.0, 100.0, 1e6}) {
    const RooflinePlot plot = make_roofline(profile, Level::kLayer, {.ridge = ridge});
    expect_adds_up(profile, plot);
    EXPECT_LE(plot.compute_bound.nodes, before);
    before = plot.compute_bound.nodes;
  }
  EXPECT_EQ(before, 0u);
}

TEST(Roofline, ADeviceGivesSeconds) {
  const Roof shape{.ridge = 10}, device{.ridge = 10, .peak_flops_per_second = 1e12};
  EXPECT_FALSE(shape.seconds(1));
  EXPECT_DOUBLE_EQ(*device.seconds(device.cost(1e12, 0)), 1);  // computes for a second
  EXPECT_DOUBLE_EQ(*device.seconds(device.cost(0, 1e11)), 1);  // moves 1e12 / 10 bytes in a second
}

TEST(Roofline, RandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed).make(40);
    const Profile profile = make_profile(graph);
    if (profile.totals.flops.saturated() || profile.totals.memory_bytes().saturated()) continue;
    for (const Level level : kLevels) expect_adds_up(profile, make_roofline(profile, level, {}));
  }
}

TEST(Types, KeepTheTotals) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const std::size_t top : {0, 1, 3, 6, 100}) {
    const TypesPlot plot = make_types_plot(profile, metric_at("flops"), top);
    Metrics sum = plot.rest;
    for (const TypeRow& row : plot.rows) sum += row.metrics;
    EXPECT_EQ(sum.flops, profile.totals.flops);
    EXPECT_EQ(sum.memory_bytes(), profile.totals.memory_bytes());
    EXPECT_NE(plot.others, 1u);
    EXPECT_LE(plot.rows.size(), std::max<std::size_t>(top, 1) + 1);
  }
  EXPECT_EQ(make_types_plot(profile, metric_at("memory_bytes"), 3).rows.front().type, "conv2d");
  EXPECT_THROW(make_types_plot(profile, metric_at("params"), 3), Error);
}

// Children lie inside their parent, one after the other, and fill a module that has no ops of its own.
void expect_nested(const IciclePlot& plot) {
  ASSERT_FALSE(plot.slices.empty());
  EXPECT_EQ(plot.slices[0].value, plot.total);
  std::map<std::uint32_t, double> filled;
  std::map<std::uint32_t, Count> sums;
  for (std::uint32_t i = 0; i < plot.slices.size(); ++i) {
    const IcicleSlice& slice = plot.slices[i];
    EXPECT_TRUE(slice.value);
    if (slice.parent == kNone) continue;
    ASSERT_LT(slice.parent, i);
    const IcicleSlice& parent = plot.slices[slice.parent];
    EXPECT_EQ(slice.depth, parent.depth + 1);
    EXPECT_NEAR(slice.begin, parent.begin + filled[slice.parent], 1e-9);
    filled[slice.parent] += slice.share;
    sums[slice.parent] += slice.value;
  }
  for (const auto& [parent, sum] : sums) {
    EXPECT_EQ(sum, plot.slices[parent].value) << plot.slices[parent].path;
    EXPECT_FALSE(plot.slices[parent].category);
  }
}

TEST(Icicle, OfResNet18) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const Metric* metric : kMetrics)
    for (const bool fold : {false, true})
      expect_nested(make_icicle(profile, {.metric = metric, .fold = fold}));
  EXPECT_EQ(make_icicle(profile, {}).total, profile.totals.flops);
  EXPECT_EQ(make_icicle(profile, {.metric = &metric_at("params")}).total, profile.parameters.total);
  EXPECT_EQ(make_icicle(profile, {.metric = &metric_at("memory_bytes")}).total,
            profile.totals.memory_bytes());
}

TEST(Icicle, EqualBlocksAreOneSlice) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  const auto find = [](const IciclePlot& plot, std::string_view path) {
    return std::ranges::find(plot.slices, path, &IcicleSlice::path);
  };
  const IciclePlot folded = make_icicle(profile, {}), each = make_icicle(profile, {.fold = false});
  const auto both = find(folded, "layer1.0..1"), one = find(each, "layer1.0");
  ASSERT_NE(both, folded.slices.end());
  ASSERT_NE(one, each.slices.end());
  EXPECT_EQ(both->repeat, 2u);
  EXPECT_EQ(both->value, one->value * Count{2});
  EXPECT_EQ(find(folded, "layer1.0..1.conv1")->repeat, 2u);
  EXPECT_EQ(folded.total, each.total);
  EXPECT_NE(find(each, "layer2.1.conv2"), each.slices.end());
}

TEST(Icicle, DepthCutsAndColours) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  const IciclePlot plot = make_icicle(profile, {.depth = 1});
  EXPECT_EQ(plot.depth, 1u);
  for (const IcicleSlice& slice : plot.slices) EXPECT_EQ(slice.category.has_value(), slice.depth == 1);
  EXPECT_EQ(make_icicle(profile, {.depth = 0}).slices.size(), 1u);
}

TEST(Icicle, TiedWeightsCountOnce) {
  const Graph graph = test::shared_and_unknown();
  const Profile profile = make_profile(graph);
  const IciclePlot plot = make_icicle(profile, {.metric = &metric_at("params")});
  expect_nested(plot);
  EXPECT_EQ(plot.total, Count{10 * 10 + 10});
}

TEST(Icicle, RandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed).make(60);
    const Profile profile = make_profile(graph);
    for (const Metric* metric : kMetrics) {
      try {
        const IciclePlot plot = make_icicle(profile, {.metric = metric});
        if (!plot.total.saturated()) expect_nested(plot);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("there are no"), std::string::npos);
      }
    }
  }
}

TEST(Names, OfSeveralLayers) {
  EXPECT_EQ(merged_name("a.0.conv1", "a.1.conv1"), "a.*.conv1");
  EXPECT_EQ(merged_name("layer1.0.conv1", "layer1.0.conv2"), "layer1.0.conv*");
  EXPECT_EQ(merged_name("layer1.*.conv1", "layer1.2.conv2"), "layer1.*.conv*");
  EXPECT_EQ(merged_name("embeddings.LayerNorm", "encoder.layer.0.output.LayerNorm"), "*.LayerNorm");
  EXPECT_EQ(merged_name("h.10.mlp", "h.11.mlp"), "h.*.mlp");
  EXPECT_EQ(merged_name("a", "a"), "a");
  EXPECT_EQ(merged_name("a", "b"), "*");
}

TEST(Names, OfPlots) {
  for (const PlotKind kind : {PlotKind::kRoofline, PlotKind::kTypes, PlotKind::kIcicle, PlotKind::kMemory})
    EXPECT_EQ(plot_kind_from_name(name(kind)), kind);
  for (const Metric* metric : kMetrics) EXPECT_EQ(&plot_metric(metric->key, kLayerNeeds), metric);
  EXPECT_EQ(&plot_metric("mem", kTypeNeeds), &metric_at("memory_bytes"));
  EXPECT_THROW(plot_metric("params", kTypeNeeds), Error);
  EXPECT_THROW(plot_metric("ai", kLayerNeeds), Error);
  try {
    plot_kind_from_name("rooflines");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("roofline"), std::string::npos);
  }
}

}  // namespace
}  // namespace opscope
