// Totals of a graph by way of the cost table's own rows, for tests of readers.
#pragma once

#include <set>

#include "graph/graph.h"
#include "ops/op_call.h"
#include "ops/op_rule.h"
#include "readers/files/model_file.h"
#include "readers/files/zip_archive.h"

namespace opscope {

inline std::int64_t macs_of(const Graph& graph) {
  OpCall call(graph);
  Count total;
  for (const auto& op : graph.ops) {
    call.reset(op);
    const auto* rule = find_rule(call.name());
    const auto work = rule != nullptr ? rule->work(call) : std::nullopt;
    if (work) total += work->macs;
  }
  return static_cast<std::int64_t>(total.value());
}

inline int unknown_ops(const Graph& graph) {
  OpCall call(graph);
  int unknown = 0;
  for (const auto& op : graph.ops) {
    call.reset(op);
    const auto* rule = find_rule(call.name());
    if (rule == nullptr || !rule->work(call)) ++unknown;
  }
  return unknown;
}

inline std::int64_t parameters_of(const Graph& graph) {
  std::set<ValueId> seen;
  Count total;
  for (const auto& entry : graph.owned)
    if (graph.values[entry.value].kind == ValueKind::kParameter && seen.insert(entry.value).second)
      total += numel(graph.shape(graph.values[entry.value]));
  return static_cast<std::int64_t>(total.value());
}

}  // namespace opscope
