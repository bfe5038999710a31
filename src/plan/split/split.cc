// Ops -> nodes, values -> tensors. What is there before the run (weights, a KV cache) is held by every device
// that reads it; what is made is held while it is alive in the whole model's own order, which is at least
// what a part of it holds.
#include "plan/split/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyse/memory/need.h"
#include "base/error.h"
#include "base/groups.h"
#include "base/text.h"
#include "cost/liveness.h"
#include "plan/costs/joined_ids.h"
#include "plan/split/groups.h"

namespace opscope {
namespace {

class Splitter {
 public:
  Splitter(const std::vector<Profile>& profiles, const Cluster& cluster, const SplitOptions& options,
           PlanObjective objective)
      : profiles_(profiles),
        graph_(*profiles.front().graph),
        cluster_(cluster),
        options_(options),
        pieces_(memory_pieces(graph_)),
        flow_(op_flow(graph_, profiles.front().costs, pieces_)) {
    in_flight_ = options.in_flight > 0                  ? options.in_flight
                 : objective == PlanObjective::kLatency ? 1
                                                        : 2 * cluster.devices();
  }

  SplitModel split() {
    add_classes();
    const OpGroups groups = grouped_ops(profiles_.front(), options_.most_nodes);
    model_.is_coarse = groups.is_coarse, model_.in_flight = in_flight_;
    add_nodes(groups);
    add_weights(groups);
    add_peaks(groups);
    add_tensors(groups);
    colocate(groups);
    add_notes();
    model_.flow = std::move(flow_);
    return std::move(model_);
  }

 private:
  void add_classes();
  void add_nodes(const OpGroups& groups);
  void add_weights(const OpGroups& groups);
  void add_peaks(const OpGroups& groups);
  void add_tensors(const OpGroups& groups);
  void colocate(const OpGroups& groups);
  void add_notes();
  CostNode& node_of(const OpGroups& groups, OpId op) { return model_.costs.nodes[groups.of_op[op]]; }
  bool reserves_by_default() const { return options_.reserve.empty(); }

  const std::vector<Profile>& profiles_;
  const Graph& graph_;
  const Cluster& cluster_;
  const SplitOptions& options_;
  std::vector<MemoryPiece> pieces_;
  OpFlow flow_;
  std::size_t in_flight_ = 1;
  SplitModel model_;
};

void Splitter::add_classes() {
  const Count library = profiles_.front().memory().library.most;
  for (const ClusterGroup& group : cluster_.groups) {
    DeviceClass one{.name = group.name, .count = group.count};
    const Count memory{static_cast<std::uint64_t>(*group.memory_bytes)};
    const bool is_gpu = group.target.device->kind == "gpu";
    const Reserve reserve = Reserve::from(options_.reserve, memory, is_gpu);
    one.memory_bytes = static_cast<double>(memory - reserve.fixed - library);
    if (group.link)
      one.bytes_per_second = group.link->bytes_per_second, one.latency_seconds = group.link->latency_seconds;
    one.watts = group.watts, one.price_per_hour = group.price_per_hour;
    model_.costs.classes.push_back(std::move(one));
  }
  model_.costs.overlap = options_.overlap;
  model_.costs.point_to_point = true;
}

// Predicted seconds are what the op adds to the whole run on the device.
void Splitter::add_nodes(const OpGroups& groups) {
  model_.ops = groups.ops;
  for (std::size_t n = 0; n < groups.ops.size(); ++n) {
    CostNode node{.id = groups.names[n], .seconds = std::vector<double>(profiles_.size(), 0)};
    for (std::size_t c = 0; c < profiles_.size(); ++c)
      for (const OpId op : groups.ops[n]) {
        const OpShare& share = profiles_[c].predicted.ops[op];
        if (share.source != TimeSource::kUnknown) node.seconds[c] += share.seconds;
      }
    model_.costs.nodes.push_back(std::move(node));
  }
}

// Weights and caches that are there before the run: of one node its own, of several each device's that has
// one of them. A cache is there for each run that is on its way.
void Splitter::add_weights(const OpGroups& groups) {
  std::vector<std::vector<std::uint32_t>> readers(pieces_.size());
  for (OpId op = 0; op < graph_.ops.size(); ++op)
    for (const std::uint32_t piece : flow_.held_by[op]) readers[piece].push_back(groups.of_op[op]);
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    auto& nodes = readers[p];
    sort_unique(nodes);
    const bool is_cache = pieces_[p].kind == MemoryKind::kKvCache;
    const double bytes =
        static_cast<double>(pieces_[p].bytes) * static_cast<double>(is_cache ? in_flight_ : 1);
    if (nodes.empty() || bytes == 0) continue;
    if (nodes.size() == 1) {
      model_.costs.nodes[nodes[0]].bytes += bytes;
      continue;
    }
    const auto shared = static_cast<std::uint32_t>(model_.costs.shared_bytes.size());
    model_.costs.shared_bytes.push_back(bytes);
    for (const std::uint32_t node : nodes) model_.costs.nodes[node].shared.push_back(shared);
  }
}

// What comes and goes: by op what is alive, and with its maker what stays to the end.
void Splitter::add_peaks(const OpGroups& groups) {
  const std::size_t ops = graph_.ops.size();
  std::vector<double> change(ops + 1, 0);
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const MemoryPiece& piece = pieces_[p];
    const double bytes = static_cast<double>(piece.bytes);
    if (!piece.in_use || flow_.is_held(static_cast<std::uint32_t>(p))) continue;
    if (const OpId maker = flow_.made_by[p]; piece.returned && maker != kNone) {
      const bool is_cache = piece.kind == MemoryKind::kKvCache;
      node_of(groups, maker).bytes += bytes * static_cast<double>(is_cache ? in_flight_ : 1);
      continue;
    }
    change[piece.first_op()] += bytes, change[piece.last_op(ops) + 1] -= bytes;
  }
  const double share = reserves_by_default() ? 1 + kAllocatorShare : 1;
  double alive = 0;
  for (OpId op = 0; op < ops; ++op) {
    alive += change[op];
    double bytes = alive + static_cast<double>(graph_.ops[op].workspace);
    for (const std::uint32_t piece : flow_.freed_caches[op])
      bytes += static_cast<double>(pieces_[piece].bytes);
    CostNode& node = node_of(groups, op);
    node.peak_bytes = std::max(node.peak_bytes, std::max(bytes, 0.0) * share);
  }
}

void Splitter::add_tensors(const OpGroups& groups) {
  std::map<std::pair<OpId, ValueId>, std::vector<std::uint32_t>> readers;
  for (const OpFlow::Edge& edge : flow_.edges) {
    const std::uint32_t from = groups.of_op[edge.from], to = groups.of_op[edge.to];
    if (from != to) readers[{edge.from, edge.value}].push_back(to);
  }
  for (auto& [key, nodes] : readers) {
    sort_unique(nodes);
    const Value& value = graph_.values[key.second];
    Count sent = bytes_of(graph_, value);
    if (value.storage != kNone) sent = std::min(sent, Count{graph_.storages[value.storage].bytes});
    const double bytes = static_cast<double>(sent);
    CostTensor tensor{.producer = groups.of_op[key.first], .consumers = std::move(nodes), .bytes = bytes};
    for (const DeviceClass& one : model_.costs.classes)
      tensor.seconds.push_back(one.bytes_per_second ? one.latency_seconds + bytes / *one.bytes_per_second
                                                    : 0);
    model_.costs.tensors.push_back(std::move(tensor));
  }
}

// Ops that change memory which outlives them are where all are that see it; pinned ones are on one device of
// their group.
void Splitter::colocate(const OpGroups& groups) {
  JoinedIds joined(model_.costs.nodes.size());
  const auto join = [&](const std::vector<OpId>& ops) {
    for (const OpId op : ops) joined.join(groups.of_op[ops.front()], groups.of_op[op]);
  };
  for (const auto& ops : flow_.together) join(ops);
  for (const auto& [op, other] : flow_.beside) joined.join(groups.of_op[op], groups.of_op[other]);
  for (const ClusterPin& pin : cluster_.pins) {
    const auto group = std::ranges::find(cluster_.groups, pin.group, &ClusterGroup::name);
    const auto only = static_cast<std::size_t>(group - cluster_.groups.begin());
    const auto& ops = pin.is_output ? flow_.gives_outputs : flow_.reads_inputs;
    join(ops);
    for (const OpId op : ops)
      for (std::size_t c = 0; c < profiles_.size(); ++c)
        if (c != only) node_of(groups, op).seconds[c] = kCannotRun;
  }
  std::vector<std::uint32_t> members(model_.costs.nodes.size(), 0);
  for (std::uint32_t n = 0; n < members.size(); ++n) ++members[joined.of(n)];
  for (std::uint32_t n = 0; n < members.size(); ++n)
    if (members[joined.of(n)] > 1) model_.costs.nodes[n].colocate = std::to_string(joined.of(n));
}

void Splitter::add_notes() {
  for (std::size_t c = 0; c < profiles_.size(); ++c) {
    const PredictedRun& run = profiles_[c].predicted;
    const std::string& name = cluster_.groups[c].name;
    if (run.unknown_ops > 0)
      model_.notes.push_back(fmt::format("{} of {} ops have no predicted time on {}: it is not in the plan",
                                         run.unknown_ops, graph_.ops.size(), name));
    for (const std::string& note : prediction_notes(run)) model_.notes.push_back(note);
  }
  const bool has_cache = std::ranges::any_of(
      pieces_, [](const MemoryPiece& piece) { return piece.kind == MemoryKind::kKvCache && piece.in_use; });
  if (has_cache && in_flight_ > 1)
    model_.notes.push_back(
        fmt::format("each device holds the KV cache of {} runs that are on their way at once", in_flight_));
  if (model_.is_coarse)
    model_.notes.push_back(
        fmt::format("{} ops are split as {} module calls and ops; the bound is that of the ops themselves",
                    graph_.ops.size(), model_.costs.nodes.size()));
  sort_unique(model_.notes);
}

void refuse_what_has_no_split(const Graph& graph, const Profile& profile) {
  const std::string name = graph.capture.model;
  if (!graph.phases.empty())
    throw Error("a training step is not split into stages", name,
                "plan the forward run: leave out --training");
  if (graph.ops.empty()) throw Error("the model runs no ops", name);
  if (profile.predicted.unknown_ops == graph.ops.size())
    throw Error("no op of it has a predicted time", name);
}

}  // namespace

SplitModel split_model(const std::vector<Profile>& profiles, const Cluster& cluster,
                       const SplitOptions& options, PlanObjective objective) {
  for (const Profile& profile : profiles) refuse_what_has_no_split(*profile.graph, profile);
  return Splitter(profiles, cluster, options, objective).split();
}

PlannedGraph plan_one_replica(const std::vector<Profile>& profiles, const Cluster& cluster,
                              const SplitOptions& options, const PlanQuestion& question) {
  const Graph& graph = *profiles.front().graph;
  SplitModel model = split_model(profiles, cluster, options, question.objective);
  check(model.costs, graph.capture.model);
  PlanQuestion asked = question;
  asked.then_latency = true;
  PlannedGraph planned = plan_graph(std::move(model.costs), asked, graph.capture.model, model.in_flight);
  planned.notes = std::move(model.notes);
  planned.stages = stages_of(graph, model.flow, planned.answer.plan, model.ops);
  if (!model.is_coarse) return planned;
  SplitOptions finest = options;
  finest.most_nodes = graph.ops.size();
  const SplitModel ops = split_model(profiles, cluster, finest, question.objective);
  planned.answer.lower_bound =
      std::min(planned.answer.lower_bound, least_of_any_plan(ops.costs, question.objective));
  return planned;
}

}  // namespace opscope
