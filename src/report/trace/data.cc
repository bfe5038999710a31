// What tracers make of a model for programs: every row, every number to the last digit. Nodes and graphs
// count from 1, as --graph-part does.
#include <algorithm>

#include "report/profile/columns.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

Columns<Metrics> sum_columns() { return cost_columns("ops macs flops memory_bytes confidence"); }

// Nodes in the order of the graph, the first of them 1.
Columns<GraphNode> node_columns(const Graph& graph, const std::vector<GraphNode>& nodes) {
  using Row = const GraphNode&;
  const Columns<GraphNode> label{{"label", &GraphNode::label}};
  Columns<GraphNode> columns{{"index", [&](Row row) { return &row - nodes.data() + 1; }},
                             {"part", [](Row row) { return row.part + 1; }},
                             {"kind", [](Row row) { return name(row.kind); }}};
  columns += in_format_alone(In::kCsv, label);
  columns += {{"name", &GraphNode::name}};
  columns += in_format_alone(In::kJson, label);
  columns += {{"target", &GraphNode::target},
              {{.key = "type", .in = In::kJson}, &GraphNode::type},
              {"module", &GraphNode::module},
              {"calls", &GraphNode::calls}};
  const auto values = through<GraphNode>(&GraphNode::output, value_columns(graph));
  columns += {values[0], values[1]};
  columns += through<GraphNode>(&GraphNode::metrics, cost_columns("ops macs flops memory_bytes"));
  columns += in_format_alone(In::kJson, through<GraphNode>(&GraphNode::metrics, cost_columns("confidence")));
  return columns +=
         {{"source", [](Row row) { return row.source.empty() ? Cell(Absent{}) : Cell(row.source); }}};
}

Columns<TracerRow> tracer_columns() {
  using Row = const TracerRow&;
  Columns<TracerRow> columns{{"tracer", &TracerRow::tracer},
                             {"works", [](Row row) { return row.works() ? "yes" : "no"; }},
                             {"nodes", &TracerRow::nodes}};
  for (const NodeKind kind : kNodeKinds)
    columns.push_back({{.key = std::string(name(kind))}, [kind](Row row) -> Cell {
                         if (row.kinds.empty()) return {};
                         const auto found = std::ranges::find(row.kinds, kind, &KindRow::kind);
                         return found == row.kinds.end() ? 0u : found->count;
                       }});
  const auto where_works = [](const auto& read) {
    return [=](Row row) { return row.works() ? Cell(read(row)) : Cell(); };
  };
  columns += {{"graphs", where_works([](Row row) { return row.graphs; })},
              {"breaks", where_works([](Row row) { return row.breaks.size(); })}};
  for (const auto& [column, read] : cost_columns("ops macs flops memory_bytes"))
    columns.push_back({column, [read = read](Row row) { return row.totals ? read(*row.totals) : Cell(); }});
  return columns += {{"params", [](Row row) { return row.totals ? Cell(row.parameters.total) : Cell(); }},
                     {"macs_difference", &TracerRow::macs_difference},
                     {"seconds", &TracerRow::seconds},
                     {"reason", [](Row row) { return row.failure.reason; }},
                     {"hint", [](Row row) { return row.failure.hint; }}};
}

class TraceWriter {
 public:
  explicit TraceWriter(JsonWriter& json) : json_(json) {}

  void comparison(const TraceComparison& comparison) {
    begin_report(json_, *comparison.graph);
    json_.objects("tracers", comparison.rows, [&](const TracerRow& row) { tracer(row); });
    files(comparison.files);
  }

  void detail(const TraceDetail& detail) {
    const Profile& profile = *detail.profile;
    const std::vector<GraphNode> nodes = graph_nodes(profile);
    begin_report(json_, *profile.graph);
    json_.object("tracer", [&] { tracer(detail.row); });
    json_.objects("parts", profile.parts(), [&](const PartRow& row) { part(*profile.graph, row); });
    if (!profile.parts().empty()) json_.inline_object("outside", [&] { metrics(profile.outside()); });
    json_.objects("kinds", count_kinds(nodes),
                  [&](const KindRow& row) { counted(row.kind, "", row.count, row.metrics); });
    json_.objects("targets", count_targets(nodes),
                  [&](const TargetRow& row) { counted(row.kind, row.target, row.count, row.metrics); });
    write_rows(json_, "nodes", node_columns(*profile.graph, nodes), nodes);
    if (!detail.exports.empty())
      json_.objects("exports", detail.exports, [&](const TracerRow& row) { tracer(row); });
    files(detail.files);
  }

 private:
  void failure(const TraceFailure& failure) {
    json_.inline_object("error", [&] {
      json_.field("what", failure.reason);
      json_.field("where", failure.where);
      json_.field("hint", failure.hint);
      json_.field("detail", failure.detail);
    });
  }

  void metrics(const Metrics& metrics) { write_fields(json_, sum_columns(), metrics); }

  void tracer(const TracerRow& row) {
    json_.field("tracer", row.tracer);
    json_.field("works", row.works());
    json_.field("engine", row.is_engine);
    json_.field("seconds", row.seconds);
    if (!row.works()) return failure(row.failure);
    json_.field("nodes", row.nodes);
    json_.inline_object("kinds", [&] {
      for (const KindRow& kind : row.kinds) json_.field(name(kind.kind), kind.count);
    });
    json_.field("graphs", row.graphs);
    write_rows(json_, "breaks", break_columns(), row.breaks);
    if (!row.rungs.empty()) write_rows(json_, "rungs", rung_columns(), row.rungs);
    if (!row.totals) return;
    metrics(*row.totals);
    json_.field("params", row.parameters.total);
    json_.field("macs_difference", row.macs_difference);
  }
  void part(const Graph& graph, const PartRow& row) {
    json_.field("part", row.part + 1);
    json_.field("name", graph.parts[row.part].name);
    json_.field("calls", graph.parts[row.part].calls);
    json_.field("nodes", row.nodes);
    metrics(row.metrics);
  }
  void counted(NodeKind kind, std::string_view target, std::uint64_t count, const Metrics& sums) {
    json_.field("kind", name(kind));
    if (!target.empty()) json_.field("target", target);
    json_.field("count", count);
    metrics(sums);
  }
  void files(const std::vector<SavedFile>& files) {
    if (files.empty()) return;
    json_.objects("files", files, [&](const SavedFile& file) {
      json_.field("path", file.path);
      json_.field("kind", file.kind);
      json_.field("seconds", file.seconds);
      json_.list("notes", file.notes);
      if (!file.failure.reason.empty()) failure(file.failure);
    });
  }

  JsonWriter& json_;
};

}  // namespace

std::string to_format(const TraceComparison& comparison, Format format, const TextOptions& options) {
  return to_format(Report{[&](JsonWriter& json) { TraceWriter(json).comparison(comparison); },
                          [&] { return table_of(tracer_columns(), comparison.rows, In::kCsv); },
                          [&] { return comparison_document(comparison, options); }},
                   format, options);
}

std::string to_format(const TraceDetail& detail, Format format, const TextOptions& options) {
  const auto rows = [&] {
    const std::vector<GraphNode> nodes = graph_nodes(*detail.profile);
    return table_of(node_columns(*detail.profile->graph, nodes), nodes, In::kCsv);
  };
  return to_format(Report{[&](JsonWriter& json) { TraceWriter(json).detail(detail); }, rows,
                          [&] { return detail_document(detail, options); }},
                   format, options);
}

}  // namespace opscope
