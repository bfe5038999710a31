// A view without the nodes of its inputs and outputs, and without ops that give no tensor.
#include "analyse/times/profiler_graph.h"

#include <algorithm>
#include <array>
#include <map>

#include "analyse/explore/view.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 3> kGranularities{"module", "layer", "op"};
constexpr std::uint64_t kPicosecondsPerNanosecond = 1000;

// By scope: ops that ran in it or below it.
std::vector<std::uint64_t> ops_in_scopes(const Graph& graph) {
  std::vector<std::uint64_t> ops(graph.scopes.size(), 0);
  for (const Op& op : graph.ops) ++ops[op.scope];
  for (ScopeId s = static_cast<ScopeId>(ops.size()); s-- > 1;) ops[graph.scopes[s].parent] += ops[s];
  return ops;
}

// By scope: the call of a part that it is or is in; kNone for the root's and for frames around the parts.
std::vector<ScopeId> part_calls(const Graph& graph) {
  const std::vector<std::uint64_t> ops = ops_in_scopes(graph);
  std::vector<bool> calls_others(graph.scopes.size(), false);
  for (ScopeId s = 1; s < graph.scopes.size(); ++s)
    if (ops[s] > 0) calls_others[graph.scopes[s].parent] = true;
  std::vector<ScopeId> call(graph.scopes.size(), kNone);
  for (ScopeId s = 1; s < graph.scopes.size(); ++s) {
    const ScopeId around = call[graph.scopes[s].parent];
    const bool is_frame = calls_others[s] && ops[s] * 10 > graph.ops.size() * 9;
    call[s] = around != kNone ? around : is_frame ? kNone : s;
  }
  return call;
}

class Draft {
 public:
  Draft(const Profile& profile, Granularity granularity)
      : graph_(*profile.graph), part_of_(part_calls(graph_)), view_(view_of(profile, granularity)) {
    made_.profile = &profile;
    made_.granularity = granularity;
  }

  ProfilerGraph run() {
    number_nodes();
    for (const ViewEdge& edge : view_.edges) add_edge(edge);
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n)
      if (view_.nodes[n].kind == "placeholder") add_input(n);
    add_outputs();
    if (made_.granularity == Granularity::kLayer) made_.without_ops = count_without_ops();
    made_.texts = std::move(view_.texts);
    return std::move(made_);
  }

 private:
  GraphView view_of(const Profile& profile, Granularity granularity) const {
    switch (granularity) {
      case Granularity::kModule:
        return make_module_view(profile, part_of_);
      case Granularity::kLayer:
        return make_view(profile, Level::kLayer);
      case Granularity::kOp:
        break;
    }
    return make_view(profile, Level::kOp);
  }

  // Of ops outside modules: dim(), item() and the like are noise in a graph of tensors.
  bool gives_no_tensor(const ViewNode& node) const {
    if (node.kind == "call_module" && made_.granularity != Granularity::kOp) return false;
    return std::ranges::all_of(view_.ops_of(node),
                               [&](OpId op) { return graph_.outputs_of(graph_.ops[op]).empty(); });
  }

  void number_nodes() {
    id_of_.assign(view_.nodes.size(), kNone);
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n) {
      const ViewNode& node = view_.nodes[n];
      if (node.ops.size == 0) continue;  // the model's inputs and outputs
      if (gives_no_tensor(node)) {
        ++made_.left_out;
        continue;
      }
      id_of_[n] = static_cast<std::uint32_t>(made_.nodes.size());
      made_.nodes.push_back(node_of(node));
    }
  }

  ProfilerNode node_of(const ViewNode& node) const {
    ProfilerNode made{.name = node.name,
                      .type = node.target,
                      .is_module = node.kind == "call_module",
                      .parameters = node.parameters,
                      .ops = node.metrics.ops,
                      .output = node.output};
    if (made_.is_measured()) made.time = node.metrics.time;
    if (made.is_module) made.call_time = call_time(call_of(view_.ops_of(node).front()));
    return made;
  }
  ScopeId call_of(OpId op) const {
    const Profile& profile = *view_.profile;
    const ScopeId part = part_of_[graph_.ops[op].scope];
    const bool is_part = made_.granularity == Granularity::kModule && part != kNone;
    return is_part ? part : profile.layers()[profile.layer_of()[op]].scope;
  }
  std::optional<Count> call_time(ScopeId scope) const {
    const Measurement& measured = graph_.measurement;
    if (measured.empty() || measured.scopes.empty()) return std::nullopt;
    const Nanoseconds took = Measurement::samples(measured.scopes, scope, measured.runs)[measured.typical];
    if (took == kUnmeasured) return std::nullopt;
    return Count{took} * Count{kPicosecondsPerNanosecond};
  }

  void add_edge(const ViewEdge& edge) {
    const std::uint32_t from = id_of_[edge.from], to = id_of_[edge.to];
    if (from != kNone && to != kNone) made_.edges.push_back({from, to, edge.value});
  }

  void add_input(std::uint32_t n) {
    const ViewNode& node = view_.nodes[n];
    ProfilerPort port{.name = node.name, .value = node.output};
    for (const std::uint32_t e : view_.outputs_of(node)) add_once(port.nodes, id_of_[view_.edges[e].to]);
    std::ranges::sort(port.nodes);
    made_.inputs.push_back(std::move(port));
  }

  void add_outputs() {
    if (view_.nodes.empty() || view_.nodes.back().kind != "output") return;
    for (const ValueId value : graph_.outputs) {
      ProfilerPort port{.name = graph_.text(graph_.values[value].name), .value = value};
      for (const ViewEdge& edge : view_.inputs_of(view_.nodes.back()))
        if (edge.value == value) add_once(port.nodes, id_of_[edge.from]);
      made_.outputs.push_back(std::move(port));
    }
  }

  static void add_once(std::vector<std::uint32_t>& ids, std::uint32_t id) {
    if (id != kNone && std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }

  std::uint64_t count_without_ops() const {
    const std::vector<std::uint64_t> ops = ops_in_scopes(graph_);
    std::vector<bool> calls_others(graph_.scopes.size(), false);
    for (ScopeId s = 1; s < graph_.scopes.size(); ++s) calls_others[graph_.scopes[s].parent] = true;
    std::uint64_t count = 0;
    for (ScopeId s = 1; s < graph_.scopes.size(); ++s) count += !calls_others[s] && ops[s] == 0;
    return count;
  }

  const Graph& graph_;
  std::vector<ScopeId> part_of_;
  GraphView view_;
  ProfilerGraph made_;
  std::vector<std::uint32_t> id_of_;  // by node of the view; kNone: it has none
};

}  // namespace

std::string_view name(Granularity granularity) {
  return kGranularities[static_cast<std::size_t>(granularity)];
}

Granularity granularity_from_name(std::string_view text) {
  const std::span choices = std::span(kGranularities).first(2);  // ops are the detail graph
  const auto found = std::ranges::find(choices, text);
  if (found != choices.end()) return static_cast<Granularity>(found - choices.begin());
  const std::string near = did_you_mean(text, choices);
  throw Error("no such granularity: '" + std::string(text) + "'", "granularity",
              near.empty() ? "choose module or layer" : near);
}

ProfilerGraph make_profiler_graph(const Profile& profile, Granularity granularity) {
  return Draft(profile, granularity).run();
}

// Totals over the nodes of a Profiler's graph.

namespace {

// The mean of the two in the middle where their number is even.
Count median(std::vector<Count> times) {
  if (times.empty()) return {};
  std::ranges::sort(times);
  const std::size_t half = times.size() / 2;
  if (times.size() % 2 == 1) return times[half];
  return Count{times[half - 1].value() / 2 + times[half].value() / 2};
}

std::vector<ProfilerType> types_of(const ProfilerGraph& graph) {
  std::map<std::string_view, ProfilerType> by_name;
  for (const ProfilerNode& node : graph.nodes) {
    ProfilerType& type = by_name[node.type];
    type.type = node.type;
    ++type.nodes;
    type.time += node.time.value_or(Count{});
  }
  std::vector<ProfilerType> types;
  for (const auto& [name, type] : by_name) types.push_back(type);
  std::ranges::stable_sort(types, std::ranges::greater{}, &ProfilerType::time);
  return types;
}

Count run_time(const Measurement& measured) {
  if (measured.empty() || measured.timed.empty()) return {};
  return Count{measured.timed[measured.typical]} * Count{1000};  // nanoseconds
}

}  // namespace

ProfilerStats profiler_stats(const ProfilerGraph& graph) {
  ProfilerStats stats{.nodes = graph.nodes.size(), .edges = graph.edges.size()};
  stats.parameters = graph.profile->parameters;
  std::vector<Count> times;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    stats.ops += graph.nodes[n].ops;
    if (!graph.nodes[n].time) continue;
    times.push_back(*graph.nodes[n].time);
    stats.time += times.back();
    if (stats.longest && times.back() <= stats.max_time) continue;
    stats.longest = n;
    stats.max_time = times.back();
  }
  if (!times.empty()) stats.mean_time = Count{stats.time.value() / times.size()};
  stats.median_time = median(std::move(times));
  stats.run_time = run_time(graph.profile->graph->measurement);
  stats.types = types_of(graph);
  return stats;
}

}  // namespace opscope
