// Simulated plans against what the plan says of itself.
#include "plan/simulation/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "plan/planned/planned.h"
#include "plan/random_costs.h"

namespace opscope {
namespace {

CostGraph chain(std::size_t nodes, double seconds, double transfer) {
  CostGraph graph{.classes = {{.name = "a", .count = nodes, .memory_bytes = 1}}, .nodes = {}, .tensors = {}};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    graph.nodes.push_back({.id = std::int64_t{i}, .seconds = {seconds}, .bytes = 1});
    if (i + 1 < nodes) graph.tensors.push_back({.producer = i, .consumers = {i + 1}, .seconds = {transfer}});
  }
  return graph;
}

TEST(PlanSimulation, OneRunTakesItsLatency) {
  CostGraph graph = chain(4, 2, 0.5);
  const PlanAnswer answer = solve(graph, {.objective = PlanObjective::kLatency}, "test");
  const PlanSimulation alone = simulate(graph, answer.plan, {.in_flight = 1});
  EXPECT_DOUBLE_EQ(alone.first_seconds, 4 * 2 + 3 * 2 * 0.5);
  EXPECT_DOUBLE_EQ(alone.first_seconds, answer.value);
  EXPECT_DOUBLE_EQ(alone.period_seconds, answer.value);
  graph.point_to_point = true;
  const PlanAnswer hops = solve(graph, {.objective = PlanObjective::kLatency}, "test");
  EXPECT_DOUBLE_EQ(hops.value, 4 * 2 + 3 * 0.5);
  EXPECT_DOUBLE_EQ(simulate(graph, hops.plan, {.in_flight = 1}).first_seconds, hops.value);
}

TEST(PlanSimulation, ManyRunsComeAsFastAsTheSlowestDevice) {
  for (const bool overlap : {false, true}) {
    CostGraph graph = chain(5, 2, 0.25);
    graph.overlap = overlap;
    const PlanAnswer answer = solve(graph, {}, "test");
    const PlanSimulation run = simulate(graph, answer.plan, {.in_flight = 20});
    EXPECT_DOUBLE_EQ(answer.value, overlap ? 2 : 2.5);
    EXPECT_NEAR(run.period_seconds, answer.value, 1e-9);
    const PlanLimit limit = limit_of(graph, run);
    EXPECT_NEAR(limit.busy, 1, 1e-9);
    EXPECT_FALSE(limit.is_runs_in_flight);
    EXPECT_TRUE(limit_of(graph, simulate(graph, answer.plan, {.in_flight = 2})).is_runs_in_flight);
  }
}

// Nothing does two things at once, and no period beats the bound.
TEST(PlanSimulation, IsPossibleOnRandomGraphs) {
  std::mt19937 random(23);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    CostGraph graph = testing::random_costs(random, 9);
    graph.point_to_point = i % 2 == 0;
    PlanAnswer answer;
    try {
      answer = solve(graph, {}, "test");
    } catch (const Error&) {
      continue;
    }
    const PlanSimulation run = simulate(graph, answer.plan, {.in_flight = 3 * answer.plan.parts.size()});
    // Of a stretch of runs: at its ends one may be a little early or late.
    EXPECT_GE(run.period_seconds, answer.plan.figures.slowest_seconds * 0.98);
    for (std::uint32_t part = 0; part < answer.plan.parts.size(); ++part)
      for (const StageTask kind : {StageTask::kCompute, StageTask::kSend, StageTask::kReceive}) {
        double until = 0;
        for (const SimulatedTask& task : run.tasks) {
          if (task.part != part || (graph.overlap && task.kind != kind)) continue;
          EXPECT_GE(task.begin, until - 1e-9);
          until = std::max(until, task.end);
        }
      }
    for (std::size_t r = 0; r < run.ends.size(); ++r) EXPECT_GE(run.ends[r], run.begins[r]);
    if (HasFailure()) return;
  }
}

TEST(PlanChanges, ADeviceMoreHelpsWhatComputes) {
  const CostGraph graph = [] {
    CostGraph made = chain(4, 2, 0.25);
    made.classes[0].count = 2, made.classes[0].memory_bytes.reset();
    return made;
  }();
  const PlannedGraph planned = plan_graph(graph, {}, "test");
  EXPECT_DOUBLE_EQ(planned.answer.value, 4.25);
  ASSERT_FALSE(planned.changes.empty());
  EXPECT_EQ(planned.changes.front().what, "all links twice as fast");
  EXPECT_DOUBLE_EQ(planned.changes.front().value, 4.125);
}

}  // namespace
}  // namespace opscope
