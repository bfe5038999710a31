// How fast the core is, by stage and by size: items are ops, so items_per_second is ops a second. Each stage
// ends with its fit to N, and how far from it the sizes are.
#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "analyse/profile/profile.h"
#include "cost/cost.h"
#include "graph/writer.h"
#include "partition/partition.h"
#include "readers/capture/capture_reader.h"
#include "report/core/report.h"
#include "synthetic.h"

namespace opscope::bench {
namespace {

// Made once a size and kept: making a million ops takes longer than most of what is measured.
const Graph& graph_of(const benchmark::State& state) {
  static std::map<std::int64_t, Graph> graphs;
  const auto size = state.range(0);
  const auto found = graphs.find(size);
  if (found != graphs.end()) return found->second;
  return graphs.emplace(size, synthetic_model(static_cast<std::size_t>(size))).first->second;
}

void finish(benchmark::State& state, std::size_t ops, std::size_t bytes = 0) {
  const auto runs = static_cast<std::int64_t>(state.iterations());
  state.SetItemsProcessed(runs * static_cast<std::int64_t>(ops));
  if (bytes != 0) state.SetBytesProcessed(runs * static_cast<std::int64_t>(bytes));
  state.SetComplexityN(state.range(0));
}

void read(benchmark::State& state) {
  const auto& graph = graph_of(state);
  const auto text = write_json(graph);
  for (auto _ : state) benchmark::DoNotOptimize(read_capture(text, "bench"));
  finish(state, graph.ops.size(), text.size());
}

void write(benchmark::State& state) {
  const auto& graph = graph_of(state);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = write_json(graph).size();
  finish(state, graph.ops.size(), bytes);
}

void verify(benchmark::State& state) {
  const auto& graph = graph_of(state);
  for (auto _ : state) graph.verify();
  finish(state, graph.ops.size());
}

void cost(benchmark::State& state) {
  const auto& graph = graph_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(estimate(graph, Convention::kOpscope));
  finish(state, graph.ops.size());
}

void partition(benchmark::State& state) {
  const auto& graph = graph_of(state);
  const auto costs = estimate(graph, Convention::kOpscope);
  for (auto _ : state) benchmark::DoNotOptimize(make_partition(graph, costs));
  finish(state, graph.ops.size());
}

// From a graph in memory to a complete profile: cost and every roll-up.
void profile(benchmark::State& state) {
  const auto& graph = graph_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(make_profile(graph));
  finish(state, graph.ops.size());
}

void json(benchmark::State& state) {
  const auto& graph = graph_of(state);
  const auto made = make_profile(graph);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = to_json(made).size();
  finish(state, graph.ops.size(), bytes);
}

void sizes(benchmark::internal::Benchmark* stage) {
  stage->RangeMultiplier(10)->Range(100, 1'000'000)->Complexity(benchmark::oN)->Unit(benchmark::kMicrosecond);
}
BENCHMARK(read)->Apply(sizes);
BENCHMARK(write)->Apply(sizes);
BENCHMARK(verify)->Apply(sizes);
BENCHMARK(cost)->Apply(sizes);
BENCHMARK(partition)->Apply(sizes);
BENCHMARK(profile)->Apply(sizes);
BENCHMARK(json)->Apply(sizes);

}  // namespace
}  // namespace opscope::bench

BENCHMARK_MAIN();
