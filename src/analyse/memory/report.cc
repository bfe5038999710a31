// What is held at the peak, who made it, and the peak of each phase.
#include <algorithm>

#include "analyse/memory/advice.h"
#include "analyse/memory/memory.h"
#include "analyse/profile/rollup.h"
#include "graph/graph.h"

namespace opscope {
namespace {

std::vector<std::uint32_t> held_at_peak(const MemoryReport& report) {
  const auto ops = report.graph().ops.size();
  const OpId peak = report.timeline().peak_op;
  std::vector<std::uint32_t> held;
  for (std::uint32_t i = 0; i < report.pieces.size() && peak != kNone; ++i) {
    const auto& piece = report.pieces[i];
    if (piece.kind == MemoryKind::kWeights || !piece.in_use || !piece.bytes) continue;
    if (piece.first_op() <= peak && peak <= piece.last_op(ops)) held.push_back(i);
  }
  std::ranges::stable_sort(held, std::greater{}, [&](std::uint32_t i) { return report.pieces[i].bytes; });
  return held;
}

std::vector<MemoryOwner> owners_of(const MemoryReport& report) {
  const Graph& graph = report.graph();
  std::vector<MemoryOwner> rows;
  const auto row_of = rows_of_modules(report.profile->modules());
  for (const auto& row : report.profile->modules())
    rows.push_back({.module = row.module, .depth = row.depth});
  // What was allocated before the run has no op that made it: it is the caller's, and stands with the root.
  const auto hold = [&](OpId maker, Count bytes) -> MemoryOwner& {
    auto& row = rows[row_of[maker == kNone ? 0 : graph.scopes[graph.ops[maker].scope].module]];
    row.own_held += bytes, row.held += bytes;
    return row;
  };
  for (const auto i : report.held) ++hold(report.pieces[i].held.made, report.pieces[i].bytes).pieces;
  if (const OpId peak = report.timeline().peak_op; peak != kNone)
    hold(peak, Count{graph.ops[peak].workspace});
  std::vector<char> is_counted(graph.storages.size());
  for (const auto& owned : graph.owned) {
    const auto storage = graph.values[owned.value].storage;
    if (storage != kNone && std::exchange(is_counted[storage], 1) != 0) continue;
    rows[row_of[owned.module]].weights +=
        storage == kNone ? bytes_of(graph, graph.values[owned.value]) : Count{graph.storages[storage].bytes};
  }
  for (std::size_t r = rows.size(); r-- > 1;) {
    auto& parent = rows[row_of[graph.modules[rows[r].module].parent]];
    parent.held += rows[r].held;
    parent.weights += rows[r].weights;
    parent.pieces += rows[r].pieces;
  }
  return rows;
}

}  // namespace

std::string_view layer_name(const Profile& profile, OpId op) {
  return profile.layers()[profile.layer_of()[op]].name;
}

std::vector<MemoryPhase> memory_phases(const Graph& graph, const MemoryTimeline& timeline) {
  const auto ops = static_cast<OpId>(graph.ops.size());
  std::vector<MemoryPhase> phases;
  for (std::size_t i = 0; i < graph.phases.size(); ++i)
    phases.push_back(
        {.name = graph.phases[i].name, .begin = graph.phases[i].begin, .end = phase_end(graph, i)});
  if (phases.empty()) phases.push_back({.name = "forward", .begin = 0, .end = ops});
  for (auto& phase : phases) {
    if (phase.begin == phase.end) continue;
    const auto begin = timeline.alive.begin();
    phase.peak_op = static_cast<OpId>(std::max_element(begin + phase.begin, begin + phase.end) - begin);
    phase.peak = timeline.alive[phase.peak_op];
  }
  return phases;
}

MemoryReport make_memory_report(const Profile& profile, const MemoryOptions& options) {
  MemoryReport report;
  report.profile = &profile;
  const Graph& graph = *profile.graph;
  report.pieces = memory_pieces(graph);
  report.splits = memory_splits(graph, report.pieces);
  report.held = held_at_peak(report);
  report.kv_step = kv_step(profile, report.pieces);
  report.owners = owners_of(report);
  report.phases = memory_phases(graph, profile.memory());
  for (auto& phase : report.phases)
    if (phase.peak_op != kNone) phase.at_peak = report.splits[phase.peak_op];
  report.is_training = std::ranges::any_of(graph.phases, [](const Phase& p) { return p.name == "backward"; });
  report.lifetimes_told = !graph.lifetimes.empty();
  report.is_advised = options.advice;
  if (options.advice) advise(report);
  return report;
}

}  // namespace opscope
