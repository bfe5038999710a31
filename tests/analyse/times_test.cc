// Times of groups: statistics on numbers worked out by hand, and sums that hold on every graph.
#include "analyse/times/times.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analyse/metrics_sums.h"
#include "analyse/small_models.h"
#include "analyse/times/where_time_goes.h"
#include "analyse/training_model.h"
#include "graph/measured_graph.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

TEST(Statistics, ByHand) {
  const Statistics of = statistics(std::vector{4.0, 1.0, 3.0, 2.0, 10.0});
  EXPECT_EQ(of.samples, 5u);
  EXPECT_EQ(of.median, 3);
  EXPECT_EQ(of.mean, 4);
  EXPECT_DOUBLE_EQ(of.standard_deviation, std::sqrt((0.0 + 9 + 1 + 4 + 36) / 4));
  EXPECT_DOUBLE_EQ(of.p95, 4 + 0.8 * (10 - 4));  // at 0.95 * 4 = 3.8
  EXPECT_EQ(of.minimum, 1);
  EXPECT_EQ(of.maximum, 10);
  EXPECT_EQ(of.outliers, 1u);  // |10 - 3| = 7 > 3 * 1.4826 * 1
}

TEST(Statistics, OfOneAndOfNone) {
  const Statistics one = statistics(std::vector{2.5});
  EXPECT_EQ(one.median, 2.5);
  EXPECT_EQ(one.p95, 2.5);
  EXPECT_EQ(one.standard_deviation, 0);
  EXPECT_EQ(one.outliers, 0u);
  EXPECT_EQ(statistics(std::vector<double>{}).samples, 0u);
  EXPECT_EQ(statistics(std::vector{1.0, 2.0}).median, 1.5);
}

TEST(Statistics, LeavesOutWhatWasNotMeasured) {
  const std::vector<Nanoseconds> samples{1000, kUnmeasured, 3000};
  const Statistics of = statistics(std::span<const Nanoseconds>(samples));
  EXPECT_EQ(of.samples, 2u);
  EXPECT_DOUBLE_EQ(of.median, 2e-6);
}

// Two ops in modules a and b, three runs.
Graph two_ops() {
  GraphBuilder b("net");
  auto x = b.input({8});
  for (const char* module : {"a", "b"}) {
    const auto call = b.call(module, "Block");
    x = b.op("aten::relu", {{"self", x}}, {{8}});
  }
  auto graph = b.finish({x});
  auto& m = graph.measurement;
  m.runs = 3, m.empty_interval = 10;
  m.host = {110, 130, 120, 215, 5, 225};
  m.plain = {400, 500, 600}, m.timed = {440, 550, 660};
  m.scopes = {400, 410, 420, 150, 160, 170, 240, 250, 260};
  graph.verify();
  return graph;
}

TEST(Times, AnOpTakesTheMedianOfItsRunsWithoutTheClock) {
  const Graph graph = two_ops();
  const Profile profile = make_profile(graph);
  EXPECT_EQ(profile.costs[0].time, Count{110'000});
  EXPECT_EQ(profile.costs[1].time, Count{205'000});  // of 205, 0 (never below) and 215
  EXPECT_EQ(profile.totals.time, Count{315'000});
  EXPECT_DOUBLE_EQ(profile.totals.time_seconds(), 315e-9);
}

TEST(Times, AnEvenNumberOfRunsHasTheMeanOfTheMiddle) {
  Graph graph = two_ops();
  graph.measurement = {};
  graph.measurement.runs = 2;
  graph.measurement.host = {100, 101, 7, 7};
  EXPECT_EQ(make_profile(graph).costs[0].time, Count{100'500});
}

TEST(Times, AGroupHasTheSpreadOfItsSums) {
  const Graph graph = two_ops();
  const Profile profile = make_profile(graph);
  const OpTimes times(profile);
  const Statistics all = times.of_module(0);  // 100 + 205, 120 + 0, 110 + 215
  EXPECT_DOUBLE_EQ(all.median, 305e-9);
  EXPECT_DOUBLE_EQ(all.minimum, 120e-9);
  EXPECT_DOUBLE_EQ(all.maximum, 325e-9);
  EXPECT_DOUBLE_EQ(times.of_module(1).median, 110e-9);
  EXPECT_EQ(times.of_module_alone(0).samples, 0u);  // the root ran none itself
  EXPECT_DOUBLE_EQ(times.of_calls(1).median, 160e-9);
  EXPECT_DOUBLE_EQ(times.of_calls(0).maximum, 420e-9);
}

TEST(Times, WholeRunsAndWhatOpsAccountFor) {
  const Graph graph = two_ops();
  const Profile profile = make_profile(graph);
  const RunTimes runs = run_times(profile, OpTimes(profile));
  EXPECT_DOUBLE_EQ(runs.whole(), 500e-9);
  EXPECT_DOUBLE_EQ(runs.overhead(), 1.1);
  EXPECT_DOUBLE_EQ(runs.ops.median, 305e-9);
  EXPECT_DOUBLE_EQ(runs.op_seconds, 315e-9);  // as the tables have it: the sum of the ops' medians
  EXPECT_DOUBLE_EQ(runs.accounted(), 315.0 / 500);
  EXPECT_DOUBLE_EQ(runs.idle(), 185e-9);
  EXPECT_EQ(runs.unmeasured_ops, 0u);
}

TEST(Times, UnmeasuredSamplesDoNotShortenSums) {
  Graph graph = two_ops();
  graph.measurement.host = {110, kUnmeasured, 130, kUnmeasured, kUnmeasured, kUnmeasured};
  const Profile profile = make_profile(graph);
  EXPECT_EQ(profile.costs[0].time, Count{110'000});
  EXPECT_EQ(profile.costs[1].time, Count{});
  const RunTimes runs = run_times(profile, OpTimes(profile));
  EXPECT_EQ(runs.unmeasured_ops, 1u);
  EXPECT_DOUBLE_EQ(runs.ops.median, 110e-9);  // 100, 110 in place of what is missing, 120
  const OpId first = 0;
  EXPECT_DOUBLE_EQ(OpTimes(profile).of_host({&first, 1}).minimum, 110e-9);  // 110, 120, 130: with the clock
}

TEST(Times, RatesAreOfTheProfilesOwnTimes) {
  const Graph graph = two_ops();
  const Profile profile = make_profile(graph);
  EXPECT_DOUBLE_EQ(flops_per_second(profile.totals), 16 / 315e-9);
  EXPECT_DOUBLE_EQ(bytes_per_second(profile.totals), 4 * 8 * 4 / 315e-9);
  EXPECT_EQ(flops_per_second(Metrics{}), 0);
}

// Every view is a grouping of the same ops, so every view has the same time.
TEST(Times, ChildrenAddUpToTheirParents) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Graph graph = test::RandomGraph(seed).make_traced(seed % 40);
    test::measure(graph, {.runs = 1 + static_cast<std::uint32_t>(seed % 5), .on_device = seed % 2 == 0});
    const Profile profile = make_profile(graph);
    EXPECT_EQ(test::sum(profile.layers()).time, profile.totals.time);
    EXPECT_EQ(test::sum(profile.types()).time, profile.totals.time);
    EXPECT_EQ((test::sum(profile.parts()).time + profile.outside().time), profile.totals.time);
    Count own;
    for (const Metrics& metrics : own_metrics(profile)) own += metrics.time;
    EXPECT_EQ(own, profile.totals.time);
    const auto ends = subtree_ends(profile.modules());
    const auto alone = own_metrics(profile);
    for (std::uint32_t row = 0; row < profile.modules().size(); ++row) {
      Count sum = alone[profile.modules()[row].module].time;
      for (std::uint32_t child = row + 1; child < ends[row]; child = ends[child])
        sum += profile.modules()[child].metrics.time;
      ASSERT_EQ(sum, profile.modules()[row].metrics.time) << "seed " << seed;
    }
  }
}

TEST(Times, StatisticsOfGroupsAgreeWithTheirOps) {
  Graph graph = test::ResNet18::make();
  test::measure(graph);
  const Profile profile = make_profile(graph);
  const OpTimes times(profile);
  const Statistics all = times.of_ops(times.all());
  EXPECT_DOUBLE_EQ(times.of_module(0).median, all.median);
  double sum = 0;
  for (std::size_t layer = 0; layer < profile.layers().size(); ++layer) sum += times.of_layer(layer).mean;
  EXPECT_NEAR(sum, all.mean, 1e-12);  // means add up, medians need not
  double by_type = 0;
  for (const auto& ops : ops_by_type(profile)) by_type += times.of_ops(ops).mean;
  EXPECT_NEAR(by_type, all.mean, 1e-12);
}

TEST(Times, PhasesOfATrainingStepAreTheWhole) {
  Graph graph = test::training_step();
  test::measure(graph, {.on_device = true});
  const Profile profile = make_profile(graph);
  const RunTimes runs = run_times(profile, OpTimes(profile));
  ASSERT_EQ(runs.phases.size(), graph.phases.size());
  Metrics sum;
  for (const PhaseTimes& phase : runs.phases) sum += phase.metrics;
  EXPECT_EQ(sum.time, profile.totals.time);
  EXPECT_TRUE(runs.on_device);
  EXPECT_GT(runs.host_ops.median, 0);
}

TEST(WhereTimeGoes, SharesAreOfAllOps) {
  for (const bool on_device : {false, true}) {
    Graph graph = test::ResNet18::make();
    test::measure(graph, {.on_device = on_device});
    const Profile profile = make_profile(graph);
    const WhereTimeGoes where = where_time_goes(profile, OpTimes(profile));
    const double all = where.memory_bound.seconds + where.compute_bound.seconds + where.calls.seconds;
    EXPECT_NEAR(all, where.seconds, 1e-12);
    EXPECT_GT(where.call_seconds, 0);
    EXPECT_FALSE(where.rates.flops_name.empty());
  }
}

TEST(WhereTimeGoes, FindingsAreRankedAndSaveNothingTwice) {
  Graph graph = test::ResNet18::make();
  test::measure(graph);
  const Profile profile = make_profile(graph);
  const WhereTimeGoes where = where_time_goes(profile, OpTimes(profile));
  ASSERT_FALSE(where.findings.empty());
  EXPECT_LE(where.findings.size(), 5u);
  std::vector<char> seen(graph.ops.size());
  double sum = 0;
  for (std::size_t i = 0; i < where.findings.size(); ++i) {
    const Finding& finding = where.findings[i];
    if (i > 0) {
      EXPECT_LE(finding.saving_seconds, where.findings[i - 1].saving_seconds);
    }
    if (finding.kind != FindingKind::kIdle) {
      EXPECT_LE(finding.saving_seconds, finding.metrics.time_seconds() * (1 + 1e-9));
    }
    for (const OpId op : finding.ops) EXPECT_EQ(seen[op]++, 0);
    sum += finding.saving_seconds;
  }
  EXPECT_LE(sum, where.seconds + where.idle);
}

// Of two equal layers the slow one is the first thing to look at, and the quick one sets the rate.
TEST(WhereTimeGoes, FindsTheSlowLayer) {
  GraphBuilder b("net");
  auto x = b.input({64, 64});
  for (const char* module : {"slow", "quick"}) {
    const auto call = b.call(module, "Linear");
    const auto weight = b.parameter("weight", {64, 64});
    x = b.op("aten::mm", {{"self", x}, {"mat2", weight}}, {{64, 64}});
  }
  Graph graph = b.finish({x});
  graph.measurement.runs = 1;
  graph.measurement.host = {90'000, 10'000};
  graph.measurement.plain = {101'000}, graph.measurement.timed = {102'000};
  const Profile profile = make_profile(graph);
  const WhereTimeGoes where = where_time_goes(profile, OpTimes(profile));
  ASSERT_FALSE(where.findings.empty());
  EXPECT_EQ(where.rates.flops_name, "quick");
  EXPECT_EQ(where.findings[0].kind, FindingKind::kLayers);
  EXPECT_EQ(where.findings[0].ops, std::vector<OpId>{0});
  EXPECT_EQ(where.findings[0].count, 1u);  // the quick one has nothing to save
  EXPECT_NEAR(where.findings[0].saving_seconds, 80e-6, 1e-9);
}

// Ops that are short one by one are long together: a hundred adds of 0.9 % each set the bytes' rate; one relu
// that is quicker still but takes next to nothing does not.
TEST(WhereTimeGoes, BestRatesAreThoseOfAnyKindOfOpWithWeight) {
  GraphBuilder b("net");
  auto x = b.input({64, 64});
  const auto weight = b.parameter("weight", {64, 64});
  x = b.op("aten::mm", {{"self", x}, {"mat2", weight}}, {{64, 64}});
  for (int i = 0; i < 100; ++i) x = b.op("aten::add", {{"self", x}, {"other", x}}, {{64, 64}});
  const auto call = b.call("act", "ReLU");
  x = b.op("aten::relu", {{"self", x}}, {{64, 64}});
  Graph graph = b.finish({x});
  graph.measurement.runs = 1;
  graph.measurement.host.assign(graph.ops.size(), 900);
  graph.measurement.host.front() = 10'000, graph.measurement.host.back() = 9;
  graph.measurement.plain = {101'000}, graph.measurement.timed = {102'000};
  const Profile profile = make_profile(graph);
  const MeasuredRates rates = measured_rates(profile);
  EXPECT_EQ(rates.bytes_name, "add*");
  EXPECT_DOUBLE_EQ(rates.bytes_per_second, static_cast<double>(profile.costs[1].traffic.total()) / 900e-9);
  EXPECT_DOUBLE_EQ(rates.flops_per_second, 2.0 * 64 * 64 * 64 / 10e-6);
}

}  // namespace
}  // namespace opscope
