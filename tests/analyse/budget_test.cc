// Limits as people write them, and what is held to them.
#include "analyse/check/budget.h"

#include <gtest/gtest.h>

#include "analyse/diff_models.h"
#include "analyse/small_models.h"
#include "base/error.h"

namespace opscope {
namespace {

using test::linear, test::relu, test::Version;

Count count_of(const Metric& metric, const char* text) { return parse_amount(metric, text, "").count; }

TEST(Amounts, HaveUnits) {
  EXPECT_EQ(count_of(metric_at("flops"), "4.2G"), Count{4'200'000'000});
  EXPECT_EQ(count_of(metric_at("params"), "12M"), Count{12'000'000});
  EXPECT_EQ(count_of(metric_at("params"), "11_689_512"), Count{11'689'512});
  EXPECT_EQ(count_of(metric_at("peak_memory_bytes"), "200MiB"), Count{200 * 1024 * 1024});
  EXPECT_EQ(count_of(metric_at("memory_bytes"), "1.5 GB"), Count{1'500'000'000});
  EXPECT_EQ(count_of(metric_at("time_seconds"), "5ms"), Count{5'000'000'000});  // picoseconds
  EXPECT_EQ(count_of(metric_at("flops"), "18446744073709551615"), Count{Count::kMax});
  EXPECT_EQ(parse_amount(metric_at("arithmetic_intensity"), "33.7", "").real, 33.7);
}

TEST(Amounts, RefuseWhatIsNone) {
  for (const char* text : {"", "G", "-1", "4.2X", "12MiB", "nan", "inf", "1e400", "5ms"})
    EXPECT_THROW(parse_amount(metric_at("flops"), text, ""), Error) << text;
  EXPECT_THROW(parse_amount(metric_at("time_seconds"), "5MB", ""), Error);
}

TEST(Limits, OfOneMetricTheLastCounts) {
  const auto limits = parse_limits("flops=1,params=3,flops=2", LimitKind::kMost, "--max");
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[1].amount.count, Count{2});
}

// A budget that says how much more is allowed stands, whoever asks: nothing more, where nobody says.
TEST(Limits, AgainstAnotherVersionAreNothingMoreUnlessSaid) {
  std::vector<BudgetLimit> limits{
      with_amount({.metric = &metric_at("flops"), .kind = LimitKind::kIncrease, .where = "b.toml:1"}, "2%")};
  add_limits({.max = "", .min = "", .max_increase = "", .against = true}, limits);
  EXPECT_EQ(limits.size(), 1U);
  limits.clear();
  add_limits({.max = "ops=3", .min = "", .max_increase = "", .against = true}, limits);
  ASSERT_GT(limits.size(), 2U);
  EXPECT_EQ(limits[1].percent, 0.0);
  try {
    add_limits({.max = "", .min = "", .max_increase = "2%", .against = false, .as_flags = true}, limits);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "--max-increase");
  }
}

TEST(Limits, AreLists) {
  const auto limits = parse_limits("flops=4.2G,peak=200MiB", LimitKind::kMost, "--max");
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[1].metric, &metric_at("peak_memory_bytes"));
  EXPECT_THROW(parse_limits("flops", LimitKind::kMost, "--max"), Error);
  EXPECT_THROW(parse_limits("", LimitKind::kMost, "--max"), Error);
  try {
    parse_limits("flop=1", LimitKind::kMost, "--max");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "did you mean flops?");
  }
}

TEST(Limits, OfIncreasesMayDifferByMetric) {
  EXPECT_EQ(parse_limits("2%", LimitKind::kIncrease, "").size(), 5U);
  const auto limits = parse_limits("2%,flops=5%,params=0", LimitKind::kIncrease, "");
  ASSERT_EQ(limits.size(), 5U);
  EXPECT_EQ(limits[3].percent, 5.0);
  EXPECT_FALSE(limits[4].percent);
  EXPECT_THROW(parse_limits("2", LimitKind::kIncrease, ""), Error);
  EXPECT_THROW(parse_limits("x%", LimitKind::kIncrease, ""), Error);
}

struct Checked {
  explicit Checked(const Version& model, std::vector<BudgetLimit> limits, bool allow = false)
      : report(check_budget({"net", &model.figures, nullptr}, limits, allow)) {}
  CheckReport report;
  const LimitResult& operator[](std::size_t i) const { return report.results[i]; }
};

TEST(Budget, IsKeptUpToItsLimit) {
  const Version resnet(test::ResNet18::make());
  const auto params = resnet.figures.parameters.total.value();
  const Checked at(resnet, parse_limits("params=" + std::to_string(params), LimitKind::kMost, ""));
  EXPECT_TRUE(at.report.kept());
  const Checked over(resnet, parse_limits("params=" + std::to_string(params - 1), LimitKind::kMost, ""));
  EXPECT_FALSE(over.report.kept());
  ASSERT_FALSE(over[0].contributors.empty());
  EXPECT_EQ(over[0].contributors[0].path, "layer4.1");
  EXPECT_TRUE(Checked(resnet, parse_limits("params=1", LimitKind::kLeast, "")).report.kept());
  EXPECT_FALSE(Checked(resnet, parse_limits("params=1G", LimitKind::kLeast, "")).report.kept());
}

BudgetLimit limit_of(const Metric* metric, std::uint64_t most) {
  return {.metric = metric, .kind = LimitKind::kMost, .amount = counted(Count{most})};
}

TEST(Budget, HoldsForModulesAndTypes) {
  const Version resnet(test::ResNet18::make());
  BudgetLimit module = limit_of(&metric_at("flops"), 1), type = limit_of(&metric_at("ops"), 20);
  module.module = "layer4.1", type.type = "conv2d";
  const Checked checked(resnet, {module, type});
  EXPECT_EQ(checked[0].verdict, Verdict::kBroken);
  EXPECT_EQ(checked[1].verdict, Verdict::kKept);
  EXPECT_EQ(checked[1].value->count, Count{20});
  type.type = "conv3d";  // known, and not run
  EXPECT_EQ(Checked(resnet, {type})[0].value->count, Count{0});
  type.type = "convx";
  EXPECT_THROW(Checked(resnet, {type}), Error);
  module.module = "layer9";
  EXPECT_THROW(Checked(resnet, {module}), Error);
  module.module = "layer1", module.metric = &metric_at("peak_memory_bytes");
  EXPECT_THROW(Checked(resnet, {module}), Error);
}

TEST(Budget, WhatIsUnknownIsNotWithinALimit) {
  const Version strange({linear("fc", 8), test::unknown("odd")});
  const std::vector<BudgetLimit> limits{limit_of(&metric_at("flops"), 1'000'000)};
  EXPECT_EQ(Checked(strange, limits)[0].verdict, Verdict::kUnknown);
  EXPECT_FALSE(Checked(strange, limits).report.kept());
  EXPECT_TRUE(Checked(strange, limits, true).report.kept());
  // Over it without them: nothing is left open.
  EXPECT_EQ(Checked(strange, {limit_of(&metric_at("flops"), 1)}, true)[0].verdict, Verdict::kBroken);
  EXPECT_TRUE(Checked(strange, {limit_of(&metric_at("params"), 1'000'000)}).report.kept());
  EXPECT_EQ(Checked(strange, {limit_of(&metric_at("time_seconds"), 1)})[0].verdict, Verdict::kUnknown);
}

TEST(Budget, IncreasesAreFromAnotherVersion) {
  const Version a({linear("fc", 100), relu("act")}), b({linear("fc", 102), relu("act")});
  const ModelDiff diff = test::diff_of(a, b);
  const auto checked = [&](const char* allowed) {
    return check_budget({"net", &b.figures, &diff}, parse_limits(allowed, LimitKind::kIncrease, ""), false);
  };
  EXPECT_TRUE(checked("params=2%").kept());
  EXPECT_FALSE(checked("params=1.9%").kept());
  EXPECT_TRUE(checked("params=18").kept());
  EXPECT_FALSE(checked("params=17").kept());
  const CheckReport report = checked("params=0");
  ASSERT_EQ(report.results[0].contributors.size(), 1U);
  EXPECT_EQ(report.results[0].contributors[0].path, "fc");
  EXPECT_EQ(report.results[0].contributors[0].amount, 18);
  EXPECT_THROW(
      check_budget({"net", &b.figures, nullptr}, parse_limits("2%", LimitKind::kIncrease, ""), false), Error);
}

}  // namespace
}  // namespace opscope
