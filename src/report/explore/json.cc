// A view as JSON: every number to the last digit. Nodes and subgraphs count from 1, ops from 0 as in
// profiles.
#include <algorithm>

#include "report/core/json_parts.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

class ExploreWriter {
 public:
  ExploreWriter(const GraphView& view, std::string& out)
      : view_(view), profile_(*view.profile), graph_(*profile_.graph), json_(out) {
    begin_report(json_, graph_);
    json_.field("tracer", graph_.capture.tracer);
    json_.field("level", name(view.level));
    json_.field("convention", name(profile_.options.convention));
    json_.field("ridge", profile_.options.ridge);
    json_.field("total_nodes", view.nodes.size());
    json_.field("total_subgraphs", profile_.partition.subgraphs.size());
  }
  void end() { json_.end_object(); }

  void summary() {
    const ExploreSummary summary = summarise(view_);
    json_.field("partitioned_nodes", summary.partitioned_nodes);
    json_.field("working_ops", summary.working_ops);
    json_.field("partitioned_ops", summary.partitioned_ops);
    json_.field("unfused_bytes", profile_.partition.unfused_bytes);
    json_.field("fused_bytes", profile_.partition.fused_bytes);
    json_.key("kinds");
    json_.begin_object(JsonLayout::kInline);
    for (const auto& [kind, count] : summary.kinds) json_.field(kind, count);
    json_.end_object();
    json_.key("bottlenecks");
    json_.begin_object();
    for (std::size_t b = 0; b < kBottlenecks; ++b) band(static_cast<Bottleneck>(b), summary.bounds[b]);
    json_.end_object();
    json_.objects("types", profile_.types, [&](const TypeRow& row) {
      json_.field("type", row.type);
      json_.field("category", name(row.category));
      metrics(row.metrics);
    });
  }

  void listing(const std::vector<std::uint32_t>& nodes) {
    json_.objects("nodes", nodes, [&](std::uint32_t n) { node(n); });
    std::vector<SubgraphId> ids;
    for (const std::uint32_t n : nodes)
      for (const OpId op : view_.ops_of(view_.nodes[n]))
        if (profile_.partition.of_op[op] != kNone) ids.push_back(profile_.partition.of_op[op]);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    json_.objects("subgraphs", ids, [&](SubgraphId id) { subgraph(id); });
  }

  void details(std::uint32_t n) {
    const ViewNode& node = view_.nodes[n];
    json_.objects("inputs", view_.inputs_of(node), [&](const ViewEdge& edge) {
      json_.field("from", edge.from + 1);
      json_.field("name", view_.nodes[edge.from].name);
      value(edge.value);
    });
    json_.objects("weights", weights_read(view_, node), [&](ValueId id) {
      json_.field("name", graph_.text(graph_.values[id].name));
      json_.field("kind", name(graph_.values[id].kind));
      value(id);
    });
    json_.objects("outputs", view_.outputs_of(node), [&](std::uint32_t e) {
      json_.field("to", view_.edges[e].to + 1);
      json_.field("name", view_.nodes[view_.edges[e].to].name);
      value(view_.edges[e].value);
    });
    json_.objects("memory", results_of(view_, node), [&](const HeldResult& result) { held(result); });
    json_.objects("ops", view_.ops_of(node), [&](OpId op) {
      json_.field("index", op);
      json_.field("op", graph_.op_name(graph_.ops[op]));
      json_.field("explanation", explain(graph_, op));
    });
  }

  void ways(const Ways& ways) {
    json_.field("ways", ways.count);
    json_.field("at_least", ways.count.saturated());
    json_.field("nodes_on_any", ways.nodes);
    numbers("shortest", ways.shortest);
    numbers("costliest", ways.costliest);
    json_.field("costliest_flops", ways.costliest_flops);
    json_.objects("on_every_way", ways.stages, [&](const Stage& stage) {
      json_.field("index", stage.node + 1);
      json_.field("name", view_.nodes[stage.node].name);
      json_.field("ways_to_next", stage.ways);
      json_.field("nodes_to_next", stage.between);
    });
  }

 private:
  void metrics(const Metrics& m) {
    json_.field("ops", m.ops);
    json_.field("macs", m.work.macs);
    json_.field("flops", m.flops);
    json_.field("input_bytes", m.traffic.input_bytes);
    json_.field("output_bytes", m.traffic.output_bytes);
    json_.field("weight_bytes", m.traffic.weight_bytes);
    json_.field("memory_bytes", m.memory_bytes());
    json_.field("arithmetic_intensity", m.arithmetic_intensity());
    json_.field("confidence", name(m.confidence));
    if (is_measured(profile_)) json_.field("time_seconds", m.time_seconds());
    if (has_device(profile_)) write_roofline(json_, m);
  }
  void band(Bottleneck bound, const Band& band) {
    json_.key(std::string(word(bound)) + "_bound");
    json_.begin_object(JsonLayout::kInline);
    json_.field("subgraphs", band.ops);
    json_.field("flops", band.flops);
    json_.field("memory_bytes", band.memory_bytes);
    json_.end_object();
  }
  void value(ValueId id) {
    if (id == kNone) return;
    json_.list("shape", graph_.shape(graph_.values[id]));
    json_.field("dtype", name(graph_.values[id].dtype));
    json_.field("bytes", bytes_of(graph_, graph_.values[id]));
  }
  void numbers(std::string_view key, const std::vector<std::uint32_t>& items) {
    json_.key(key);
    json_.begin_array(JsonLayout::kInline);
    for (const std::uint32_t n : items) json_.value(n + 1);
    json_.end_array();
  }

  void node(std::uint32_t n) {
    const ViewNode& node = view_.nodes[n];
    const Standing standing = standing_of(view_, node);
    json_.field("index", n + 1);
    json_.field("kind", node.kind);
    json_.field("name", node.name);
    if (node.node != kNone) json_.field("tracer_name", graph_.text(graph_.nodes[node.node].name));
    json_.field("target", node.target);
    json_.field("module", graph_.path(graph_.modules[node.module]));
    value(node.output);
    std::vector<std::uint32_t> from;
    for (const ViewEdge& edge : view_.inputs_of(node)) from.push_back(edge.from);
    numbers("from", from);
    json_.field("params", node.parameters.total);
    metrics(node.metrics);
    json_.key("bottleneck");
    standing.bound ? json_.value(name(*standing.bound)) : json_.null();
    numbers("subgraphs", standing.subgraphs);
    if (standing.subgraphs.empty()) json_.field("not_partitioned", standing.why_none);
  }
  void border(std::string_view key, Border border, OpId at) {
    json_.key(key);
    json_.begin_object(JsonLayout::kInline);
    json_.field("reason", name(border));
    json_.field("explanation", explanation(border));
    if (at != kNone) json_.field("node", view_.node_of[at] + 1);
    json_.end_object();
  }
  void subgraph(SubgraphId id) {
    const Subgraph& group = profile_.partition.subgraphs[id];
    json_.field("id", id + 1);
    json_.field("type", group.type);
    numbers("nodes", nodes_of_subgraph(view_, id));
    json_.field("flops", group.flops);
    json_.field("memory_bytes", group.memory_bytes());
    json_.field("unfused_bytes", group.unfused_bytes);
    json_.field("bottleneck", name(bottleneck_of(group.flops, group.memory_bytes(), profile_.options.ridge)));
    border("begins", group.begins, group.begins_at);
    border("ends", group.ends, group.ends_at);
    const auto before = profile_.partition.depends_on(group);
    numbers("depends_on", {before.begin(), before.end()});
  }
  void op_or_null(std::string_view key, OpId op) {
    json_.key(key);
    op == kNone ? json_.null() : json_.value(view_.node_of[op] + 1);
  }
  void held(const HeldResult& result) {
    value(result.value);
    json_.field("kind", name(result.piece.kind));
    json_.field("storage_bytes", result.piece.bytes);
    json_.field("made_here", result.made_here);
    op_or_null("made_by", result.piece.held.made);
    op_or_null("last_read_by", result.piece.last_use);
    op_or_null("freed_after", result.piece.held.freed);
  }

  const GraphView& view_;
  const Profile& profile_;
  const Graph& graph_;
  JsonWriter json_;
};

template <class Write>
std::string written(const GraphView& view, Write write) {
  std::string out;
  ExploreWriter writer(view, out);
  write(writer);
  writer.end();
  return out + "\n";
}

}  // namespace

std::string summary_json(const GraphView& view) {
  return written(view, [&](ExploreWriter& writer) { writer.summary(), writer.listing(all_nodes(view)); });
}

std::string nodes_json(const GraphView& view, const Selection& selection) {
  return written(view, [&](ExploreWriter& writer) { writer.listing(selection.nodes); });
}

std::string node_json(const GraphView& view, std::uint32_t node) {
  return written(view, [&](ExploreWriter& writer) { writer.listing({node}), writer.details(node); });
}

std::string ways_json(const GraphView& view, const Ways& ways) {
  return written(view, [&](ExploreWriter& writer) { writer.ways(ways); });
}

}  // namespace opscope
