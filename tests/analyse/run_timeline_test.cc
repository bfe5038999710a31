// Every slice inside the one around it, whatever the clocks said.
#include <gtest/gtest.h>

#include <random>

#include "analyse/measured_models.h"
#include "analyse/times/times.h"
#include "base/error.h"

namespace opscope {
namespace {

// Slices by begin, each inside the last one of a smaller depth, and siblings one after the other.
void expect_nested(const std::vector<TimelineSlice>& lane) {
  std::vector<TimelineSlice> around;
  Nanoseconds last = 0;
  for (const TimelineSlice& slice : lane) {
    ASSERT_LE(slice.begin, slice.end);
    ASSERT_LE(last, slice.begin);
    last = slice.begin;
    ASSERT_LE(slice.depth, around.size());
    if (slice.depth < around.size()) {
      ASSERT_LE(around[slice.depth].end, slice.begin);  // the sibling before it
    }
    around.resize(slice.depth);
    if (!around.empty()) {
      ASSERT_LE(around.back().begin, slice.begin);
      ASSERT_GE(around.back().end, slice.end);
      ASSERT_FALSE(around.back().is_op);
    }
    around.push_back(slice);
  }
}

TEST(RunTimeline, OpsAreInTheirModules) {
  const Graph graph = test::measured_resnet18(false);
  const RunTimeline run = run_timeline(graph);
  expect_nested(run.host);
  EXPECT_EQ(run.host.size(), graph.ops.size() + graph.scopes.size());
  EXPECT_TRUE(run.device.empty());
  EXPECT_TRUE(run.phases.empty());
  const auto depths = scope_depths(graph);
  for (const TimelineSlice& slice : run.host) {
    if (slice.is_op) {
      EXPECT_EQ(slice.depth, depths[graph.ops[slice.id].scope] + 1);
      EXPECT_EQ(slice.end - slice.begin, 60 + slice.id);
    } else {
      EXPECT_EQ(slice.depth, depths[slice.id]);
    }
  }
}

TEST(RunTimeline, ABackwardPassHasModulesOfItsOwn) {
  Graph graph = test::measured_training_step(true);
  // Autograd runs them in the name of the modules whose gradients they make.
  for (OpId op = 5; op < 9; ++op) graph.ops[op].scope = graph.ops[8 - op].scope;
  const RunTimeline run = run_timeline(graph);
  expect_nested(run.host);
  ASSERT_EQ(run.phases.size(), 3u);
  EXPECT_EQ(run.phases[0].end, run.phases[1].begin);
  EXPECT_EQ(run.phases[1].end, run.phases[2].begin);
  std::size_t in_backward = 0;
  for (const TimelineSlice& slice : run.host) in_backward += !slice.is_op && slice.phase == 1;
  EXPECT_EQ(in_backward, 1u + 2 + 4);  // the root, two blocks, four convolutions
  std::size_t ops = 0;
  for (const TimelineSlice& slice : run.host) ops += slice.is_op;
  EXPECT_EQ(ops, graph.ops.size());
}

TEST(RunTimeline, DeviceSlicesAreTheSamples) {
  const Graph graph = test::measured_resnet18(true);
  const RunTimeline run = run_timeline(graph);
  expect_nested(run.device);
  Nanoseconds drawn = 0, sampled = 0;
  for (const TimelineSlice& slice : run.device) drawn += slice.end - slice.begin;
  for (OpId op = 0; op < graph.ops.size(); ++op) sampled += graph.measurement.device[op * 3 + 2];
  EXPECT_EQ(drawn, sampled);
}

// A device whose clock is behind the host's: nothing begins there before its call, and nothing is cut short.
TEST(RunTimeline, TheDeviceNeverRunsAheadOfTheHost) {
  Graph graph = test::measured_resnet18(true);
  Measurement& m = graph.measurement;
  for (Nanoseconds& time : m.device_begin) time -= 1100;
  for (Nanoseconds& time : m.device) time *= 4;
  const RunTimeline run = run_timeline(graph);
  expect_nested(run.device);
  ASSERT_FALSE(run.device.empty());
  for (const TimelineSlice& slice : run.device) {
    EXPECT_GE(slice.begin, m.host_begin[slice.id]);
    EXPECT_EQ(slice.end - slice.begin, m.device[slice.id * 3 + 2]);
  }
}

TEST(RunTimeline, ClocksThatDisagreeStillNest) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Graph graph = seed % 2 == 0 ? test::measured_training_step(true) : test::measured_resnet18(true);
    Measurement& m = graph.measurement;
    for (auto* times : {&m.host, &m.device, &m.scopes, &m.host_begin, &m.device_begin, &m.scope_begin})
      for (Nanoseconds& time : *times) time = random() % 40 == 0 ? kUnmeasured : time / 2 + random() % 300;
    const RunTimeline run = run_timeline(graph);
    expect_nested(run.host);
    expect_nested(run.device);
    expect_nested(run.phases);
  }
}

TEST(RunTimeline, TimesAtTheEndOfTheClock) {
  Graph graph = test::measured_training_step(true);
  for (Nanoseconds& time : graph.measurement.host) time = kUnmeasured - 1;
  for (Nanoseconds& time : graph.measurement.device_begin) time = kUnmeasured - 2;
  const RunTimeline run = run_timeline(graph);
  expect_nested(run.host);
  expect_nested(run.device);
}

TEST(RunTimeline, NothingToLayOutIsAnError) {
  EXPECT_THROW(run_timeline(test::training_step()), Error);
  Graph graph = test::measured_training_step(false);
  graph.measurement.host_begin.clear();
  EXPECT_THROW(run_timeline(graph), Error);
}

}  // namespace
}  // namespace opscope
