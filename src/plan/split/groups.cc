// Groups by scope: all ops of a call at some depth, and one by one the ops of calls that are less deep.
#include "plan/split/groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/groups.h"

namespace opscope {
namespace {

std::string base_name(const Profile& profile, const std::vector<OpId>& ops, ScopeId scope) {
  const Graph& graph = *profile.graph;
  if (scope != kNone) {
    const std::string path(graph.path(graph.modules[graph.scopes[scope].module]));
    return path.empty() ? "model" : path;
  }
  const LayerRow& layer = profile.layers()[profile.layer_of()[ops.front()]];
  std::string name(layer.name);
  if (layer.is_module && layer.metrics.ops > 1)
    name += "/" + std::string(op_type(graph.op_name(graph.ops[ops.front()])));
  return name;
}

// By op the call at `depth` that it is in; kNone: it is in none so deep.
std::vector<ScopeId> scopes_at(const Graph& graph, const std::vector<std::uint32_t>& depths,
                               std::uint32_t depth) {
  std::vector<ScopeId> scopes;
  for (const Op& op : graph.ops) {
    ScopeId scope = op.scope;
    while (depths[scope] > depth) scope = graph.scopes[scope].parent;
    scopes.push_back(depths[scope] == depth ? scope : kNone);
  }
  return scopes;
}

std::size_t count_of(const std::vector<ScopeId>& scopes) {
  std::vector<ScopeId> all;
  std::size_t alone = 0;
  for (const ScopeId scope : scopes) scope == kNone ? static_cast<void>(++alone) : all.push_back(scope);
  sort_unique(all);
  return all.size() + alone;
}

}  // namespace

OpGroups grouped_ops(const Profile& profile, std::size_t most) {
  const Graph& graph = *profile.graph;
  std::vector<ScopeId> scopes(graph.ops.size(), kNone);
  OpGroups groups{.of_op = {}, .ops = {}, .names = {}, .is_coarse = graph.ops.size() > most};
  if (groups.is_coarse) {
    const std::vector<std::uint32_t> depths = scope_depths(graph);
    std::uint32_t depth = *std::ranges::max_element(depths);
    do scopes = scopes_at(graph, depths, depth);
    while (count_of(scopes) > most && depth-- > 0);
  }
  std::unordered_map<ScopeId, std::uint32_t> of_scope;
  std::vector<ScopeId> scope_of_group;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    auto group = static_cast<std::uint32_t>(groups.ops.size());
    if (scopes[op] != kNone) group = of_scope.try_emplace(scopes[op], group).first->second;
    if (group == groups.ops.size()) groups.ops.emplace_back(), scope_of_group.push_back(scopes[op]);
    groups.ops[group].push_back(op), groups.of_op.push_back(group);
  }
  std::map<std::string, std::uint32_t> used;
  for (std::size_t g = 0; g < groups.ops.size(); ++g) {
    std::string name = base_name(profile, groups.ops[g], scope_of_group[g]);
    if (const std::uint32_t count = ++used[name]; count > 1) name += "#" + std::to_string(count);
    groups.names.push_back(std::move(name));
  }
  return groups;
}

}  // namespace opscope
