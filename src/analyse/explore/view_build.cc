// Nodes first, by one of the groupings; then what holds for all of them: members, sums, and which node takes
// what from which: the values that ops read, followed to the op that made or last wrote them; within a
// tracer's graph what the tracer itself says.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analyse/explore/view_nodes.h"
#include "analyse/profile/rollup.h"
#include "base/choices.h"
#include "base/groups.h"
#include "graph/graph.h"

namespace opscope {
namespace {

constexpr auto kLevels = choices<Level, Level::kSubgraph>("module", "layer", "op", "subgraph");
constexpr std::uint32_t kNowhere = kNone;

class Edges {
 public:
  explicit Edges(GraphView& view) : view_(view) {
    for (std::uint32_t n = 0; n < view.nodes.size(); ++n)
      if (view.nodes[n].kind == "placeholder" && view.nodes[n].node == kNone)
        input_[view.nodes[n].output] = n;
  }

  void find() {
    const bool traced = std::ranges::any_of(view_.nodes, [](const ViewNode& n) { return n.node != kNone; });
    if (traced) find_handed_in();
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      each_read(graph_, graph_.ops[op], [&](ValueId id) { read(id, view_.node_of[op]); });
      note_made(op);
    }
    if (traced)
      follow_tracer();
    else if (!view_.nodes.empty() && view_.nodes.back().kind == "output")
      for (const ValueId id : graph_.outputs) read(id, static_cast<std::uint32_t>(view_.nodes.size() - 1));
    settle();
    find_outputs();
  }

 private:
  void add(std::uint32_t from, std::uint32_t to, ValueId value) {
    if (from != to) found_.push_back({from, to, value});
  }

  void read(ValueId id, std::uint32_t to) {
    const std::uint32_t door = handed_in(id, to);
    const bool told = is_told(to);
    if (door != kNowhere) {
      if (!told) add(door, to, id);
      return;
    }
    each_source(id, [&](std::uint32_t from) {
      if (!told || !same_part(from, to)) add(from, to, id);
    });
  }

  void note_made(OpId op) {
    for (const ValueId id : graph_.outputs_of(graph_.ops[op])) {
      const Id storage = graph_.values[id].storage;
      maker_[id] = op;
      if (writes_in_place(graph_, graph_.ops[op], storage)) writer_[storage] = op;
    }
  }
  // Calls visit(node) for the node that made the value, and for one that has since written to its memory
  // through another view of it.
  template <class Visit>
  void each_source(ValueId id, Visit visit) const {
    const OpId maker = maker_[id];
    const std::uint32_t from = maker != kNone ? view_.node_of[maker] : input_[id];
    if (from != kNowhere) visit(from);
    const Id storage = graph_.values[id].storage;
    if (storage == kNone || writer_[storage] == kNone) return;
    if (maker != kNone && writer_[storage] <= maker) return;
    if (const std::uint32_t last = view_.node_of[writer_[storage]]; last != from) visit(last);
  }

  // Within a part the tracer's own edges count, where it tells them; what comes from elsewhere comes by a
  // placeholder.
  PartId part_of(std::uint32_t n) const {
    const NodeId node = view_.nodes[n].node;
    return node == kNone ? kNone : graph_.nodes[node].part;
  }
  bool same_part(std::uint32_t a, std::uint32_t b) const {
    return part_of(a) != kNone && part_of(a) == part_of(b);
  }
  // The tracer says what the node takes.
  bool is_told(std::uint32_t n) const {
    const NodeId node = view_.nodes[n].node;
    return node != kNone && graph_.nodes[node].inputs.size > 0;
  }
  // The node by which a value comes into the part; kNowhere where it was made in it, or there is no part.
  std::uint32_t handed_in(ValueId id, std::uint32_t to) const {
    if (handed_in_.empty() || part_of(to) == kNone) return kNowhere;
    const auto found = handed_in_.find(pair_key(part_of(to), id));
    return found == handed_in_.end() ? kNowhere : found->second;
  }
  static bool hands_in(const Node& node) {
    return node.kind == NodeKind::kPlaceholder || node.kind == NodeKind::kGetAttr;
  }
  void find_handed_in() {
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n) {
      if (view_.nodes[n].node == kNone || !hands_in(graph_.nodes[view_.nodes[n].node])) continue;
      for (const ValueId id : graph_.outputs_of(graph_.nodes[view_.nodes[n].node]))
        handed_in_.try_emplace(pair_key(part_of(n), id), n);
    }
  }
  void follow_tracer() {
    std::vector<std::uint32_t> view_of(graph_.nodes.size(), kNowhere);
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n)
      if (view_.nodes[n].node != kNone) view_of[view_.nodes[n].node] = n;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      for (const NodeId taken : graph_.inputs_of(node)) {
        const auto gives = graph_.outputs_of(graph_.nodes[taken]);
        add(view_of[taken], view_of[id], gives.empty() ? kNone : gives.front());
      }
      if (!hands_in(node)) continue;
      for (const ValueId value : graph_.outputs_of(node))
        if (const OpId maker = value == kNone ? kNone : maker_[value]; maker != kNone)
          if (!same_part(view_.node_of[maker], view_of[id])) add(view_.node_of[maker], view_of[id], value);
    }
  }

  // By node that takes, in the order of reading, each once.
  void settle() {
    const IdGroups taken(view_.nodes.size(), ends(found_, &ViewEdge::to));
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n) {
      const auto first = static_cast<std::uint32_t>(view_.edges.size());
      add_distinct(taken.of(n));
      view_.nodes[n].inputs = {first, static_cast<std::uint32_t>(view_.edges.size()) - first};
    }
    IdGroups given(view_.nodes.size(), ends(view_.edges, &ViewEdge::from));
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n)
      view_.nodes[n].outputs = {given.begins[n], given.size(n)};
    view_.out_edges = std::move(given.ids);
  }
  static std::vector<std::uint32_t> ends(const std::vector<ViewEdge>& edges, std::uint32_t ViewEdge::*end) {
    std::vector<std::uint32_t> nodes;
    nodes.reserve(edges.size());
    for (const ViewEdge& edge : edges) nodes.push_back(edge.*end);
    return nodes;
  }
  void add_distinct(std::span<const std::uint32_t> edges) {
    order_.clear();
    for (const std::uint32_t i : edges) order_.emplace_back(found_[i].from, found_[i].value, i);
    if (order_.size() > 1) {
      std::ranges::sort(order_);
      const auto same = [](const auto& a, const auto& b) {
        return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
      };
      order_.erase(std::unique(order_.begin(), order_.end(), same), order_.end());
      std::ranges::sort(order_, {}, [](const auto& item) { return std::get<2>(item); });
    }
    for (const auto& item : order_) view_.edges.push_back(found_[std::get<2>(item)]);
  }

  // The last of what others read; where nobody reads anything, the first result of the last op that has one.
  void find_outputs() {
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n) {
      ViewNode& node = view_.nodes[n];
      if (node.node != kNone) {
        const auto gives = graph_.outputs_of(graph_.nodes[node.node]);
        if (!gives.empty()) node.output = gives.front();
      } else if (node.ops.size > 0) {
        node.output = given(n);
      }
    }
  }
  ValueId given(std::uint32_t n) const {
    const ViewNode& node = view_.nodes[n];
    ValueId last = kNone;
    for (const std::uint32_t e : view_.outputs_of(node)) {
      const ValueId value = view_.edges[e].value;
      const OpId maker = maker_[value];
      if (maker == kNone || view_.node_of[maker] != n) continue;
      if (last == kNone || maker_[last] < maker) last = value;
    }
    const auto ops = view_.ops_of(node);
    for (auto op = ops.rbegin(); op != ops.rend() && last == kNone; ++op)
      if (const auto made = graph_.outputs_of(graph_.ops[*op]); !made.empty()) last = made.front();
    return last;
  }

  GraphView& view_;
  const Graph& graph_ = *view_.profile->graph;
  // Who made each value and who last wrote each storage, as far as the run has come; inputs' placeholders.
  std::vector<OpId> maker_ = std::vector<OpId>(graph_.values.size(), kNone);
  std::vector<OpId> writer_ = std::vector<OpId>(graph_.storages.size(), kNone);
  std::vector<std::uint32_t> input_ = std::vector<std::uint32_t>(graph_.values.size(), kNowhere);
  std::vector<ViewEdge> found_;
  std::unordered_map<std::uint64_t, std::uint32_t> handed_in_;  // by part and value: the node
  std::vector<std::tuple<std::uint32_t, ValueId, std::uint32_t>> order_;
};

// Members node by node, in execution order within each.
void collect_ops(GraphView& view) {
  IdGroups members(view.nodes.size(), view.node_of);
  for (std::uint32_t n = 0; n < view.nodes.size(); ++n)
    view.nodes[n].ops = {members.begins[n], members.size(n)};
  view.ops = std::move(members.ids);
}

// Costs, the subgraph of the costliest op, and parameters: a called module has what it owns, a node without
// ops what it hands in, others what their ops read.
void sum_up(GraphView& view) {
  const Profile& profile = *view.profile;
  for (ViewNode& node : view.nodes) {
    const OpCost* costliest = nullptr;
    for (const OpId op : view.ops_of(node)) {
      const OpCost& cost = profile.costs[op];
      node.metrics += cost;
      const SubgraphId subgraph = profile.partition().of_op[op];
      if (subgraph == kNone || (costliest && cost.weight() <= costliest->weight())) continue;
      costliest = &cost;
      node.subgraph = subgraph;
    }
    if (node.kind != "call_module" && node.ops.size > 0)
      node.parameters = parameters_read(*profile.graph, view.ops_of(node));
  }
}

}  // namespace

bool writes_in_place(const Graph& graph, const Op& op, Id storage) {
  const std::string_view name = graph.op_name(op);
  if (storage == kNone || !name.ends_with('_') || name.ends_with("__")) return false;
  bool takes = false;
  each_read(graph, op, [&](ValueId id) { takes |= graph.values[id].storage == storage; });
  return takes;
}

std::string_view name(Level level) { return kLevels[level]; }
Level level_from_name(std::string_view text) { return kLevels.parse(text, "no such level:", "--level"); }

GraphView make_view(const Profile& profile, Level level, std::span<const ScopeId> call_of) {
  ViewDraft draft = find_nodes(profile, level, call_of);
  GraphView view{.profile = &profile,
                 .level = level,
                 .nodes = std::move(draft.nodes),
                 .node_of = std::move(draft.node_of),
                 .texts = std::move(draft.texts).take()};
  collect_ops(view);
  sum_up(view);
  Edges(view).find();
  return view;
}

GraphView make_view(const Profile& profile, Level level, std::uint32_t depth) {
  const Graph& graph = *profile.graph;
  const std::vector<std::uint32_t> depths = scope_depths(graph);
  std::vector<ScopeId> call(graph.scopes.size(), kNone);
  for (ScopeId s = 0; s < graph.scopes.size(); ++s) {
    const ScopeId parent = graph.scopes[s].parent;
    call[s] = depths[s] == depth ? s : parent == kNone ? kNone : call[parent];
  }
  return make_view(profile, level, call);
}

Category costliest_category(const GraphView& view, std::span<const std::uint32_t> nodes) {
  const OpCost* costliest = nullptr;
  for (const std::uint32_t n : nodes)
    for (const OpId op : view.ops_of(view.nodes[n]))
      if (const OpCost& cost = view.profile->costs[op]; !costliest || cost.weight() > costliest->weight())
        costliest = &cost;
  if (!costliest) return Category::kView;
  return costliest->rule ? costliest->rule->category : Category::kCustom;
}

std::string shape_text(const Graph& graph, ValueId value) {
  return value == kNone ? std::string() : format_shape(graph.shape(graph.values[value]));
}

}  // namespace opscope
