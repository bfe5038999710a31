// Totals over the nodes of a Profiler's graph.
#include <algorithm>
#include <map>

#include "analyse/times/profiler_graph.h"

namespace opscope {
namespace {

// The mean of the two in the middle where their number is even.
Count median(std::vector<Count> times) {
  if (times.empty()) return {};
  std::ranges::sort(times);
  const std::size_t half = times.size() / 2;
  if (times.size() % 2 == 1) return times[half];
  return Count{times[half - 1].value() / 2 + times[half].value() / 2};
}

std::vector<ProfilerType> types_of(const ProfilerGraph& graph) {
  std::map<std::string_view, ProfilerType> by_name;
  for (const ProfilerNode& node : graph.nodes) {
    ProfilerType& type = by_name[node.type];
    type.type = node.type;
    ++type.nodes;
    type.time += node.time.value_or(Count{});
  }
  std::vector<ProfilerType> types;
  for (const auto& [name, type] : by_name) types.push_back(type);
  std::ranges::stable_sort(types, std::ranges::greater{}, &ProfilerType::time);
  return types;
}

Count run_time(const Measurement& measured) {
  if (measured.empty() || measured.timed.empty()) return {};
  return Count{measured.timed[measured.typical]} * Count{1000};  // nanoseconds
}

}  // namespace

ProfilerStats profiler_stats(const ProfilerGraph& graph) {
  ProfilerStats stats{.nodes = graph.nodes.size(), .edges = graph.edges.size()};
  stats.parameters = graph.profile->parameters;
  std::vector<Count> times;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    stats.ops += graph.nodes[n].ops;
    if (!graph.nodes[n].time) continue;
    times.push_back(*graph.nodes[n].time);
    stats.time += times.back();
    if (stats.longest && times.back() <= stats.max_time) continue;
    stats.longest = n;
    stats.max_time = times.back();
  }
  if (!times.empty()) stats.mean_time = Count{stats.time.value() / times.size()};
  stats.median_time = median(std::move(times));
  stats.run_time = run_time(graph.profile->graph->measurement);
  stats.types = types_of(graph);
  return stats;
}

}  // namespace opscope
