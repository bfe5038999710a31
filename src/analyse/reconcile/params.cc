// Why another tool has another number of parameters: each candidate is worked out, and said where it is the
// difference to the last one.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyse/reconcile/ledger.h"
#include "base/text.h"

namespace opscope {
namespace {

// A tied one under each of its names.
Count under_every_name(const Graph& graph) {
  Count sum;
  for (const Owned& owned : graph.owned)
    if (graph.values[owned.value].kind == ValueKind::kParameter)
      sum += numel(graph.shape(graph.values[owned.value]));
  return sum;
}

// Of the modules that the tool has a number for, and of those below them.
Count of_counted_modules(const Graph& graph, const PeerAnswer& answer) {
  std::set<std::string_view> paths;
  for (const PeerCount& count : answer.counts)
    if (count.count) paths.insert(count.module);
  std::set<ValueId> seen;
  Count sum;
  for (const Owned& owned : graph.owned) {
    bool counted = false;
    for (ModuleId id = owned.module; id != kNone && !counted; id = graph.modules[id].parent)
      counted = paths.contains(graph.path(graph.modules[id]));
    if (counted && graph.values[owned.value].kind == ValueKind::kParameter && seen.insert(owned.value).second)
      sum += numel(graph.shape(graph.values[owned.value]));
  }
  return sum;
}

bool calls_any_again(const Profile& profile) {
  return std::ranges::any_of(profile.modules, [](const ModuleRow& row) { return row.calls > 1; });
}

}  // namespace

std::string explain_params(const Profile& profile, const PeerAnswer& answer) {
  const Count ours = profile.parameters.total;
  if (!answer.params || Count{*answer.params} == ours) return "";
  const Count theirs{*answer.params};
  const Graph& graph = *profile.graph;
  if (theirs == profile.parameters.trainable) return "frozen parameters are left out";
  if (theirs == under_every_name(graph)) return "tied parameters are counted under each of their names";
  if (theirs == of_counted_modules(graph, answer))
    return fmt::format("{} parameters of modules that it has no rule for are left out",
                       format_exact(ours - theirs));
  if (theirs < ours)
    return fmt::format("{} parameters are left out: those that it meets in no module it looks at",
                       format_exact(ours - theirs));
  return fmt::format("{} parameters are counted again: {}", format_exact(theirs - ours),
                     calls_any_again(profile) ? "of modules that are called more than once"
                                              : "tied ones, or those of modules inside a counted one");
}

}  // namespace opscope
