// How fast the core is, by stage and by size: items are ops, so items_per_second is ops a second. Each stage
// ends with its fit to N, and how far from it the sizes are.
#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "analyse/profile/profile.h"
#include "base/files.h"
#include "cost/cost.h"
#include "graph/graph.h"
#include "partition/partition.h"
#include "readers/capture/capture_reader.h"
#include "report/profile/sections.h"
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
  auto text = write_json(graph);
  text.reserve(text.size() + kReadPadding);
  for (auto _ : state) benchmark::DoNotOptimize(read_padded_capture(text, "bench"));
  finish(state, graph.ops.size(), text.size());
}

// Texts go to a file or a pipe block by block, as --output writes them.
void write(benchmark::State& state) {
  const auto& graph = graph_of(state);
  std::size_t bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    write_json(graph, [&](std::string_view block) { bytes += block.size(); });
  }
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

// From a graph in memory to what `profile(model).totals` reads: the cost of every op, and their sum.
void totals(benchmark::State& state) {
  const auto& graph = graph_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(make_profile(graph).totals);
  finish(state, graph.ops.size());
}

// The same, and the rows that a table shows: layers, modules and op types.
void rows(benchmark::State& state) {
  const auto& graph = graph_of(state);
  for (auto _ : state) {
    const Profile made = make_profile(graph);
    benchmark::DoNotOptimize(made.layers().size() + made.modules().size() + made.types().size());
  }
  finish(state, graph.ops.size());
}

// All that a profile can tell.
void profile(benchmark::State& state) {
  const auto& graph = graph_of(state);
  for (auto _ : state) {
    const Profile made = make_profile(graph);
    benchmark::DoNotOptimize(made.layers().size() + made.types().size() + made.partition().subgraphs.size() +
                             made.memory().peak_memory_bytes().value() + made.bottlenecks().over_100.ops);
  }
  finish(state, graph.ops.size());
}

void json(benchmark::State& state) {
  const auto& graph = graph_of(state);
  const auto made = make_profile(graph);
  std::size_t bytes = 0;
  const TextSink sink = [&](std::string_view block) { bytes += block.size(); };
  const auto write = [&] {
    bytes = 0;
    std::string rest;
    JsonWriter writer(rest, sink);
    write_profile(writer, made);
    sink(rest);
  };
  write();  // makes the profile's views, which are another stage's
  for (auto _ : state) write();
  finish(state, graph.ops.size(), bytes);
}

// Warmed up, and for so long that the largest run several times: one run is at the mercy of the memory that
// the system finds for it.
void sizes(benchmark::internal::Benchmark* stage) {
  stage->MinWarmUpTime(0.5)
      ->MinTime(2)
      ->RangeMultiplier(10)
      ->Range(100, 1'000'000)
      ->Complexity(benchmark::oN)
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(read)->Apply(sizes);
BENCHMARK(write)->Apply(sizes);
BENCHMARK(verify)->Apply(sizes);
BENCHMARK(cost)->Apply(sizes);
BENCHMARK(partition)->Apply(sizes);
BENCHMARK(totals)->Apply(sizes);
BENCHMARK(rows)->Apply(sizes);
BENCHMARK(profile)->Apply(sizes);
BENCHMARK(json)->Apply(sizes);

}  // namespace
}  // namespace opscope::bench

BENCHMARK_MAIN();
