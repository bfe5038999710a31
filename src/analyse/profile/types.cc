// Op types: the breakdown of the model by what its ops are.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analyse/profile/rollup.h"

namespace opscope {

std::string_view op_type(std::string_view op_name) {
  std::string_view type = short_op_name(op_name);
  if (type.size() > 1 && type.ends_with('_') && !type.ends_with("__")) type.remove_suffix(1);
  return type;
}

OpTypes::OpTypes(const Graph& graph) {
  std::unordered_map<std::string_view, std::uint32_t> ids;
  of_target.reserve(graph.targets.size());
  for (const Target& target : graph.targets) {
    const std::string_view type = op_type(graph.text(target.name));
    const auto [found, added] = ids.try_emplace(type, static_cast<std::uint32_t>(names.size()));
    if (added) names.push_back(type);
    of_target.push_back(found->second);
  }
}

std::vector<TypeRow> type_rows(const Graph& graph, const std::vector<OpCost>& costs) {
  const OpTypes types(graph);
  std::vector<TypeRow> rows(types.names.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    TypeRow& row = rows[types.of_target[graph.ops[i].target]];
    row.metrics += costs[i];
    if (costs[i].rule) row.category = costs[i].rule->category;
  }
  for (std::size_t t = 0; t < rows.size(); ++t) rows[t].type = types.names[t];
  std::erase_if(rows, [](const TypeRow& row) { return row.metrics.ops == 0; });
  std::ranges::sort(rows, [](const TypeRow& a, const TypeRow& b) {
    return std::tuple(b.metrics.flops, b.metrics.memory_bytes(), std::string_view(a.type)) <
           std::tuple(a.metrics.flops, a.metrics.memory_bytes(), std::string_view(b.type));
  });
  return rows;
}

}  // namespace opscope
