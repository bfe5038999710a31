// The host's own time: who it belongs to, which line is named first, and why a device was idle.
#include "analyse/times/host_time.h"

#include <gtest/gtest.h>

#include "analyse/measured_models.h"
#include "analyse/plot/plot.h"
#include "analyse/times/times.h"
#include "analyse/times/where_time_goes.h"

namespace opscope::test {
namespace {

// Every call has 1 us outside of ops in each run, and one scope has a second of sleep.
constexpr ScopeId kSleepy = 3;
Graph with_sleep(bool on_device = false) {
  Graph graph = measured_resnet18(on_device);
  Measurement& m = graph.measurement;
  m.outside.assign(graph.scopes.size() * m.runs, 1'000);
  for (std::uint32_t run = 0; run < m.runs; ++run) m.outside[kSleepy * m.runs + run] = 1'000'000'000 + run;
  m.lines = {
      {.scope = kSleepy, .after = 1, .before = 2, .source = "/me/model.py:14", .count = 1, .time = 990'000},
      {.scope = kSleepy, .after = 2, .before = 3, .source = "/me/model.py:15", .count = 1, .time = 10'000}};
  graph.verify();
  return graph;
}

TEST(HostTime, OfModulesAddsUp) {
  const Graph graph = with_sleep();
  const Profile profile = make_profile(graph);
  const auto& rows = profile.modules();
  EXPECT_EQ(rows[0].metrics.wall_time, profile.totals.wall_time);
  EXPECT_EQ(rows[0].metrics.outside_time, profile.totals.outside_time);
  EXPECT_EQ(profile.totals.wall_time, profile.totals.time + profile.totals.outside_time);
  Count own;
  for (const Metrics& of : own_metrics(profile)) own += of.wall_time;
  EXPECT_EQ(own, profile.totals.wall_time);
  const ModuleId sleepy = graph.scopes[kSleepy].module;
  for (const ModuleRow& row : rows)
    if (row.module == sleepy) {
      EXPECT_GE(row.metrics.outside_seconds(), 1.0);
    }
}

TEST(HostTime, OnADeviceIsOfTheHostsClock) {
  const Graph graph = with_sleep(true);
  const Profile profile = make_profile(graph);
  Count host;
  for (OpId op = 0; op < graph.ops.size(); ++op) host += host_time_of(graph, profile.costs, op);
  EXPECT_EQ(profile.totals.wall_time, host + profile.totals.outside_time);
  EXPECT_NE(host, profile.totals.time);
}

TEST(HostTime, IsUnknownWhereItWasNotMeasured) {
  const Graph graph = measured_resnet18(false);
  const Profile profile = make_profile(graph);
  EXPECT_FALSE(has_wall(profile));
  EXPECT_FALSE(amount_of(metric_at("wall_seconds"), costs_of(profile, profile.totals)));
  EXPECT_TRUE(host_time(profile).lines.empty());
  EXPECT_THROW(make_icicle(profile, {.metric = &metric_at("wall_seconds")}), Error);
}

TEST(HostTime, NamesTheLineThatTakesLongestFirst) {
  const Graph graph = with_sleep();
  const Profile profile = make_profile(graph);
  const HostTime host = host_time(profile);
  ASSERT_FALSE(host.lines.empty());
  EXPECT_EQ(host.lines[0].source, "/me/model.py:14");
  EXPECT_NEAR(host.lines[0].seconds, 0.99, 1e-6);
  EXPECT_TRUE(is_long_gap(host, host.lines[0]));
  const WhereTimeGoes where = where_time_goes(profile, OpTimes(profile));
  ASSERT_FALSE(where.findings.empty());
  EXPECT_EQ(where.findings[0].kind, FindingKind::kHost);
  EXPECT_EQ(where.findings[0].name, "/me/model.py:14");
  EXPECT_NEAR(where.idle, profile.totals.outside_seconds(), 1e-12);
}

TEST(HostTime, OfEqualLinesInSeveralModulesIsOneRow) {
  Graph graph = with_sleep();
  Measurement& m = graph.measurement;
  m.lines.push_back({.scope = 5, .source = "/me/model.py:14", .count = 2, .time = 1'000});
  const Profile profile = make_profile(graph);
  const OutsideRow row = host_time(profile).lines[0];
  EXPECT_EQ(row.modules, 2u);
  EXPECT_EQ(row.count, 3u);
  EXPECT_EQ(row.module, graph.scopes[kSleepy].module);
}

TEST(HostTime, WithoutLinesNamesTheModule) {
  Graph graph = with_sleep();
  graph.measurement.lines.clear();
  const Profile profile = make_profile(graph);
  const HostTime host = host_time(profile);
  EXPECT_TRUE(host.lines[0].source.empty());
  EXPECT_EQ(host.lines[0].module, graph.scopes[kSleepy].module);
}

TEST(HostTime, IsInTheIcicle) {
  const Graph graph = with_sleep();
  const Profile profile = make_profile(graph);
  const IciclePlot plot = make_icicle(profile, {.metric = &metric_at("wall_seconds"), .fold = false});
  EXPECT_EQ(plot.total, profile.totals.wall_time);
  const auto slice = std::ranges::max_element(
      plot.slices, {}, [](const IcicleSlice& s) { return s.is_outside ? s.share : 0.0; });
  EXPECT_TRUE(slice->is_outside);
  EXPECT_GE(slice->share, 0.9);
}

// --- a device's gaps, on runs made by hand; seconds

using Steps = std::vector<DeviceStep>;

TEST(DeviceGaps, AreNoneWhereTheHostIsAhead) {
  const DeviceGaps gaps = device_gaps(Steps{{0, 1, 0, 10}, {1, 2, 10, 20}, {2, 3, 20, 30}});
  EXPECT_DOUBLE_EQ(gaps.busy, 30);
  EXPECT_DOUBLE_EQ(gaps.host_late, 0);
  EXPECT_DOUBLE_EQ(gaps.waiting, 0);
  EXPECT_DOUBLE_EQ(gaps.at_end, 27);
}

TEST(DeviceGaps, AreTheHostsWhereItIsLate) {
  const DeviceGaps gaps = device_gaps(Steps{{0, 1, 1, 2}, {5, 6, 6, 7}, {9, 10, 10, 12}});
  EXPECT_DOUBLE_EQ(gaps.busy, 4);
  EXPECT_DOUBLE_EQ(gaps.host_late, 1 + 4 + 3);
  EXPECT_DOUBLE_EQ(gaps.after_wait, 0);
  EXPECT_DOUBLE_EQ(gaps.at_end, 2);
}

// Op 1 reads a number: the host waits until the device has made it, and the device then for the host.
TEST(DeviceGaps, TellWaitingFromTheGapBehindIt) {
  const DeviceGaps gaps =
      device_gaps(Steps{{0, 1, 0, 20}, {1, 21, 0, 0, true}, {24, 25, 25, 30}, {25, 26, 30, 31}});
  EXPECT_DOUBLE_EQ(gaps.busy, 26);
  EXPECT_DOUBLE_EQ(gaps.waiting, 19);
  EXPECT_DOUBLE_EQ(gaps.host_late, 5);
  EXPECT_DOUBLE_EQ(gaps.after_wait, 5);
}

// A copy to the host has work on the device itself.
TEST(DeviceGaps, CountAWaitForTheOpsOwnWork) {
  const DeviceGaps gaps = device_gaps(Steps{{0, 1, 0, 10}, {2, 16, 10, 15, true}, {20, 21, 21, 22}});
  EXPECT_DOUBLE_EQ(gaps.waiting, 13);
  EXPECT_DOUBLE_EQ(gaps.after_wait, 6);
}

TEST(DeviceGaps, AWaitForAnIdleDeviceIsNone) {
  const DeviceGaps gaps = device_gaps(Steps{{0, 1, 0, 2}, {5, 6, 0, 0, true}, {7, 8, 8, 9}});
  EXPECT_DOUBLE_EQ(gaps.waiting, 0);
  EXPECT_DOUBLE_EQ(gaps.host_late, 6);
}

TEST(DeviceGaps, OfNothingAreNothing) { EXPECT_DOUBLE_EQ(device_gaps({}).busy, 0); }

}  // namespace
}  // namespace opscope::test
