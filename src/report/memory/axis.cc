// Ops in a row, cut where the module call changes.
#include "report/memory/axis.h"

#include <algorithm>

#include "graph/scopes.h"

namespace opscope {
namespace {

class Segments {
 public:
  Segments(const Graph& graph, const std::vector<MemoryPhase>& phases, double share)
      : graph_(graph), most_(static_cast<double>(graph.ops.size()) * share), depth_(scope_depths(graph)) {
    for (const auto& phase : phases) split(phase.begin, phase.end, 1);
  }
  std::vector<AxisSegment> found;

 private:
  // The call at that depth which an op is in; kNone for an op of a call above.
  ScopeId ancestor(OpId op, std::uint32_t depth) const {
    ScopeId scope = graph_.ops[op].scope;
    if (depth_[scope] < depth) return kNone;
    while (depth_[scope] > depth) scope = graph_.scopes[scope].parent;
    return scope;
  }

  // An op between two calls joins the one before it.
  void split(OpId begin, OpId end, std::uint32_t depth) {
    for (OpId first = begin; first < end;) {
      ScopeId scope = ancestor(first, depth);
      OpId last = first + 1;
      for (; last < end; ++last) {
        const ScopeId next = ancestor(last, depth);
        if (scope == kNone) scope = next;
        if (next != kNone && next != scope) break;
      }
      if (scope != kNone && last - first > most_ && is_split(first, last, depth + 1))
        split(first, last, depth + 1);
      else
        found.push_back({first, last, scope == kNone ? "" : label_of(scope)});
      first = last;
    }
  }
  bool is_split(OpId begin, OpId end, std::uint32_t depth) const {
    ScopeId first = kNone;
    for (OpId op = begin; op < end; ++op) {
      const ScopeId scope = ancestor(op, depth);
      if (scope == kNone) continue;
      if (first != kNone && scope != first) return true;
      first = scope;
    }
    return false;
  }

  std::string label_of(ScopeId scope) const {
    const auto path = graph_.path(graph_.modules[graph_.scopes[scope].module]);
    const auto above = graph_.path(graph_.modules[graph_.scopes[graph_.scopes[scope].parent].module]);
    const bool is_below =
        !above.empty() && path.size() > above.size() && path.starts_with(above) && path[above.size()] == '.';
    return std::string(is_below ? path.substr(above.size() + 1) : path);
  }

  const Graph& graph_;
  double most_;
  std::vector<std::uint32_t> depth_;  // by scope
};

}  // namespace

std::vector<AxisSegment> axis_segments(const MemoryReport& report, double share) {
  return Segments(report.graph(), report.phases, share).found;
}

std::vector<OpId> column_ops(const MemoryReport& report, std::size_t columns) {
  const auto& alive = report.timeline().alive;
  std::vector<OpId> result;
  for (std::size_t c = 0; c < columns && !alive.empty(); ++c) {
    const auto first = c * alive.size() / columns;
    const auto end = std::max(first + 1, (c + 1) * alive.size() / columns);
    const auto begin = alive.begin();
    result.push_back(static_cast<OpId>(std::max_element(begin + static_cast<std::ptrdiff_t>(first),
                                                        begin + static_cast<std::ptrdiff_t>(end)) -
                                       begin));
  }
  return result;
}

std::vector<MemoryKind> kinds_in_use(const MemoryReport& report) {
  std::vector<MemoryKind> kinds;
  for (const auto kind : kStacking)
    if (std::ranges::any_of(report.splits,
                            [&](const MemorySplit& split) { return static_cast<bool>(split[kind]); }))
      kinds.push_back(kind);
  return kinds;
}

}  // namespace opscope
