// Models side by side: every value by hand, the best marked, and nothing said that is not so.
#include "analyse/compare/comparison.h"

#include <gtest/gtest.h>

#include "analyse/measured_models.h"
#include "base/error.h"

namespace opscope {
namespace {

Figures figures(std::string model, std::uint64_t params, std::uint64_t macs, std::uint64_t bytes) {
  Figures f;
  f.model = std::move(model);
  f.convention = "opscope";
  f.inputs = "x: 1x3x8x8 float32";
  f.parameters.total = params;
  f.totals.work.macs = macs;
  f.totals.flops = 2 * macs;
  f.totals.traffic.input_bytes = bytes;
  f.totals.ops = 3;
  f.coverage.ops = f.coverage.exact = 3;
  f.peak_memory_bytes = 10 * params;
  f.fused_bytes = bytes / 2;
  // Half of the FLOPs where arithmetic limits, all of the bytes where memory does.
  f.bottlenecks.compute_bound = {.ops = 1, .flops = Count{macs}, .memory_bytes = Count{}};
  f.bottlenecks.memory_bound = {.ops = 2, .flops = Count{macs}, .memory_bytes = Count{bytes}};
  return f;
}

ComparedModel model(std::string label, Figures f) {
  ComparedModel compared{std::move(label), std::move(f), {}};
  if (const auto time = device_time(compared.figures)) compared.times.push_back(*time);
  return compared;
}

Figures unknown_in(Figures f) {
  f.totals.confidence = Confidence::kUnknown;
  f.coverage.exact = 2, f.coverage.unknown = 1;
  f.coverage.unknown_ops = {{"my::op", 1}};
  return f;
}

bool says(const std::vector<std::string>& lines, std::string_view part) {
  for (const std::string& line : lines)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

TEST(Comparison, HasEveryQuantityWithItsRatioAndTheBest) {
  const auto c =
      compare_models({model("a", figures("a", 100, 1000, 400)), model("b", figures("b", 50, 2000, 400))});
  const ComparedRow& params = *c.row("params");
  EXPECT_EQ(params.values[1].amount.count, Count(50));
  EXPECT_DOUBLE_EQ(*params.values[1].ratio, 0.5);
  EXPECT_TRUE(params.values[1].is_best);
  EXPECT_FALSE(params.values[0].is_best);
  const ComparedRow& flops = *c.row("flops");
  EXPECT_TRUE(flops.values[0].is_best);
  EXPECT_DOUBLE_EQ(*flops.values[1].ratio, 2);
  for (const ComparedValue& value : c.row("memory_bytes")->values) EXPECT_FALSE(value.is_best);  // the same
  EXPECT_TRUE(c.row("arithmetic_intensity")->values[1].is_best);  // more of it is better
  EXPECT_EQ(c.row("fused_bytes")->values[0].amount.count, Count(200));
  EXPECT_EQ(c.row("peak_memory_bytes")->values[0].amount.count, Count(1000));
  EXPECT_EQ(c.row("roofline_seconds"), nullptr);
  EXPECT_EQ(c.row("time_seconds"), nullptr);
}

TEST(Comparison, TimeAtTheRidgeIsOfFlopsAndBytes) {
  const auto c =
      compare_models({model("a", figures("a", 1, 1000, 400)), model("b", figures("b", 1, 100, 200))});
  // At a ridge of 10: a computes 1000 / 10 and moves 400; b computes 100 / 10 and moves 200.
  EXPECT_DOUBLE_EQ(c.row("memory_bound_time_share")->values[0].amount.real, 400.0 / (100 + 400));
  EXPECT_DOUBLE_EQ(c.row("relative_time")->values[1].amount.real, (10.0 + 200) / (100 + 400));
  EXPECT_DOUBLE_EQ(c.row("memory_bound_flops_share")->values[0].amount.real, 0.5);
  EXPECT_DOUBLE_EQ(c.row("memory_bound_bytes_share")->values[0].amount.real, 1.0);
  EXPECT_TRUE(says(c.findings,
                   "b does 10% of a's FLOPs, but takes 42% of its time at a ridge of 10 FLOPs per byte: "
                   "95.2% of that is memory-bound (a: 80.0%)"));
}

TEST(Comparison, RidgeTimeIsThatOfTheOps) {
  const Graph graph = test::ResNet18::make(4);
  const Profile profile = make_profile(graph, {.ridge = 33});
  double cost = 0;
  for (const OpCost& op : profile.costs)
    cost += std::max(static_cast<double>(op.flops) / 33, static_cast<double>(op.traffic.total()));
  EXPECT_NEAR(ridge_time(figures_of(profile))->total(), cost, cost * 1e-12);
}

TEST(Comparison, ALowerBoundIsNeverTheBest) {
  const auto c = compare_models(
      {model("a", figures("a", 100, 1000, 400)), model("b", unknown_in(figures("b", 100, 500, 300)))});
  EXPECT_FALSE(c.row("flops")->values[0].is_best);
  EXPECT_FALSE(c.row("flops")->values[1].is_best);
  EXPECT_TRUE(says(c.notes, "b: 1 of 3 ops are unknown (my::op)"));
  EXPECT_FALSE(says(c.findings, "FLOPs"));
  // Nor can anything be so many times as much as it.
  const auto turned = compare_models(
      {model("b", unknown_in(figures("b", 100, 500, 300))), model("a", figures("a", 100, 1000, 400))});
  EXPECT_FALSE(turned.row("flops")->values[1].ratio);
  EXPECT_TRUE(turned.row("params")->values[1].ratio);  // parameters are known
}

TEST(Comparison, SaysWhatMakesItUnfair) {
  Figures other = figures("b", 1, 1, 1);
  other.inputs = "input_ids: 1x128 int64";
  other.convention = "fvcore";
  other.is_training = true;
  other.bottlenecks.ridge = 20;
  const auto c = compare_models({model("a", figures("a", 1, 1, 1)), model("b", other)});
  EXPECT_TRUE(says(c.notes, "not the same inputs: 1x3x8x8 float32 (a); 1x128 int64 (b)"));
  EXPECT_TRUE(says(c.notes, "as opscope does (a); as fvcore does (b)"));
  EXPECT_TRUE(says(c.notes, "a forward pass (a); a training step (b)"));
  EXPECT_TRUE(says(c.notes, "not at the same ridge: 10 (a); 20 (b)"));
  EXPECT_FALSE(says(c.findings, "of a's FLOPs"));
  EXPECT_FALSE(c.row("relative_time")->values[1].is_known);
}

TEST(Comparison, NamesOfInputsAreNoDifference) {
  Figures other = figures("b", 1, 1, 1);
  other.inputs = "pixel_values: 1x3x8x8 float32";
  const auto c = compare_models({model("a", figures("a", 1, 1, 1)), model("b", other)});
  EXPECT_TRUE(c.notes.empty());
}

TEST(Comparison, SaysWhichHasTheLeastAndWhichCostsMoreInEverything) {
  const auto c =
      compare_models({model("a", figures("a", 50, 2000, 500)), model("b", figures("b", 100, 1000, 400)),
                      model("c", figures("c", 200, 3000, 600))});
  EXPECT_TRUE(says(c.findings, "a has the least parameters and peak memory; b the least FLOPs, bytes moved"));
  EXPECT_TRUE(says(c.findings, "c costs more than a in all of these"));
}

TEST(Comparison, WithADeviceHasItsRoofline) {
  const Graph small = test::ResNet18::make(1), large = test::ResNet18::make(8);
  ProfileOptions options;
  options.hardware = find_device("h100-sxm");
  const Profile a = make_profile(small, options), b = make_profile(large, options);
  const auto c = compare_models({model("a", figures_of(a)), model("b", figures_of(b))});
  EXPECT_DOUBLE_EQ(c.row("roofline_seconds")->values[1].amount.real, b.totals.roofline_seconds());
  EXPECT_NEAR(
      c.row("memory_bound_time_share")->values[0].amount.real,
      1 - static_cast<double>(a.totals.compute_bound_time) / static_cast<double>(a.totals.roofline_time),
      1e-12);
  EXPECT_EQ(c.row("fused_roofline_seconds")->values[0].amount.count, a.fused_roofline().time);
  EXPECT_EQ(c.row("relative_time"), nullptr);
  EXPECT_DOUBLE_EQ(c.row("predicted_seconds")->values[1].amount.real, b.totals.predicted_seconds());
  EXPECT_TRUE(says(c.findings, "predicted on h100-sxm"));
}

TEST(Comparison, MeasuredModelsHaveTimes) {
  const Graph measured = test::measured_resnet18(false), plain = test::ResNet18::make();
  const Profile a = make_profile(measured), b = make_profile(plain);
  const auto c = compare_models({model("a", figures_of(a)), model("b", figures_of(b))});
  const ComparedRow& time = *c.row("time_seconds");
  EXPECT_DOUBLE_EQ(time.values[0].amount.real, a.totals.time_seconds());
  EXPECT_FALSE(time.values[1].is_known);
  EXPECT_FALSE(time.values[0].is_best);
  EXPECT_TRUE(says(c.notes, "not measured alike: on Some CPU (a); not measured (b)"));
}

TEST(Comparison, SentencesAreAboutMeasuredTimesWhereAllHaveThem) {
  const Graph cpu = test::measured_resnet18(false), gpu = test::measured_resnet18(true);
  const auto c = compare_models(
      {model("cpu", figures_of(make_profile(cpu))), model("gpu", figures_of(make_profile(gpu)))});
  EXPECT_TRUE(says(c.findings, "gpu does as many FLOPs as cpu"));
  EXPECT_TRUE(says(c.findings, "of its time as measured"));
  EXPECT_FALSE(says(c.findings, "of that is"));
}

TEST(ComparisonParts, AddUpToTheTotals) {
  const Graph graph = test::ResNet18::make();
  const Figures f = figures_of(make_profile(graph));
  const auto c = compare_models({model("a", f), model("b", f)});
  for (const Metric* metric : {&metric_at("flops"), &metric_at("memory_bytes"), &metric_at("ops")}) {
    for (const CompareBy by : {CompareBy::kType, CompareBy::kModule}) {
      const ComparedParts parts = compare_parts(c, by, *metric);
      Count sum;
      for (const ComparedPart& row : parts.rows) sum += row.values[1].amount.count;
      EXPECT_EQ(sum, parts.totals[1].count) << metric->key;
      EXPECT_EQ(parts.in_all, parts.rows.size());
    }
  }
}

TEST(ComparisonParts, ModulesAreMatchedByPathInTreeOrder) {
  Figures a = figures("a", 1, 10, 1), b = figures("b", 1, 10, 1);
  const auto row = [](std::string path, std::uint32_t depth, std::uint64_t flops) {
    FigureRow r{std::move(path), "M", "", depth, 1};
    r.metrics.flops = flops;
    return r;
  };
  a.modules = {row("", 0, 20), row("stem", 1, 5), row("head", 1, 15)};
  b.modules = {row("", 0, 20), row("stem", 1, 5), row("body", 1, 8), row("body.0", 2, 8), row("head", 1, 5)};
  const auto c = compare_models({model("a", a), model("b", b)});
  const ComparedParts parts = compare_parts(c, CompareBy::kModule, metric_at("flops"), 2);
  std::vector<std::string> names;
  for (const ComparedPart& part : parts.rows) names.push_back(part.name);
  EXPECT_EQ(names, (std::vector<std::string>{"stem", "body", "body.0", "head", ""}));
  EXPECT_FALSE(parts.rows[1].values[0].is_known);
  EXPECT_EQ(parts.rows[4].values[1].amount.count, Count(2));  // 20 - 5 - 8 - 5: what the root ran itself
  EXPECT_EQ(parts.in_all, 2u);
}

TEST(ComparisonParts, RefuseWhatPartsDoNotHave) {
  const auto c = compare_models({model("a", figures("a", 1, 1, 1)), model("b", figures("b", 1, 1, 1))});
  EXPECT_THROW(compare_parts(c, CompareBy::kType, metric_at("params")), Error);
  EXPECT_THROW(compare_parts(c, CompareBy::kModule, metric_at("peak_memory_bytes")), Error);
  EXPECT_THROW(compare_parts(c, CompareBy::kType, metric_at("time_seconds")), Error);
  EXPECT_THROW(compare_parts(c, CompareBy::kType, metric_at("roofline_seconds")), Error);
  EXPECT_THROW(compare_by_from_name("layer", "--by"), Error);
  EXPECT_THROW(compare_models({}), Error);
}

TEST(Pareto, FrontIsWhatNoOtherBeats) {
  const auto c =
      compare_models({model("few params", figures("", 10, 900, 1)),
                      model("few flops", figures("", 90, 100, 1)), model("beaten", figures("", 95, 100, 1)),
                      model("between", figures("", 50, 500, 1)), model("twin", figures("", 50, 500, 1))});
  const auto points = pareto_points(c, metric_at("params"), metric_at("flops"));
  std::vector<std::pair<std::string, bool>> found;
  for (const ParetoPoint& point : points) found.push_back({c.models[point.model].label, point.is_front});
  EXPECT_EQ(
      found,
      (std::vector<std::pair<std::string, bool>>{
          {"few params", true}, {"between", true}, {"twin", true}, {"few flops", true}, {"beaten", false}}));
}

TEST(Labels, NoTwoAreTheSame) {
  EXPECT_EQ(labels_apart({{"resnet18", "a"}, {"resnet50", "b"}}),
            (std::vector<std::string>{"resnet18", "resnet50"}));
  EXPECT_EQ(labels_apart({{"resnet18", "old"}, {"resnet18", "new"}}),
            (std::vector<std::string>{"old", "new"}));
  EXPECT_EQ(labels_apart({{"net", "net", "a/net.json"}, {"net", "net", "b/net.json"}, {"x", "x", "x"}}),
            (std::vector<std::string>{"a/net.json", "b/net.json", "x"}));
  EXPECT_EQ(labels_apart({{"net"}, {"net"}, {"net"}}),
            (std::vector<std::string>{"net", "net (2)", "net (3)"}));
}

}  // namespace
}  // namespace opscope
