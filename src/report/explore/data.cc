// Nodes as rows: of a document's table with their subgraphs, of CSV and JSON with every digit, of a profile
// at another level than its modules; and a view as JSON. Nodes and subgraphs count from 1, ops from 0 as in
// profiles.
#include <algorithm>

#include "analyse/fusion/subgraphs.h"
#include "report/core/document.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/predict/predict.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr std::size_t kTableRowsShown = 60;

struct NodeInView {
  std::uint32_t index = 0;
  const ViewNode* node = nullptr;
  Standing standing{};
};

// The only subgraph that a node is in.
const Subgraph* subgraph_of(const GraphView& view, const NodeInView& row) {
  const bool in_one = row.standing.subgraphs.size() == 1;
  return in_one ? &view.profile->partition().subgraphs[row.standing.subgraphs.front()] : nullptr;
}

Columns<NodeInView> people_columns(const GraphView& view) {
  using Row = const NodeInView&;
  return {
      {number("#").quiet(), [](Row row) { return row.index + 1; }},
      {words("Kind").quiet(), [](Row row) { return row.node->kind; }},
      {words("Node"), [](Row row) { return row.node->name; }},
      {words("Target"), [](Row row) { return row.node->target; }},
      {words("Shapes"), [&](Row row) { return shapes_text(view, *row.node); }},
      {number("FLOPs"), [](Row row) { return flops_cell(row.node->metrics); }},
      {words("Subgraph"),
       [](Row row) { return row.standing.subgraphs.empty() ? "-" : subgraphs_text(row.standing.subgraphs); }},
      {words("Type"),
       [&](Row row) {
         const Subgraph* subgraph = subgraph_of(view, row);
         return subgraph ? std::string_view(subgraph->type) : "";
       }},
      {number("Its FLOPs", Unit::kCount), [](Row row) { return row.standing.flops; }},
      {number("FLOPs/byte", Unit::kRatio), [](Row row) { return row.standing.arithmetic_intensity(); }},
      {words("Bottleneck"),
       [](Row row) {
         return row.standing.bound ? Cell(name(*row.standing.bound), style_of(*row.standing.bound))
                                   : Cell("-");
       }},
      {words("Why").quiet(), [&](Row row) {
         const Subgraph* subgraph = subgraph_of(view, row);
         if (!subgraph) return std::string(row.standing.why_none);
         return "begins: " + border_text(view, "after", subgraph->begins, subgraph->begins_at) +
                "; ends: " + border_text(view, "before", subgraph->ends, subgraph->ends_at);
       }}};
}

// The view may be gone before the table is shown: names are copied.
Columns<ViewNode> level_columns(const GraphView& view, const TextOptions& options) {
  using Row = const ViewNode&;
  const Profile& profile = *view.profile;
  Columns<ViewNode> columns{{number("#").quiet(), [&](Row node) { return index_in(view.nodes, node) + 1; }},
                            {words("Node", 16, 30), [](Row node) { return std::string(node.name); }},
                            {words("Target", 10).or_not().quiet(), [](Row node) {
                               return std::string(node.target == node.name ? "" : node.target);
                             }}};
  if (options.show_shapes)
    columns += {{words("Output", 10), [&](Row node) { return shape_text(*profile.graph, node.output); }}};
  columns += {{number("Params", Unit::kParams).or_not(), [](Row node) { return node.parameters.total; }}};
  std::string names = "macs? flops flops%? memory_bytes arithmetic_intensity";
  if (is_measured(profile)) names += " time_seconds time_seconds%";
  if (has_device(profile)) names += " roofline_seconds? predicted_seconds bound";
  columns += through<ViewNode>(&ViewNode::metrics, shown_columns(profile, names));
  return columns += {{number("Subgraph").or_not().quiet(), [](Row node) {
                        return node.subgraph == kNone ? "-" : subgraphs_text({node.subgraph});
                      }}};
}

std::vector<NodeInView> rows_of(const GraphView& view, const std::vector<std::uint32_t>& nodes) {
  std::vector<NodeInView> rows;
  for (const std::uint32_t n : nodes) rows.push_back({n, &view.nodes[n], standing_of(view, view.nodes[n])});
  return rows;
}

Columns<NodeInView> program_columns(const GraphView& view) {
  using Row = const NodeInView&;
  const Profile& profile = *view.profile;
  const Graph& graph = *profile.graph;
  const auto metrics = [](const Columns<Metrics>& columns) {
    return through<NodeInView>([](Row row) -> const Metrics& { return row.node->metrics; }, columns);
  };
  // Of the costliest of its subgraphs.
  const auto subgraph = [&](const auto& read) {
    return [&profile, read](Row row) {
      const SubgraphId id = row.node->subgraph;
      return id == kNone ? Cell() : Cell(std::string_view(read(profile.partition().subgraphs[id])));
    };
  };
  const Columns<Metrics> time =
      is_measured(profile) ? Columns<Metrics>{{"time_seconds", &Metrics::time_seconds}} : Columns<Metrics>();
  Columns<Metrics> roofline = has_device(profile) ? roofline_columns() : Columns<Metrics>();
  Columns<NodeInView> columns{
      {"index", [](Row row) { return row.index + 1; }},
      {"kind", [](Row row) { return row.node->kind; }},
      {"name", [](Row row) { return row.node->name; }},
      {in_json("tracer_name"),
       [&](Row row) {
         const NodeId id = row.node->node;
         return id == kNone ? Cell(Absent{}) : Cell(graph.text(graph.nodes[id].name));
       }},
      {"target", [](Row row) { return row.node->target; }},
      {"module", [&](Row row) { return graph.path(graph.modules[row.node->module]); }},
      {in_csv("input_shapes"), [&](Row row) {
         std::string text;
         for (const ViewEdge& edge : view.inputs_of(*row.node))
           if (edge.value != kNone) text += (text.empty() ? "" : " ") + shape_text(graph, edge.value);
         return text;
       }}};
  auto values = through<NodeInView>([](Row row) { return row.node->output; }, value_columns(graph));
  values.back().column.in = In::kJson;
  columns += std::move(values);
  columns += {{in_json("from"), [&](Row row) {
                 Numbers from;
                 for (const ViewEdge& edge : view.inputs_of(*row.node)) from.push_back(edge.from + 1);
                 return from;
               }}};
  columns += in_format_alone(In::kCsv, metrics(cost_columns("ops")));
  columns += {{"params", [](Row row) { return row.node->parameters.total; }}};
  columns += in_format_alone(In::kJson, metrics(cost_columns("ops")));
  columns += metrics(cost_columns(
      "macs flops input_bytes output_bytes weight_bytes memory_bytes arithmetic_intensity confidence"));
  columns += in_format_alone(In::kJson, metrics(time));
  const Columns<Metrics> predicted = predicted_columns(profile);
  columns += in_format_alone(In::kJson, metrics(predicted));
  columns += in_format_alone(In::kJson, metrics(roofline));
  const auto subgraphs = [](Row row) { return counted_from_1(row.standing.subgraphs); };
  columns +=
      {{"bottleneck", [](Row row) { return row.standing.bound ? Cell(name(*row.standing.bound)) : Cell(); }},
       {in_csv("subgraph"), subgraphs},
       {in_json("subgraphs"), subgraphs},
       {in_csv("subgraph_type"), subgraph([](const Subgraph& s) { return s.type; })},
       {in_csv("begins"), subgraph([](const Subgraph& s) { return name(s.begins); })},
       {in_csv("ends"), subgraph([](const Subgraph& s) { return name(s.ends); })},
       {"not_partitioned", [](Row row) {
          return row.standing.subgraphs.empty() ? Cell(row.standing.why_none) : Cell(Absent{});
        }}};
  columns += in_format_alone(In::kCsv, metrics(time));
  columns += in_format_alone(In::kCsv, metrics(predicted));
  if (!roofline.empty()) roofline.resize(1, roofline.front());
  return columns += in_format_alone(In::kCsv, metrics(roofline));
}

struct ExploreWriter {
  const GraphView& view;
  JsonWriter& json;
  const Profile& profile = *view.profile;
  const Graph& graph = *profile.graph;

  void head() {
    begin_report(json, graph);
    json.fields("tracer", graph.capture.tracer, "level", name(view.level));
    json.fields("convention", name(profile.options.convention), "ridge", profile.options.ridge);
    json.fields("total_nodes", view.nodes.size(), "total_subgraphs", profile.partition().subgraphs.size());
  }

  void summary() {
    const ExploreSummary summary = summarise(view);
    json.fields("partitioned_nodes", summary.partitioned_nodes, "working_ops", summary.working_ops);
    json.field("partitioned_ops", summary.partitioned_ops);
    json.field("unfused_bytes", profile.partition().unfused_bytes);
    json.field("fused_bytes", profile.partition().fused_bytes);
    json.inline_object("kinds", [&] {
      for (const auto& [kind, count] : summary.kinds) json.field(kind, count);
    });
    json.object("bottlenecks", [&] {
      const auto bands = summarise_partition(profile).bounds;
      for (const Band& band : bands)
        json.inline_object(std::string(word(static_cast<Bottleneck>(&band - bands.data()))) + "_bound", [&] {
          json.fields("subgraphs", band.ops, "flops", band.flops, "memory_bytes", band.memory_bytes);
        });
    });
    Columns<TypeRow> types{{"type", &TypeRow::type}, {"category", &TypeRow::category}};
    Columns<Metrics> metrics = cost_columns(
        "ops macs flops input_bytes output_bytes weight_bytes memory_bytes arithmetic_intensity confidence");
    if (is_measured(profile)) metrics += {{"time_seconds", &Metrics::time_seconds}};
    metrics += predicted_columns(profile);
    if (has_device(profile)) metrics += roofline_columns();
    write_rows(json, "types", types += through<TypeRow>(&TypeRow::metrics, metrics), profile.types());
  }

  void listing(const std::vector<std::uint32_t>& nodes) {
    write_rows(json, "nodes", program_columns(view), rows_of(view, nodes));
    std::vector<OpId> ops;
    for (const std::uint32_t n : nodes)
      std::ranges::copy(view.ops_of(view.nodes[n]), std::back_inserter(ops));
    json.objects("subgraphs", subgraphs_of(profile.partition(), ops), [&](SubgraphId id) { subgraph(id); });
  }
  void subgraph(SubgraphId id) {
    const Subgraph& group = profile.partition().subgraphs[id];
    json.fields("id", id + 1, "type", group.type);
    json.list("nodes", counted_from_1(nodes_of_subgraph(view, id)));
    json.fields("flops", group.flops, "memory_bytes", group.memory_bytes());
    json.field("unfused_bytes", group.unfused_bytes);
    json.field("bottleneck", name(bottleneck_of(profile, group)));
    border("begins", group.begins, group.begins_at);
    border("ends", group.ends, group.ends_at);
    json.list("depends_on", counted_from_1(profile.partition().depends_on(group)));
  }
  void border(std::string_view key, Border border, OpId at) {
    json.inline_object(key, [&] {
      json.fields("reason", name(border), "explanation", explanation(border));
      if (at != kNone) json.field("node", view.node_of[at] + 1);
    });
  }

  void details(const ViewNode& node) {
    const auto value = [&](ValueId id) { write_fields(json, value_columns(graph), id); };
    json.objects("inputs", view.inputs_of(node), [&](const ViewEdge& edge) {
      json.fields("from", edge.from + 1, "name", view.nodes[edge.from].name);
      value(edge.value);
    });
    json.objects("weights", weights_read(view, node), [&](ValueId id) {
      json.fields("name", graph.text(graph.values[id].name), "kind", name(graph.values[id].kind));
      value(id);
    });
    json.objects("outputs", view.outputs_of(node), [&](std::uint32_t e) {
      json.fields("to", view.edges[e].to + 1, "name", view.nodes[view.edges[e].to].name);
      value(view.edges[e].value);
    });
    const auto node_or_null = [&](std::string_view key, OpId op) {
      json.field(key, op == kNone ? std::nullopt : std::optional(view.node_of[op] + 1));
    };
    json.objects("memory", results_of(view, node), [&](const HeldResult& result) {
      value(result.value);
      json.fields("kind", name(result.piece.kind), "storage_bytes", result.piece.bytes);
      json.field("made_here", result.made_here);
      node_or_null("made_by", result.piece.held.made);
      node_or_null("last_read_by", result.piece.last_use);
      node_or_null("freed_after", result.piece.held.freed);
    });
    json.objects("ops", view.ops_of(node), [&](OpId op) {
      json.fields("index", op, "op", graph.op_name(graph.ops[op]), "explanation",
                  explain(graph, op, view.profile->experts));
    });
  }

  void ways(const Ways& ways) {
    json.fields("ways", ways.count, "at_least", ways.count.saturated(), "nodes_on_any", ways.nodes);
    json.list("shortest", counted_from_1(ways.shortest));
    json.list("costliest", counted_from_1(ways.costliest));
    json.field("costliest_flops", ways.costliest_flops);
    json.objects("on_every_way", ways.stages, [&](const Stage& stage) {
      json.fields("index", stage.node + 1, "name", view.nodes[stage.node].name, "ways_to_next", stage.ways);
      json.field("nodes_to_next", stage.between);
    });
  }
};

}  // namespace

std::string explore_report(const GraphView& view, Format format, const TextOptions& options,
                           const ExploreReport& report) {
  const auto json = [&](JsonWriter& out) {
    ExploreWriter writer{view, out};
    writer.head();
    if (report.ways) return writer.ways(*report.ways);
    if (report.summary) writer.summary();
    writer.listing(report.nodes);
    if (report.details) writer.details(view.nodes[report.nodes.front()]);
  };
  const auto rows = [&] { return table_of(program_columns(view), rows_of(view, report.nodes), In::kCsv); };
  const auto document = [&] {
    return Document{header_cells(*view.profile), note_lines(*view.profile, options), report.sections()};
  };
  return to_format(Report{json, rows, document}, format, options);
}

Table nodes_table(const GraphView& view, const std::vector<std::uint32_t>& nodes) {
  return table_of(people_columns(view), rows_of(view, nodes));
}

Section level_section(const GraphView& view, const TextOptions& options) {
  const std::size_t all = view.nodes.size();
  const auto nodes = std::span(view.nodes).first(options.verbose ? all : std::min(all, kTableRowsShown));
  Section section{std::to_string(all) + " nodes at the level of " + std::string(name(view.level)) + "s",
                  table_of(level_columns(view, options), nodes)};
  say_more(section, nodes.size(), all, "node");
  return section;
}

}  // namespace opscope
