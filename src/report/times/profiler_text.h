// The text files of opscope.Profiler, and the totals that its graphs print: for people, aligned, nothing cut.
#pragma once

#include <string>
#include <string_view>

#include "analyse/times/profiler_graph.h"

namespace opscope {

struct ProfilerTextOptions {
  bool include_edges = true;
  bool include_stats = true;
  std::string_view tokens{};  // name of the input that carries the tokens; "" where there is none
};

// Everything about a graph: what ran where, nodes, inputs and outputs, edges, statistics.
std::string profiler_text(const ProfilerGraph& graph, const ProfilerTextOptions& options);

// The statistics alone.
std::string profiler_stats_text(const ProfilerGraph& graph);

}  // namespace opscope
