// Which nodes a query means: numbers and names first, then conditions node by node. What belongs to one node
// beyond its sums: its subgraphs, the memory its results lie in, the weights it reads.
#include "analyse/explore/explore.h"

#include <algorithm>
#include <ranges>

#include "analyse/profile/rollup.h"
#include "base/groups.h"
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

struct WayFinder {
  struct Step {
    bool from_start = false, to_end = false;
    Count ways{};  // from the last stage
    std::uint32_t length = 0;
    Count flops{};
    std::uint32_t shortest_from = kNone, costliest_from = kNone;
  };

  const GraphView& view;
  std::uint32_t first, last;
  std::vector<Step> steps = std::vector<Step>(last - first + 1);
  std::vector<std::uint32_t> before{};
  std::uint32_t farthest = 0;  // where edges from nodes before lead
  Ways ways{};

  std::optional<Ways> find() {
    at(first).from_start = true;
    for (std::uint32_t n = first + 1; n <= last; ++n)
      each_before(n, [&](std::uint32_t m) { at(n).from_start |= at(m).from_start; });
    if (!at(last).from_start) return std::nullopt;
    at(last).to_end = true;
    for (std::uint32_t n = last + 1; n-- > first;)
      if (at(n).to_end) each_before(n, [&](std::uint32_t m) { at(m).to_end = true; });
    for (std::uint32_t n = first; n <= last; ++n)
      if (is_on(n)) pass(n);
    ways.shortest = walk_back(&Step::shortest_from);
    ways.costliest = walk_back(&Step::costliest_from);
    ways.costliest_flops = at(last).flops;
    ways.count = 1;
    for (std::size_t s = 0; s + 1 < ways.stages.size(); ++s) ways.count *= ways.stages[s].ways;
    return std::move(ways);
  }

  Step& at(std::uint32_t n) { return steps[n - first]; }
  bool is_on(std::uint32_t n) { return at(n).from_start && at(n).to_end; }

  // Nodes between the two that `n` takes from, each once.
  template <class Visit>
  void each_before(std::uint32_t n, Visit visit) {
    before.clear();
    for (const ViewEdge& edge : view.inputs_of(view.nodes[n]))
      if (edge.from >= first && edge.from < n) before.push_back(edge.from);
    sort_unique(before);
    std::ranges::for_each(before, visit);
  }

  void pass(std::uint32_t n) {
    Step& step = at(n);
    step.length = n == first ? 1 : kNone;
    step.ways = n == first ? 1 : 0;
    each_before(n, [&](std::uint32_t m) {
      if (!is_on(m)) return;
      const Step& previous = at(m);
      step.ways += previous.ways;
      if (previous.length + 1 < step.length) step.length = previous.length + 1, step.shortest_from = m;
      if (step.costliest_from == kNone || previous.flops > at(step.costliest_from).flops)
        step.costliest_from = m;
    });
    step.flops = view.nodes[n].metrics.flops;
    if (step.costliest_from != kNone) step.flops += at(step.costliest_from).flops;
    ++ways.nodes;
    if (farthest > n) {
      ++ways.stages.back().between;
    } else {  // no edge passes over it: every way comes by
      if (!ways.stages.empty()) ways.stages.back().ways = step.ways;
      ways.stages.push_back({.node = n});
      step.ways = 1;
    }
    for (const std::uint32_t e : view.outputs_of(view.nodes[n])) {
      const std::uint32_t next = view.edges[e].to;
      if (next > n && next <= last && is_on(next)) farthest = std::max(farthest, next);
    }
  }

  std::vector<std::uint32_t> walk_back(std::uint32_t Step::*from) {
    std::vector<std::uint32_t> way;
    for (std::uint32_t n = last; n != kNone; n = at(n).*from) way.push_back(n);
    std::ranges::reverse(way);
    return way;
  }
};

// Nodes that run nothing.
std::string_view why_idle(const GraphView& view, const ViewNode& node) {
  if (node.kind == "output") return "what is returned";
  if (node.kind == "get_attr") return "a weight";
  if (node.kind == "placeholder") {
    const bool weight = node.output != kNone && (node.parameters.total || node.parameters.buffers);
    return weight ? "a weight" : "an input";
  }
  return view.level == Level::kLayer && node.node != kNone ? "it ran no op" : "it does no work";
}

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
  return WayFinder{view, from, to}.find();
}

std::vector<HeldResult> results_of(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  const auto ops = view.ops_of(node);
  if (ops.empty()) return {};
  // By value: the place of its memory among the pieces, which are the storages, then the values that have
  // none.
  std::vector<std::size_t> place;
  std::size_t next = graph.storages.size();
  for (const Value& value : graph.values) place.push_back(value.storage != kNone ? value.storage : next++);
  const std::vector<MemoryPiece> pieces = memory_pieces(graph);
  std::vector<std::uint32_t> row(pieces.size(), kNone);
  std::vector<HeldResult> results;
  for (const OpId op : ops)
    for (const ValueId value : graph.outputs_of(graph.ops[op])) {
      const MemoryPiece& piece = pieces[place[value]];
      if (row[place[value]] == kNone) {
        row[place[value]] = static_cast<std::uint32_t>(results.size());
        results.push_back({.piece = piece, .made_here = std::ranges::binary_search(ops, piece.held.made)});
      }
      results[row[place[value]]].value = value;
    }
  return results;
}

std::vector<ValueId> weights_read(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  std::vector<bool> seen(graph.values.size(), false);
  std::vector<ValueId> weights;
  for (const OpId op : view.ops_of(node))
    each_read(graph, graph.ops[op], [&](ValueId id) {
      const ValueKind kind = graph.values[id].kind;
      if ((!is_weight(kind) && kind != ValueKind::kConstant) || seen[id]) return;
      seen[id] = true;
      weights.push_back(id);
    });
  return weights;
}

std::vector<SubgraphId> readers_of(const Partition& partition, SubgraphId subgraph) {
  std::vector<SubgraphId> readers;
  for (SubgraphId id = 0; id < partition.subgraphs.size(); ++id) {
    const auto taken = partition.depends_on(partition.subgraphs[id]);
    if (std::ranges::find(taken, subgraph) != taken.end()) readers.push_back(id);
  }
  return readers;
}

std::vector<SubgraphId> subgraphs_of(const Partition& partition, std::span<const OpId> ops) {
  std::vector<SubgraphId> ids;
  for (const OpId op : ops)
    if (partition.of_op[op] != kNone) ids.push_back(partition.of_op[op]);
  sort_unique(ids);
  return ids;
}

Standing standing_of(const GraphView& view, const ViewNode& node) {
  const Profile& profile = *view.profile;
  const Partition& partition = profile.partition();
  Standing standing{.subgraphs = subgraphs_of(partition, view.ops_of(node)),
                    .flops = node.metrics.flops,
                    .memory_bytes = node.metrics.memory_bytes()};
  if (standing.subgraphs.size() == 1) {
    const Subgraph& subgraph = partition.subgraphs[standing.subgraphs.front()];
    standing.flops = subgraph.flops;
    standing.memory_bytes = subgraph.memory_bytes();
  } else if (standing.subgraphs.empty()) {
    standing.why_none = node.ops.size
                            ? why_not_partitioned(*profile.graph, profile.costs, view.ops_of(node).front())
                            : why_idle(view, node);
  }
  if (standing.flops || standing.memory_bytes)
    standing.bound = bottleneck_of(standing.flops, standing.memory_bytes, profile.options.ridge);
  return standing;
}

ExploreSummary summarise(const GraphView& view) {
  const Profile& profile = *view.profile;
  ExploreSummary summary;
  for (OpId op = 0; op < profile.costs.size(); ++op) {
    if (!profile.costs[op].flops && !profile.costs[op].traffic.total()) continue;
    ++summary.working_ops;
    if (profile.partition().of_op[op] != kNone) ++summary.partitioned_ops;
  }
  for (const ViewNode& node : view.nodes) {
    if (node.subgraph != kNone) ++summary.partitioned_nodes;
    auto kind = std::ranges::find(summary.kinds, node.kind, [](const auto& k) { return k.first; });
    if (kind == summary.kinds.end()) kind = summary.kinds.insert(kind, {node.kind, 0});
    ++kind->second;
  }
  return summary;
}

}  // namespace opscope
