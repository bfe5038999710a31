// A view as JSON: every number to the last digit. Nodes and subgraphs count from 1, ops from 0 as in
// profiles.
#include <algorithm>

#include "report/core/document.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/profile/columns.h"

namespace opscope {
namespace {

struct ExploreWriter {
  const GraphView& view;
  JsonWriter& json;
  const Profile& profile = *view.profile;
  const Graph& graph = *profile.graph;

  void head() {
    begin_report(json, graph);
    json.field("tracer", graph.capture.tracer);
    json.field("level", name(view.level));
    json.field("convention", name(profile.options.convention));
    json.field("ridge", profile.options.ridge);
    json.field("total_nodes", view.nodes.size());
    json.field("total_subgraphs", profile.partition().subgraphs.size());
  }

  void summary() {
    const ExploreSummary summary = summarise(view);
    json.field("partitioned_nodes", summary.partitioned_nodes);
    json.field("working_ops", summary.working_ops);
    json.field("partitioned_ops", summary.partitioned_ops);
    json.field("unfused_bytes", profile.partition().unfused_bytes);
    json.field("fused_bytes", profile.partition().fused_bytes);
    json.inline_object("kinds", [&] {
      for (const auto& [kind, count] : summary.kinds) json.field(kind, count);
    });
    json.object("bottlenecks", [&] {
      for (std::size_t b = 0; b < kBottlenecks; ++b)
        json.inline_object(std::string(word(static_cast<Bottleneck>(b))) + "_bound", [&] {
          json.field("subgraphs", summary.bounds[b].ops);
          json.field("flops", summary.bounds[b].flops);
          json.field("memory_bytes", summary.bounds[b].memory_bytes);
        });
    });
    Columns<TypeRow> types{{"type", &TypeRow::type},
                           {"category", [](const TypeRow& row) { return name(row.category); }}};
    Columns<Metrics> metrics = cost_columns(
        "ops macs flops input_bytes output_bytes weight_bytes memory_bytes arithmetic_intensity confidence");
    if (is_measured(profile)) metrics += {{"time_seconds", &Metrics::time_seconds}};
    if (has_device(profile)) metrics += roofline_columns();
    write_rows(json, "types", types += through<TypeRow>(&TypeRow::metrics, metrics), profile.types());
  }

  void listing(const std::vector<std::uint32_t>& nodes) {
    write_nodes(json, view, nodes);
    std::vector<OpId> ops;
    for (const std::uint32_t n : nodes)
      std::ranges::copy(view.ops_of(view.nodes[n]), std::back_inserter(ops));
    json.objects("subgraphs", subgraphs_of(profile.partition(), ops), [&](SubgraphId id) { subgraph(id); });
  }
  void subgraph(SubgraphId id) {
    const Subgraph& group = profile.partition().subgraphs[id];
    json.field("id", id + 1);
    json.field("type", group.type);
    json.list("nodes", counted_from_1(nodes_of_subgraph(view, id)));
    json.field("flops", group.flops);
    json.field("memory_bytes", group.memory_bytes());
    json.field("unfused_bytes", group.unfused_bytes);
    json.field("bottleneck", name(bottleneck_of(group.flops, group.memory_bytes(), profile.options.ridge)));
    border("begins", group.begins, group.begins_at);
    border("ends", group.ends, group.ends_at);
    json.list("depends_on", counted_from_1(profile.partition().depends_on(group)));
  }
  void border(std::string_view key, Border border, OpId at) {
    json.inline_object(key, [&] {
      json.field("reason", name(border));
      json.field("explanation", explanation(border));
      if (at != kNone) json.field("node", view.node_of[at] + 1);
    });
  }

  void details(const ViewNode& node) {
    const auto value = [&](ValueId id) { write_fields(json, value_columns(graph), id); };
    json.objects("inputs", view.inputs_of(node), [&](const ViewEdge& edge) {
      json.field("from", edge.from + 1);
      json.field("name", view.nodes[edge.from].name);
      value(edge.value);
    });
    json.objects("weights", weights_read(view, node), [&](ValueId id) {
      json.field("name", graph.text(graph.values[id].name));
      json.field("kind", name(graph.values[id].kind));
      value(id);
    });
    json.objects("outputs", view.outputs_of(node), [&](std::uint32_t e) {
      json.field("to", view.edges[e].to + 1);
      json.field("name", view.nodes[view.edges[e].to].name);
      value(view.edges[e].value);
    });
    const auto node_or_null = [&](std::string_view key, OpId op) {
      json.field(key, op == kNone ? std::nullopt : std::optional(view.node_of[op] + 1));
    };
    json.objects("memory", results_of(view, node), [&](const HeldResult& result) {
      value(result.value);
      json.field("kind", name(result.piece.kind));
      json.field("storage_bytes", result.piece.bytes);
      json.field("made_here", result.made_here);
      node_or_null("made_by", result.piece.held.made);
      node_or_null("last_read_by", result.piece.last_use);
      node_or_null("freed_after", result.piece.held.freed);
    });
    json.objects("ops", view.ops_of(node), [&](OpId op) {
      json.field("index", op);
      json.field("op", graph.op_name(graph.ops[op]));
      json.field("explanation", explain(graph, op));
    });
  }

  void ways(const Ways& ways) {
    json.field("ways", ways.count);
    json.field("at_least", ways.count.saturated());
    json.field("nodes_on_any", ways.nodes);
    json.list("shortest", counted_from_1(ways.shortest));
    json.list("costliest", counted_from_1(ways.costliest));
    json.field("costliest_flops", ways.costliest_flops);
    json.objects("on_every_way", ways.stages, [&](const Stage& stage) {
      json.field("index", stage.node + 1);
      json.field("name", view.nodes[stage.node].name);
      json.field("ways_to_next", stage.ways);
      json.field("nodes_to_next", stage.between);
    });
  }
};

}  // namespace

void write_summary(JsonWriter& json, const GraphView& view) {
  ExploreWriter writer{view, json};
  writer.head(), writer.summary(), writer.listing(all_nodes(view));
}

void write_selection(JsonWriter& json, const GraphView& view, const Selection& selection) {
  ExploreWriter writer{view, json};
  writer.head(), writer.listing(selection.nodes);
}

void write_node(JsonWriter& json, const GraphView& view, std::uint32_t node) {
  ExploreWriter writer{view, json};
  writer.head(), writer.listing({node}), writer.details(view.nodes[node]);
}

void write_ways(JsonWriter& json, const GraphView& view, const Ways& ways) {
  ExploreWriter writer{view, json};
  writer.head(), writer.ways(ways);
}

}  // namespace opscope
