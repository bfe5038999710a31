// What tracers make of a model for programs: every row, every number to the last digit. Nodes and graphs
// count from 1, as --graph-part does.
#include "report/trace/report.h"

#include <algorithm>

#include "base/text.h"
#include "report/profile/columns.h"
#include "report/profile/sections.h"

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

namespace {

Cell difference_cell(const TracerRow& row) {
  if (row.is_engine) return {"the engine", Style::kQuiet};
  if (!row.macs_difference) return {"-", Style::kQuiet};
  return {difference_text(*row.macs_difference), *row.macs_difference ? Style::kWarning : Style::kGood};
}

// Of a tracer that gave a graph: "-" for none.
Cell count_of(std::uint64_t count) { return count ? Cell(count) : Cell("-", Style::kQuiet); }
template <class Read>
auto of_totals(const Read& read) {
  return [=](const TracerRow& row) { return row.totals ? Cell(read(row)) : Cell("-", Style::kQuiet); };
}

Columns<TracerRow> overview_columns() {
  using Row = const TracerRow&;
  return {{words("Tracer", 16), [](Row row) { return Cell(row.tracer, Style::kStrong); }},
          {words("Works"),
           [](Row row) { return row.works() ? Cell("yes", Style::kGood) : Cell("no", Style::kWarning); }},
          {number("Nodes"), [](Row row) { return count_of(row.nodes.value_or(0)); }},
          {number("Graphs"), [](Row row) { return count_of(row.graphs); }},
          {number("Breaks"), [](Row row) { return count_of(row.breaks.size()); }},
          {number("Ops"), of_totals([](Row row) { return count_of(row.totals->ops); })},
          {number("MACs"), of_totals([](Row row) { return format_count(row.totals->work.macs); })},
          {number("Params").or_not(), of_totals([](Row row) { return format_params(row.parameters.total); })},
          {words("Difference"), difference_cell},
          {number("Time"), [](Row row) { return format_seconds(row.seconds); }}};
}

Section kinds_section(const TraceComparison& comparison) {
  Columns<TracerRow> columns{
      {words("Nodes by kind", 16), [](const TracerRow& row) { return Cell(row.tracer, Style::kStrong); }}};
  for (const NodeKind kind : kNodeKinds)
    columns.push_back({number(std::string(name(kind))), [kind](const TracerRow& row) {
                         const auto found = std::ranges::find(row.kinds, kind, &KindRow::kind);
                         return count_of(found == row.kinds.end() ? 0 : found->count);
                       }});
  std::vector<TracerRow> rows = comparison.rows;
  std::erase_if(rows, [](const TracerRow& row) { return row.kinds.empty(); });
  return {"Nodes by kind", table_of(columns, rows)};
}

void add_lines(std::string_view text, std::vector<std::string>& lines) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (text.find_first_not_of(" \r\t") < end) lines.push_back("  " + std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Further lines are PyTorch's.
std::vector<std::string> lines_of_breaks(const TracerRow& row, bool verbose) {
  std::vector<std::string> lines;
  for (const std::string& text : break_lines(row.breaks, row.graphs > 1, verbose)) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    add_lines(std::string_view(text).substr(std::min(end + 1, text.size())), lines);
  }
  return lines;
}

}  // namespace

constexpr std::string_view kBoundRemark =
    "data-dependent sizes are at their upper bound, so its MACs are an upper bound; a real run may do less";

Section overview_section(const std::vector<TracerRow>& rows) {
  return {"Tracers", table_of(overview_columns(), rows)};
}

Section reasons_section(const std::vector<TracerRow>& rows, bool verbose) {
  Section section{"Reasons"};
  for (const TracerRow& row : rows) {
    if (row.is_engine && row.totals && row.totals->confidence == Confidence::kUpperBound)
      section.entries.push_back({row.tracer, {std::string(kBoundRemark)}});
    if (!row.works())
      section.entries.push_back({row.tracer, failure_lines(row.failure, verbose)});
    else if (!row.breaks.empty())
      section.entries.push_back({row.tracer, lines_of_breaks(row, verbose)});
  }
  return section;
}

std::string difference_text(std::int64_t difference) {
  return difference == 0 ? "same" : text_of(cell_of(difference, Unit::kCount));
}

std::vector<std::string> failure_lines(const TraceFailure& failure, bool verbose) {
  std::vector<std::string> lines{failure.where.empty() ? failure.reason
                                                       : failure.where + ": " + failure.reason};
  add_lines(failure.hint, lines);
  if (verbose) add_lines(failure.detail, lines);
  return lines;
}

void add_files(const std::vector<SavedFile>& files, bool verbose, Document& document) {
  std::vector<Entry> entries;
  for (const SavedFile& file : files) {
    const bool has_row = file.kind != "python" && file.kind != "capture";
    Entry entry{file.path, {}};
    if (!has_row && !file.failure.reason.empty()) entry.lines = failure_lines(file.failure, verbose);
    if (!has_row && file.failure.reason.empty())
      entry.lines.push_back(file.seconds > 0 ? "written in " + format_seconds(file.seconds) : "written");
    for (const std::string& note : file.notes) entry.lines.push_back(note);
    if (entry.lines.empty()) continue;
    entries.push_back(std::move(entry));
  }
  if (!entries.empty()) document.sections.push_back({"Files", {}, {}, std::move(entries)});
}

Document comparison_document(const TraceComparison& comparison, const TextOptions& options) {
  Document document{model_cells(*comparison.graph), options.notes};
  document.sections.push_back(overview_section(comparison.rows));
  document.sections.push_back(kinds_section(comparison));
  document.add(reasons_section(comparison.rows, options.verbose));
  add_files(comparison.files, options.verbose, document);
  return document;
}

}  // namespace opscope
