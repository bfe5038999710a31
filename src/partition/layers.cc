// Each call of a leaf module is a group, and so is each op that another module ran itself.
#include <array>

#include "partition/groups.h"

namespace opscope {
namespace {

std::vector<char> leaf_scopes(const Graph& graph) {
  std::vector<char> is_leaf(graph.scopes.size(), 1);
  for (const Scope& scope : graph.scopes)
    if (scope.parent != kNone) is_leaf[scope.parent] = 0;
  is_leaf[0] = 0;  // ops of a model without modules are layers of their own
  return is_leaf;
}

}  // namespace

void group_layers(Groups& groups) {
  const auto is_leaf = leaf_scopes(groups.graph);
  std::vector<OpId> last(groups.graph.scopes.size(), kNone);  // by scope: its last op that does work
  for (OpId op = 0; op < groups.graph.ops.size(); ++op) {
    const ScopeId scope = groups.graph.ops[op].scope;
    if (groups.flow.works[op] == 0) {
      groups.ride(op);
      continue;
    }
    const OpId earlier = last[scope];
    last[scope] = op;
    if (earlier == kNone || is_leaf[scope] == 0) continue;
    const std::array<GroupId, 2> both{groups.order.group_of(earlier), groups.order.group_of(op)};
    Loop together = groups.loops[both[0]];
    ++together.working;
    if (groups.fits(both, together)) groups.merge(both, together);
  }
}

}  // namespace opscope
