// Which nodes a query means: numbers and names first, then conditions node by node.
#include "analyse/explore/explore.h"

#include <algorithm>
#include <ranges>

#include "analyse/profile/rollup.h"
#include "base/text.h"

namespace opscope {
namespace {

std::string all_nodes(const GraphView& view) {
  return view.nodes.empty() ? "the graph has no nodes"
                            : "nodes are numbered 1 to " + std::to_string(view.nodes.size());
}

std::uint32_t numbered(const GraphView& view, std::uint64_t number, const char* flag) {
  if (number >= 1 && number <= view.nodes.size()) return static_cast<std::uint32_t>(number - 1);
  throw Error("there is no node " + std::to_string(number), flag, all_nodes(view));
}

std::string_view own_name(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  return node.node == kNone ? std::string_view{} : graph.text(graph.nodes[node.node].name);
}

// Modules that are, or are below, the one with this path; all false where there is none.
std::vector<bool> modules_below(const Graph& graph, std::string_view path) {
  std::vector<bool> inside(graph.modules.size(), false);
  for (std::size_t m = 0; m < inside.size(); ++m) {
    const ModuleId parent = graph.modules[m].parent;
    inside[m] = graph.path(graph.modules[m]) == path || (parent != kNone && inside[parent]);
  }
  return inside;
}

[[noreturn]] void fail_several(std::string_view text, const std::vector<std::uint32_t>& found,
                               const char* flag) {
  constexpr std::size_t kShown = 6;
  const auto number = [](std::uint32_t n) { return std::to_string(n + 1); };
  std::string numbers = join(found | std::views::take(kShown) | std::views::transform(number));
  if (found.size() > kShown) numbers += ", ...";
  throw Error(std::to_string(found.size()) + " nodes are called '" + std::string(text) + "'", flag,
              "say which by its number: " + numbers);
}

[[noreturn]] void fail_unknown(const GraphView& view, std::string_view text, const char* flag) {
  const std::vector<bool> below = modules_below(*view.profile->graph, text);
  std::uint32_t first = kNone, last = 0, count = 0;
  for (std::uint32_t n = 0; n < view.nodes.size(); ++n)
    if (view.nodes[n].ops.size > 0 && below[view.nodes[n].module])
      first = std::min(first, n), last = n, ++count;
  if (count > 0)
    throw Error(
        "'" + std::string(text) + "' is a module of " + std::to_string(count) + " nodes, " +
            std::to_string(first + 1) + " to " + std::to_string(last + 1),
        flag,
        "--module " + std::string(text) + " lists them; --level module shows calls of modules as nodes");
  std::vector<std::string_view> names;
  for (const ViewNode& node : view.nodes) names.push_back(node.name);
  throw Error("no node is called '" + std::string(text) + "'", flag,
              did_you_mean(text, names, all_nodes(view) + "; --find TEXT looks for a part of a name"));
}

// The run of nodes that numbers and --around leave: the end not included.
struct Bounds {
  std::uint32_t begin = 0, end = 0;
  std::optional<std::uint32_t> center{};
};

Bounds bounds_of(const GraphView& view, const ExploreQuery& query) {
  const auto count = static_cast<std::uint32_t>(view.nodes.size());
  if (!query.around.empty()) {
    if (query.start || query.end)
      throw Error("either a range or the nodes around one", "--around", "leave out --start and --end");
    const std::uint32_t center = node_called(view, query.around, "--around");
    return {center - std::min(center, query.context),
            center + std::min(count - center - 1, query.context) + 1, center};
  }
  const std::uint32_t begin = query.start ? numbered(view, *query.start, "--start") : 0;
  const std::uint32_t last = query.end ? numbered(view, *query.end, "--end") : count - (count ? 1 : 0);
  if (begin > last)
    throw Error("the range begins at node " + std::to_string(begin + 1) + " and ends at node " +
                    std::to_string(last + 1),
                "--start", "--start " + std::to_string(last + 1) + " --end " + std::to_string(begin + 1));
  return {begin, count ? last + 1 : 0, std::nullopt};
}

// The conditions, each with its words in lower case once.
class Conditions {
 public:
  Conditions(const GraphView& view, const ExploreQuery& query) : view_(view), query_(query) {
    if (query.module.empty()) return;
    inside_ = modules_below(graph_, query.module);
    if (std::ranges::find(inside_, true) != inside_.end()) return;
    std::vector<std::string_view> paths;
    for (const Module& module : graph_.modules) paths.push_back(graph_.path(module));
    throw Error("the model has no module '" + query.module + "'", "--module",
                did_you_mean(query.module, paths));
  }

  bool hold(const ViewNode& node) const {
    return (find_.empty() || found(node)) && (type_.empty() || typed(node)) &&
           (inside_.empty() || (node.ops.size > 0 && inside_[node.module])) &&
           (!query_.bound || standing_of(view_, node).bound == query_.bound);
  }

 private:
  bool found(const ViewNode& node) const {
    const auto has = [&](std::string_view text) { return contains_text(text, find_); };
    return has(node.name) || has(node.target) || has(own_name(view_, node)) ||
           has(graph_.path(graph_.modules[node.module])) || has(shape_text(graph_, node.output)) ||
           std::ranges::any_of(view_.inputs_of(node),
                               [&](const ViewEdge& edge) { return has(shape_text(graph_, edge.value)); });
  }
  bool typed(const ViewNode& node) const {
    return contains_text(node.target, type_) || std::ranges::any_of(view_.ops_of(node), [&](OpId op) {
             const OpRule* rule = view_.profile->costs[op].rule;
             return contains_text(op_type(graph_.op_name(graph_.ops[op])), type_) ||
                    (rule && name(rule->category) == type_);
           });
  }

  const GraphView& view_;
  const ExploreQuery& query_;
  const Graph& graph_ = *view_.profile->graph;
  const std::string find_ = lower_case(query_.find), type_ = lower_case(query_.type);
  std::vector<bool> inside_;  // by module; empty: any
};

[[noreturn]] void fail_nothing(const GraphView& view, const ExploreQuery& query) {
  if (!query.find.empty())
    throw Error("no node here has '" + query.find + "' in its name, target, module or shape", "--find",
                view.level == Level::kOp ? "" : "--level op looks at single ops");
  if (!query.type.empty()) {
    std::vector<std::string_view> types;
    for (const TypeRow& row : view.profile->types()) types.push_back(row.type);
    throw Error("no node here is of type '" + query.type + "'", "--type",
                did_you_mean(query.type, types, "`opscope explore MODEL` lists the types"));
  }
  if (query.bound)
    throw Error("no node here is " + std::string(name(*query.bound)), "--bottleneck",
                bottleneck_legend(view.profile->options.ridge));
  throw Error("no node here fits", "", all_nodes(view));
}

class WayFinder {
 public:
  WayFinder(const GraphView& view, std::uint32_t from, std::uint32_t to)
      : view_(view), from_(from), to_(to), steps_(to - from + 1) {}

  std::optional<Ways> find() {
    at(from_).from_start = true;
    for (std::uint32_t n = from_ + 1; n <= to_; ++n)
      each_before(n, [&](std::uint32_t m) { at(n).from_start |= at(m).from_start; });
    if (!at(to_).from_start) return std::nullopt;
    at(to_).to_end = true;
    for (std::uint32_t n = to_ + 1; n-- > from_;)
      if (at(n).to_end) each_before(n, [&](std::uint32_t m) { at(m).to_end = true; });
    for (std::uint32_t n = from_; n <= to_; ++n)
      if (is_on(n)) pass(n);
    ways_.shortest = walk_back(&Step::shortest_from);
    ways_.costliest = walk_back(&Step::costliest_from);
    ways_.costliest_flops = at(to_).flops;
    ways_.count = 1;
    for (std::size_t s = 0; s + 1 < ways_.stages.size(); ++s) ways_.count *= ways_.stages[s].ways;
    return std::move(ways_);
  }

 private:
  struct Step {
    bool from_start = false, to_end = false;
    Count ways{};  // from the last stage
    std::uint32_t length = 0;
    Count flops{};
    std::uint32_t shortest_from = kNone, costliest_from = kNone;
  };
  Step& at(std::uint32_t n) { return steps_[n - from_]; }
  bool is_on(std::uint32_t n) { return at(n).from_start && at(n).to_end; }

  // Nodes between the two that `n` takes from, each once.
  template <class Visit>
  void each_before(std::uint32_t n, Visit visit) {
    before_.clear();
    for (const ViewEdge& edge : view_.inputs_of(view_.nodes[n]))
      if (edge.from >= from_ && edge.from < n) before_.push_back(edge.from);
    std::ranges::sort(before_);
    before_.erase(std::ranges::unique(before_).begin(), before_.end());
    std::ranges::for_each(before_, visit);
  }

  void pass(std::uint32_t n) {
    Step& step = at(n);
    step.length = n == from_ ? 1 : kNone;
    step.ways = n == from_ ? 1 : 0;
    each_before(n, [&](std::uint32_t m) {
      if (!is_on(m)) return;
      const Step& last = at(m);
      step.ways += last.ways;
      if (last.length + 1 < step.length) step.length = last.length + 1, step.shortest_from = m;
      if (step.costliest_from == kNone || last.flops > at(step.costliest_from).flops) step.costliest_from = m;
    });
    step.flops = view_.nodes[n].metrics.flops;
    if (step.costliest_from != kNone) step.flops += at(step.costliest_from).flops;
    ++ways_.nodes;
    if (farthest_ > n) {
      ++ways_.stages.back().between;
    } else {  // no edge passes over it: every way comes by
      if (!ways_.stages.empty()) ways_.stages.back().ways = step.ways;
      ways_.stages.push_back({.node = n});
      step.ways = 1;
    }
    for (const std::uint32_t e : view_.outputs_of(view_.nodes[n])) {
      const std::uint32_t next = view_.edges[e].to;
      if (next > n && next <= to_ && is_on(next)) farthest_ = std::max(farthest_, next);
    }
  }

  std::vector<std::uint32_t> walk_back(std::uint32_t Step::*from) {
    std::vector<std::uint32_t> way;
    for (std::uint32_t n = to_; n != kNone; n = at(n).*from) way.push_back(n);
    std::ranges::reverse(way);
    return way;
  }

  const GraphView& view_;
  std::uint32_t from_, to_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> before_;
  std::uint32_t farthest_ = 0;  // where edges from nodes before lead
  Ways ways_;
};

}  // namespace

std::uint32_t node_called(const GraphView& view, std::string_view text, const char* flag) {
  if (const auto number = number_from<std::uint64_t>(text.substr(text.starts_with('#') ? 1 : 0)))
    return numbered(view, *number, flag);
  std::vector<std::uint32_t> found;
  for (const bool own : {false, true}) {
    for (std::uint32_t n = 0; n < view.nodes.size(); ++n)
      if ((own ? own_name(view, view.nodes[n]) : view.nodes[n].name) == text && !text.empty())
        found.push_back(n);
    if (found.size() == 1) return found.front();
    if (!found.empty()) fail_several(text, found, flag);
  }
  fail_unknown(view, text, flag);
}

Selection select_nodes(const GraphView& view, const ExploreQuery& query,
                       const std::function<double(const ViewNode&)>& cost) {
  const Bounds bounds = bounds_of(view, query);
  const Conditions conditions(view, query);
  Selection selection{.nodes = {}, .found = 0, .ranked = query.top.has_value(), .center = bounds.center};
  for (std::uint32_t n = bounds.begin; n < bounds.end; ++n)
    if (conditions.hold(view.nodes[n])) selection.nodes.push_back(n);
  if (selection.nodes.empty()) fail_nothing(view, query);
  selection.found = selection.nodes.size();
  if (query.top)
    std::ranges::stable_sort(selection.nodes, std::greater{},
                             [&](std::uint32_t n) { return cost(view.nodes[n]); });
  const std::uint32_t most = std::min(query.top.value_or(kNone), query.max_nodes.value_or(kNone));
  if (most < selection.nodes.size()) selection.nodes.resize(most);
  return selection;
}

std::optional<Ways> ways_between(const GraphView& view, std::uint32_t from, std::uint32_t to) {
  if (from > to) return std::nullopt;
  return WayFinder(view, from, to).find();
}

}  // namespace opscope
