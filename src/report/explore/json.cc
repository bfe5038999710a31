// A view as JSON: every number to the last digit. Nodes and subgraphs count from 1, ops from 0 as in
// profiles.
#include <algorithm>

#include "report/core/document.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/profile/columns.h"

namespace opscope {
namespace {

class ExploreWriter {
 public:
  ExploreWriter(const GraphView& view, JsonWriter& json)
      : view_(view), profile_(*view.profile), graph_(*profile_.graph), json_(json) {
    begin_report(json_, graph_);
    json_.field("tracer", graph_.capture.tracer);
    json_.field("level", name(view.level));
    json_.field("convention", name(profile_.options.convention));
    json_.field("ridge", profile_.options.ridge);
    json_.field("total_nodes", view.nodes.size());
    json_.field("total_subgraphs", profile_.partition().subgraphs.size());
  }
  void summary() {
    const ExploreSummary summary = summarise(view_);
    json_.field("partitioned_nodes", summary.partitioned_nodes);
    json_.field("working_ops", summary.working_ops);
    json_.field("partitioned_ops", summary.partitioned_ops);
    json_.field("unfused_bytes", profile_.partition().unfused_bytes);
    json_.field("fused_bytes", profile_.partition().fused_bytes);
    json_.inline_object("kinds", [&] {
      for (const auto& [kind, count] : summary.kinds) json_.field(kind, count);
    });
    json_.object("bottlenecks", [&] {
      for (std::size_t b = 0; b < kBottlenecks; ++b) band(static_cast<Bottleneck>(b), summary.bounds[b]);
    });
    Columns<TypeRow> types{{"type", &TypeRow::type},
                           {"category", [](const TypeRow& row) { return name(row.category); }}};
    Columns<Metrics> metrics = cost_columns(
        "ops macs flops input_bytes output_bytes weight_bytes memory_bytes arithmetic_intensity confidence");
    if (is_measured(profile_)) metrics += {{"time_seconds", &Metrics::time_seconds}};
    if (has_device(profile_)) metrics += roofline_columns();
    write_rows(json_, "types", types += through<TypeRow>(&TypeRow::metrics, metrics), profile_.types());
  }

  void listing(const std::vector<std::uint32_t>& nodes) {
    write_nodes(json_, view_, nodes);
    std::vector<SubgraphId> ids;
    for (const std::uint32_t n : nodes)
      for (const OpId op : view_.ops_of(view_.nodes[n]))
        if (profile_.partition().of_op[op] != kNone) ids.push_back(profile_.partition().of_op[op]);
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
  void band(Bottleneck bound, const Band& band) {
    json_.inline_object(std::string(word(bound)) + "_bound", [&] {
      json_.field("subgraphs", band.ops);
      json_.field("flops", band.flops);
      json_.field("memory_bytes", band.memory_bytes);
    });
  }
  void value(ValueId id) { write_fields(json_, value_columns(graph_), id); }
  void numbers(std::string_view key, const std::vector<std::uint32_t>& items) {
    json_.key(key);
    json_.begin_array(JsonLayout::kInline);
    for (const std::uint32_t n : items) json_.value(n + 1);
    json_.end_array();
  }

  void border(std::string_view key, Border border, OpId at) {
    json_.inline_object(key, [&] {
      json_.field("reason", name(border));
      json_.field("explanation", explanation(border));
      if (at != kNone) json_.field("node", view_.node_of[at] + 1);
    });
  }
  void subgraph(SubgraphId id) {
    const Subgraph& group = profile_.partition().subgraphs[id];
    json_.field("id", id + 1);
    json_.field("type", group.type);
    numbers("nodes", nodes_of_subgraph(view_, id));
    json_.field("flops", group.flops);
    json_.field("memory_bytes", group.memory_bytes());
    json_.field("unfused_bytes", group.unfused_bytes);
    json_.field("bottleneck", name(bottleneck_of(group.flops, group.memory_bytes(), profile_.options.ridge)));
    border("begins", group.begins, group.begins_at);
    border("ends", group.ends, group.ends_at);
    const auto before = profile_.partition().depends_on(group);
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
  JsonWriter& json_;
};

}  // namespace

void write_summary(JsonWriter& json, const GraphView& view) {
  ExploreWriter writer(view, json);
  writer.summary(), writer.listing(all_nodes(view));
}

void write_selection(JsonWriter& json, const GraphView& view, const Selection& selection) {
  ExploreWriter(view, json).listing(selection.nodes);
}

void write_node(JsonWriter& json, const GraphView& view, std::uint32_t node) {
  ExploreWriter writer(view, json);
  writer.listing({node}), writer.details(node);
}

void write_ways(JsonWriter& json, const GraphView& view, const Ways& ways) {
  ExploreWriter(view, json).ways(ways);
}

}  // namespace opscope
