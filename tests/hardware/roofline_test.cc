// The roofline rule, as formulas; and what has to hold for every graph on every device.
#include "hardware/roofline.h"

#include <gtest/gtest.h>

#include "analyse/compare/affinity.h"
#include "analyse/metrics_sums.h"
#include "analyse/small_models.h"
#include "base/error.h"
#include "graph/random_graph.h"
#include "hardware/device.h"

namespace opscope {
namespace {

using test::RandomGraph;
using test::ResNet18;
using test::same;
using test::sum;

// Rates that are easy to divide by.
constexpr double kFloat32 = 10e12, kTf32 = 80e12, kHalf = 160e12, kFloat64 = 5e12, kInt8 = 320e12,
                 kBytes = 1e12;
constexpr std::string_view kText = R"(
id = "test"
name = "Test device"
kind = "gpu"
[memory]
bandwidth = { value = "1 TB/s" }
size = { value = "1 GB" }
[peaks.matrix]
tf32 = { value = "80 TFLOP/s" }
float16 = { value = "160 TFLOP/s" }
int8 = { value = "320 TOP/s" }
[peaks.vector]
float32 = { value = "10 TFLOP/s" }
float64 = { value = "5 TFLOP/s" }
)";

DevicePointer device(const std::string& more = "") {
  return std::make_shared<const Device>(read_device(std::string(kText) + more, "test.toml"));
}

OpCost cost_of(std::string_view op, std::uint64_t macs, std::uint64_t others, std::uint64_t bytes) {
  const OpRule* rule = find_rule(op);
  return {.work = {.macs = macs, .other_flops = others},
          .traffic = {.input_bytes = bytes},
          .confidence = Confidence::kExact,
          .rule = rule};
}

double seconds(std::string_view op, DType dtype, Float32 float32 = Float32::kTorch) {
  const RooflineTime time = roofline_time(*device(), cost_of(op, 1000, 0, 0), dtype, float32);
  return time.known ? time.seconds() : -1;
}

TEST(Roofline, ProductsRunOnTheUnitsOfTheirType) {
  EXPECT_DOUBLE_EQ(seconds("aten::mm", DType::kFloat16), 2 * 1000 / kHalf);
  EXPECT_DOUBLE_EQ(seconds("aten::mm", DType::kInt8), 2 * 1000 / kInt8);
  EXPECT_DOUBLE_EQ(seconds("aten::mm", DType::kFloat64), 2 * 1000 / kFloat64);
  // No matrix units for it: PyTorch's kernels compute in float32.
  EXPECT_DOUBLE_EQ(seconds("aten::mm", DType::kBFloat16), 2 * 1000 / kFloat32);
  // Nobody says how fast 8-bit floats are.
  EXPECT_EQ(seconds("aten::mm", DType::kFloat8E4M3FN), -1);
}

TEST(Roofline, Float32GoesWherePyTorchSendsIt) {
  EXPECT_DOUBLE_EQ(seconds("aten::conv2d", DType::kFloat32), 2 * 1000 / kTf32);
  EXPECT_DOUBLE_EQ(seconds("aten::mm", DType::kFloat32), 2 * 1000 / kFloat32);
  EXPECT_DOUBLE_EQ(seconds("aten::scaled_dot_product_attention", DType::kFloat32), 2 * 1000 / kFloat32);
  EXPECT_DOUBLE_EQ(seconds("aten::mm", DType::kFloat32, Float32::kTf32), 2 * 1000 / kTf32);
  EXPECT_DOUBLE_EQ(seconds("aten::conv2d", DType::kFloat32, Float32::kIeee), 2 * 1000 / kFloat32);
  EXPECT_EQ(float32_from_name("ieee"), Float32::kIeee);
  EXPECT_THROW(float32_from_name("fp32"), Error);
}

TEST(Roofline, TheSlowestOfItsPartsDecides) {
  const auto time = [](std::uint64_t macs, std::uint64_t others, std::uint64_t bytes) {
    return roofline_time(*device(), cost_of("aten::mm", macs, others, bytes), DType::kFloat16,
                         Float32::kTorch);
  };
  EXPECT_DOUBLE_EQ(time(1000, 10, 1).seconds(), 2 * 1000 / kHalf);
  EXPECT_DOUBLE_EQ(time(1000, 1000, 1).seconds(), 1000 / kFloat32);
  EXPECT_DOUBLE_EQ(time(1000, 10, 1000).seconds(), 1000 / kBytes);
  EXPECT_EQ(limit_of(*device(), time(1000, 10, 1)), Limit::kCompute);
  EXPECT_EQ(limit_of(*device(), time(1000, 10, 1000)), Limit::kMemory);
  EXPECT_EQ(limit_of(*device(), time(0, 0, 0)), Limit::kNothing);
  EXPECT_EQ(limit_of(*device("[launch]\noverhead = { value = \"1 us\" }"), time(1000, 10, 1000)),
            Limit::kLaunch);
}

TEST(Roofline, UnknownWorkHasNoTime) {
  OpCost cost = cost_of("aten::mm", 0, 0, 1000);
  cost.confidence = Confidence::kUnknown;
  const RooflineTime time = roofline_time(*device(), cost, DType::kFloat32, Float32::kTorch);
  EXPECT_FALSE(time.known);
  EXPECT_EQ(limit_of(*device(), time), Limit::kUnknown);
}

TEST(Roofline, Picoseconds) {
  EXPECT_EQ(picoseconds(1.5e-9), Count{1500});
  EXPECT_EQ(picoseconds(0), Count{});
  EXPECT_TRUE(picoseconds(1e30).saturated());
}

ProfileOptions on(DevicePointer hardware) {
  ProfileOptions options;
  options.hardware = std::move(hardware);
  return options;
}

TEST(RooflineProfile, ResNet18ByHand) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph, on(device()));
  // conv1: 64 x 112 x 112 outputs of 3 x 7 x 7 products; 3 x 224 x 224 + 64 x 3 x 7 x 7 numbers read.
  const double macs = 64.0 * 112 * 112 * 3 * 7 * 7;
  const double bytes = 4.0 * (3 * 224 * 224 + 64 * 3 * 7 * 7 + 64 * 112 * 112);
  EXPECT_EQ(profile.costs[0].roofline_time, picoseconds(std::max(2 * macs / kTf32, bytes / kBytes)));
  // relu: read and written once.
  const double relu = 2 * 4.0 * 64 * 112 * 112;
  EXPECT_EQ(profile.costs[2].roofline_time, picoseconds(relu / kBytes));
  EXPECT_EQ(profile.roofline.limits[2], Limit::kMemory);
  EXPECT_EQ(profile.roofline.peak->dtype, "tf32");
  EXPECT_DOUBLE_EQ(profile.options.ridge, kTf32 / kBytes);
  EXPECT_EQ(profile.bottlenecks().ridge, profile.options.ridge);
  EXPECT_EQ(profile.roofline.kernels, 68u);  // all but flatten, which is a view
  EXPECT_LT(profile.fused_roofline().time, profile.totals.roofline_time);
}

TEST(RooflineProfile, TheUsersRidgeStays) {
  const Graph graph = ResNet18::make();
  ProfileOptions options = on(device());
  options.ridge = 3, options.ridge_is_given = true;
  const Profile profile = make_profile(graph, options);
  EXPECT_EQ(profile.options.ridge, 3);
  EXPECT_DOUBLE_EQ(profile.roofline.ridge, kTf32 / kBytes);
  EXPECT_EQ(profile.bottlenecks().compute_bound.ops,
            make_profile(graph, {.ridge = 3}).bottlenecks().compute_bound.ops);
}

TEST(RooflineProfile, UnknownOpsAreSaidNotZero) {
  const Graph graph = test::shared_and_unknown();
  const Profile profile = make_profile(graph, on(device()));
  EXPECT_EQ(profile.totals.roofline_unknown, 3u);
  EXPECT_EQ(profile.roofline.of(Limit::kUnknown).ops, 3u);
  EXPECT_FALSE(affinity(profile).findings.empty());
  EXPECT_NE(affinity(profile).findings.back().find("3 ops are not in it"), std::string::npos);
}

TEST(RooflineProfile, WithoutADeviceThereIsNone) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  EXPECT_EQ(profile.roofline.device, nullptr);
  EXPECT_EQ(profile.totals.roofline_time, Count{});
  EXPECT_EQ(profile.options.ridge, 10);
}

TEST(RooflineProfile, WhatWasMeasuredOnIsTheDevice) {
  Graph graph = ResNet18::make();
  graph.measurement.runs = 1;
  graph.measurement.host.assign(graph.ops.size(), 1000);
  graph.measurement.environment.device_name = "NVIDIA H200";
  EXPECT_EQ(make_profile(graph).roofline.device->id, "h200");
  EXPECT_EQ(make_profile(graph, on(find_device("l4"))).roofline.device->id, "l4");
  graph.measurement.environment.precision = "high";
  EXPECT_EQ(make_profile(graph).roofline.float32, Float32::kTf32);
}

TEST(RooflineProfile, EveryViewHasTheSameTotalAndFusingNeverTakesLonger) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = RandomGraph(seed).make(30);
    for (const char* id : {"h200", "t4", "xeon-8480plus"}) {
      SCOPED_TRACE(std::to_string(seed) + " on " + id);
      const Profile profile = make_profile(graph, on(find_device(id)));
      EXPECT_TRUE(same(sum(profile.layers()), profile.totals));
      EXPECT_TRUE(same(sum(profile.types()), profile.totals));
      EXPECT_LE(profile.totals.compute_bound_time, profile.totals.roofline_time);
      Count by_limit;
      std::uint64_t ops = 0;
      for (const Band& band : profile.roofline.by_limit) by_limit += band.roofline_time, ops += band.ops;
      EXPECT_EQ(by_limit, profile.totals.roofline_time);
      EXPECT_EQ(ops, graph.ops.size());
      // Rounding of each op and subgraph to whole picoseconds.
      if (profile.fused_roofline().unknown == 0 && !profile.totals.roofline_time.saturated()) {
        EXPECT_LE(profile.fused_roofline().time, profile.totals.roofline_time + Count{graph.ops.size()});
      }
    }
  }
}

TEST(Affinity, ComparesDevicesAndSaysWhy) {
  const Graph graph = ResNet18::make(32);
  std::vector<Profile> profiles;
  for (const char* id : {"l4", "h200", "ryzen-9-7950x"})
    profiles.push_back(make_profile(graph, on(find_device(id))));
  const AffinityComparison found = compare_affinity(profiles);
  EXPECT_EQ(found.best, 1u);
  EXPECT_EQ(found.findings.front().find("h200 is fastest"), 0u);
  EXPECT_TRUE(*found.devices[0].fits);
  EXPECT_FALSE(found.devices[2].fits.has_value());
  for (const Affinity& one : found.devices) EXPECT_NEAR(one.compute_share + one.memory_share, 1, 1e-9);
}

TEST(Affinity, WhatDoesNotFitIsNotBest) {
  const Graph graph = ResNet18::make(256);
  std::vector<Profile> profiles{make_profile(graph, on(device())),
                                make_profile(graph, on(find_device("t4")))};
  ASSERT_GT(profiles[0].memory().peak_memory_bytes(), Count{1000000000});
  const AffinityComparison found = compare_affinity(profiles);
  EXPECT_EQ(found.devices[0].fits, false);
  EXPECT_EQ(found.best, 1u);
}

}  // namespace
}  // namespace opscope
