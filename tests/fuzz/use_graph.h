// What every fuzz target does with a graph that its reader accepted: all the stages behind, without a fault.
#pragma once

#include <algorithm>

#include "analyse/profile/profile.h"
#include "cost/liveness.h"
#include "fuzz/accepted.h"
#include "graph/graph.h"
#include "readers/capture/capture_reader.h"
#include "report/core/document.h"

namespace opscope {

// Reports repeat what the profile holds: their text grows with ops times paths, so the slow ones see small
// graphs only.
inline void use(const Graph& graph) {
  constexpr std::size_t kMostOpsForText = 200;
  const auto written = write_json(graph);
  require(written == write_json(read_capture(written, "rewritten")));
  require(memory_timeline(graph).alive.size() == graph.ops.size());
  require(node_timeline(graph).size() == graph.nodes.size());
  constexpr PartId kMostParts = 20;  // each goes over the whole graph
  for (PartId part = 0; part < std::min<std::size_t>(graph.parts.size(), kMostParts); ++part)
    part_of(graph, part).verify();
  const auto profile = make_profile(graph);
  require(!to_json(profile).empty());
  if (graph.ops.size() > kMostOpsForText) return;
  require(!to_format(profile, Format::kText).empty());
  require(!to_format(profile, Format::kCsv).empty());
  require(!to_format(profile, Format::kMarkdown).empty());
}

}  // namespace opscope
