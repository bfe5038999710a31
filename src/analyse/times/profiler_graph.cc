// A view without the nodes of its inputs and outputs, and without ops that give no tensor.
#include "analyse/times/profiler_graph.h"

#include <algorithm>
#include <map>

#include "base/choices.h"

namespace opscope {
namespace {

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
  Draft(const Profile& profile, Level granularity)
      : graph_(*profile.graph),
        part_of_(part_calls(graph_)),
        view_(granularity == Level::kModule ? make_view(profile, granularity, part_of_)
                                            : make_view(profile, granularity)) {
    made_.profile = &profile;
    made_.granularity = granularity;
  }

  ProfilerGraph run() {
    number_nodes();
    for (const ViewEdge& edge : view_.edges)
      if (const std::uint32_t from = id_of_[edge.from], to = id_of_[edge.to]; from != kNone && to != kNone)
        made_.edges.push_back({from, to, edge.value});
    for (const ViewNode& node : view_.nodes)
      if (node.kind == "placeholder") add_input(node);
    add_outputs();
    if (made_.granularity == Level::kLayer) made_.without_ops = count_without_ops();
    made_.texts = std::move(view_.texts);
    return std::move(made_);
  }

 private:
  // Of ops outside modules: dim(), item() and the like are noise in a graph of tensors.
  bool gives_no_tensor(const ViewNode& node) const {
    if (node.kind == "call_module" && made_.granularity != Level::kOp) return false;
    return std::ranges::all_of(view_.ops_of(node),
                               [&](OpId op) { return graph_.outputs_of(graph_.ops[op]).empty(); });
  }

  void number_nodes() {
    id_of_.assign(view_.nodes.size(), kNone);
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n) {
      const ViewNode& node = view_.nodes[n];
      if (node.ops.size == 0) continue;  // the model's inputs and outputs
      const bool is_left_out = gives_no_tensor(node);
      made_.left_out += is_left_out;
      if (is_left_out) continue;
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
    const bool is_part = made_.granularity == Level::kModule && part != kNone;
    return is_part ? part : profile.layers()[profile.layer_of()[op]].scope;
  }
  std::optional<Count> call_time(ScopeId scope) const {
    const Measurement& measured = graph_.measurement;
    if (measured.empty() || measured.scopes.empty()) return std::nullopt;
    const Nanoseconds took = Measurement::samples(measured.scopes, scope, measured.runs)[measured.typical];
    if (took == kUnmeasured) return std::nullopt;
    return Count{took} * Count{kPicosecondsPerNanosecond};
  }

  void add_input(const ViewNode& node) {
    ProfilerPort& port = made_.inputs.emplace_back(ProfilerPort{.name = node.name, .value = node.output});
    for (const std::uint32_t e : view_.outputs_of(node)) add_once(port.nodes, id_of_[view_.edges[e].to]);
    std::ranges::sort(port.nodes);
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
    std::vector<bool> busy(graph_.scopes.size(), false);  // runs ops or calls others
    for (const Op& op : graph_.ops) busy[op.scope] = true;
    for (ScopeId s = 1; s < graph_.scopes.size(); ++s) busy[graph_.scopes[s].parent] = true;
    return static_cast<std::uint64_t>(std::ranges::count(busy, false)) - (busy.empty() || busy[0] ? 0 : 1);
  }

  const Graph& graph_;
  std::vector<ScopeId> part_of_;
  GraphView view_;
  ProfilerGraph made_;
  std::vector<std::uint32_t> id_of_;  // by node of the view; kNone: it has none
};

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

}  // namespace

Level granularity_from_name(std::string_view text) {  // ops are the detail graph
  return choices<Level, Level::kLayer>("module", "layer").parse(text, "no such granularity:", "granularity");
}

ProfilerGraph make_profiler_graph(const Profile& profile, Level granularity) {
  return Draft(profile, granularity).run();
}

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
    stats.longest = n, stats.max_time = times.back();
  }
  if (!times.empty()) stats.mean_time = Count{stats.time.value() / times.size()};
  stats.median_time = median(std::move(times));
  if (const Measurement& measured = graph.profile->graph->measurement;
      !measured.empty() && !measured.timed.empty())
    stats.run_time = Count{measured.timed[measured.typical]} * Count{kPicosecondsPerNanosecond};
  stats.types = types_of(graph);
  return stats;
}

}  // namespace opscope
