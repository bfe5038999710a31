#include "analyse/times/repeated_ops.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/seconds.h"
#include "graph/signature.h"
#include "ops/replay_plan.h"

namespace opscope {

RepeatedOps repeated_ops(const Profile& profile) {
  const Graph& graph = *profile.graph;
  const auto& alone = graph.measurement.repeated;
  RepeatedOps result;
  std::unordered_map<std::string, std::size_t> known;
  for (OpId id = 0; id < alone.size(); ++id) {
    const auto& op = graph.ops[id];
    const double in_model = static_cast<double>(profile.costs[id].time.value()) * kPicosecond;
    if (alone[id] == kUnmeasured) {
      if (does_no_work(graph, op)) continue;
      ++result.other_calls, result.other_seconds += in_model;
      continue;
    }
    auto signature = signature_of(graph, op);
    const auto [slot, fresh] = known.try_emplace(signature, result.rows.size());
    if (fresh) result.rows.push_back({std::move(signature), {}, seconds(alone[id]), 0});
    auto& row = result.rows[slot->second];
    row.ops.push_back(id), row.time_seconds += in_model;
    ++result.calls, result.alone_seconds += row.alone_seconds, result.time_seconds += in_model;
  }
  std::ranges::stable_sort(result.rows, std::greater{}, &RepeatedOp::time_seconds);
  return result;
}

}  // namespace opscope
