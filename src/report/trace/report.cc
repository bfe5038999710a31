// What tracers make of a model: for programs every row and every digit, for people a row each, its nodes by
// kind and why what failed did. Nodes and graphs count from 1, as --graph-part does.
#include "report/trace/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

// Nodes in the order of the graph, the first of them 1.
Columns<GraphNode> node_columns(const Graph& graph, const std::vector<GraphNode>& nodes) {
  using Row = const GraphNode&;
  const auto metrics = [](std::string_view keys) {
    return through<GraphNode>(&GraphNode::metrics, cost_columns(keys));
  };
  Columns<GraphNode> columns{{"index", [&](Row row) { return &row - nodes.data() + 1; }},
                             {"part", [](Row row) { return row.part + 1; }},
                             {"kind", &GraphNode::kind},
                             {in_csv("label"), &GraphNode::label},
                             {"name", &GraphNode::name},
                             {in_json("label"), &GraphNode::label},
                             {"target", &GraphNode::target},
                             {in_json("type"), &GraphNode::type},
                             {"module", &GraphNode::module},
                             {"calls", &GraphNode::calls}};
  const auto values = through<GraphNode>(&GraphNode::output, value_columns(graph));
  columns += {values[0], values[1]};
  columns += metrics("ops macs flops memory_bytes");
  columns += in_format_alone(In::kJson, metrics("confidence"));
  return columns +=
         {{"source", [](Row row) { return row.source.empty() ? Cell(Absent{}) : Cell(row.source); }}};
}

std::uint64_t count_of(const TracerRow& row, NodeKind kind) {
  const auto found = std::ranges::find(row.kinds, kind, &KindRow::kind);
  return found == row.kinds.end() ? 0 : found->count;
}

Columns<TracerRow> tracer_columns() {
  using Row = const TracerRow&;
  Columns<TracerRow> columns{{"tracer", &TracerRow::tracer},
                             {"works", [](Row row) { return row.works() ? "yes" : "no"; }},
                             {"nodes", &TracerRow::nodes}};
  for (const NodeKind kind : kNodeKinds)
    columns.push_back({{.key = std::string(name(kind))},
                       [kind](Row row) { return row.kinds.empty() ? Cell() : Cell(count_of(row, kind)); }});
  columns += {{"graphs", [](Row row) { return row.works() ? Cell(row.graphs) : Cell(); }},
              {"breaks", [](Row row) { return row.works() ? Cell(row.breaks.size()) : Cell(); }}};
  for (const auto& [column, read] : cost_columns("ops macs flops memory_bytes"))
    columns.push_back({column, [read = read](Row row) { return row.totals ? read(*row.totals) : Cell(); }});
  return columns += {{"params", [](Row row) { return row.totals ? Cell(row.parameters.total) : Cell(); }},
                     {"macs_difference", &TracerRow::macs_difference},
                     {"seconds", &TracerRow::seconds},
                     {"reason", [](Row row) { return row.failure.reason; }},
                     {"hint", [](Row row) { return row.failure.hint; }}};
}

void write_metrics(JsonWriter& json, const Metrics& metrics) {
  write_fields(json, cost_columns("ops macs flops memory_bytes confidence"), metrics);
}

void write_failure(JsonWriter& json, const TraceFailure& failure) {
  json.inline_object("error", [&] {
    json.fields("what", failure.reason, "where", failure.where);
    json.fields("hint", failure.hint, "detail", failure.detail);
  });
}

void write_tracer(JsonWriter& json, const TracerRow& row) {
  json.fields("tracer", row.tracer, "works", row.works(), "engine", row.is_engine, "seconds", row.seconds);
  if (!row.works()) return write_failure(json, row.failure);
  json.field("nodes", row.nodes);
  json.inline_object("kinds", [&] {
    for (const KindRow& kind : row.kinds) json.field(name(kind.kind), kind.count);
  });
  json.field("graphs", row.graphs);
  write_rows(json, "breaks", break_columns(), row.breaks);
  if (!row.rungs.empty()) write_rows(json, "rungs", rung_columns(), row.rungs);
  if (!row.totals) return;
  write_metrics(json, *row.totals);
  json.fields("params", row.parameters.total, "macs_difference", row.macs_difference);
}
void write_tracers(JsonWriter& json, std::string_view key, const std::vector<TracerRow>& rows) {
  json.objects(key, rows, [&](const TracerRow& row) { write_tracer(json, row); });
}

void write_files(JsonWriter& json, const std::vector<SavedFile>& files) {
  if (files.empty()) return;
  json.objects("files", files, [&](const SavedFile& file) {
    json.fields("path", file.path, "kind", file.kind, "seconds", file.seconds);
    json.list("notes", file.notes);
    if (!file.failure.reason.empty()) write_failure(json, file.failure);
  });
}

void write_detail(JsonWriter& json, const TraceDetail& detail) {
  const Profile& profile = *detail.profile;
  const std::vector<GraphNode> nodes = graph_nodes(profile);
  begin_report(json, *profile.graph);
  json.object("tracer", [&] { write_tracer(json, detail.row); });
  const auto parts = part_columns(*profile.graph, cost_columns("ops macs flops memory_bytes confidence"));
  write_rows(json, "parts", parts, profile.parts());
  if (!profile.parts().empty())
    json.inline_object("outside", [&] { write_metrics(json, profile.outside()); });
  json.objects("kinds", count_kinds(nodes), [&](const KindRow& row) {
    json.fields("kind", name(row.kind), "count", row.count);
    write_metrics(json, row.metrics);
  });
  json.objects("targets", count_targets(nodes), [&](const TargetRow& row) {
    json.field("kind", name(row.kind));
    if (!row.target.empty()) json.field("target", row.target);
    json.field("count", row.count);
    write_metrics(json, row.metrics);
  });
  write_rows(json, "nodes", node_columns(*profile.graph, nodes), nodes);
  if (!detail.exports.empty()) write_tracers(json, "exports", detail.exports);
  write_files(json, detail.files);
}

// "same", "+1.20K", "-3"
std::string difference_text(std::int64_t difference) {
  return difference == 0 ? "same" : text_of(cell_of(difference, Unit::kCount));
}

Cell difference_cell(const TracerRow& row) {
  if (row.is_engine) return {"the engine", Style::kQuiet};
  if (!row.macs_difference) return {"-", Style::kQuiet};
  return {difference_text(*row.macs_difference), *row.macs_difference ? Style::kWarning : Style::kGood};
}

// Of a tracer that gave a graph: "-" for none.
Cell count_cell(std::uint64_t count) { return count ? Cell(count) : Cell("-", Style::kQuiet); }
template <class Read>
auto of_totals(const Read& read) {
  return [=](const TracerRow& row) { return row.totals ? Cell(read(row)) : Cell("-", Style::kQuiet); };
}

Columns<TracerRow> overview_columns() {
  using Row = const TracerRow&;
  return {{words("Tracer", 16).strong(), &TracerRow::tracer},
          {words("Works"),
           [](Row row) { return row.works() ? Cell("yes", Style::kGood) : Cell("no", Style::kWarning); }},
          {number("Nodes"), [](Row row) { return count_cell(row.nodes.value_or(0)); }},
          {number("Graphs"), [](Row row) { return count_cell(row.graphs); }},
          {number("Breaks"), [](Row row) { return count_cell(row.breaks.size()); }},
          {number("Ops"), of_totals([](Row row) { return count_cell(row.totals->ops); })},
          {number("MACs"), of_totals([](Row row) { return format_count(row.totals->work.macs); })},
          {number("Params").or_not(), of_totals([](Row row) { return format_params(row.parameters.total); })},
          {words("Difference"), difference_cell},
          {number("Time"), [](Row row) { return format_seconds(row.seconds); }}};
}

Section kinds_section(const TraceComparison& comparison) {
  Columns<TracerRow> columns{{words("Nodes by kind", 16).strong(), &TracerRow::tracer}};
  for (const NodeKind kind : kNodeKinds)
    columns.push_back({number(std::string(name(kind))),
                       [kind](const TracerRow& row) { return count_cell(count_of(row, kind)); }});
  std::vector<TracerRow> rows = comparison.rows;
  std::erase_if(rows, [](const TracerRow& row) { return row.kinds.empty(); });
  return {"Nodes by kind", table_of(columns, rows)};
}

void add_lines(std::string_view text, std::vector<std::string>& lines) {
  for (const std::string_view line : split_by(text, '\n'))
    if (line.find_first_not_of(" \r\t") != std::string_view::npos) lines.push_back("  " + std::string(line));
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

// Why rows do not work, and the reasons of graph breaks.
Section reasons_section(const std::vector<TracerRow>& rows, bool verbose) {
  Section section{"Reasons"};
  for (const TracerRow& row : rows) {
    if (row.is_engine && row.totals && row.totals->confidence == Confidence::kUpperBound)
      section.entries.push_back({row.tracer,
                                 {"data-dependent sizes are at their upper bound, so its MACs are an upper "
                                  "bound; a real run may do less"}});
    if (!row.works())
      section.entries.push_back({row.tracer, failure_lines(row.failure, verbose)});
    else if (!row.breaks.empty())
      section.entries.push_back({row.tracer, lines_of_breaks(row, verbose)});
  }
  return section;
}

// What was written, or why not, and what there is to note; what has a row of its own says the rest there.
void add_files(const std::vector<SavedFile>& files, bool verbose, Document& document) {
  Section section{"Files"};
  for (const SavedFile& file : files) {
    const bool has_row = file.kind != "python" && file.kind != "capture";
    Entry entry{file.path, {}};
    if (!has_row && !file.failure.reason.empty()) entry.lines = failure_lines(file.failure, verbose);
    if (!has_row && file.failure.reason.empty())
      entry.lines.push_back(file.seconds > 0 ? "written in " + format_seconds(file.seconds) : "written");
    entry.lines.insert(entry.lines.end(), file.notes.begin(), file.notes.end());
    if (!entry.lines.empty()) section.entries.push_back(std::move(entry));
  }
  document.add(std::move(section));
}

Document comparison_document(const TraceComparison& comparison, const TextOptions& options) {
  Document document{model_cells(*comparison.graph), options.notes};
  document.sections.push_back({"Tracers", table_of(overview_columns(), comparison.rows)});
  document.sections.push_back(kinds_section(comparison));
  document.add(reasons_section(comparison.rows, options.verbose));
  add_files(comparison.files, options.verbose, document);
  return document;
}

constexpr std::size_t kTargetsShown = 20;

// Nodes of one kind or target, and what they cost.
struct CountedNodes {
  std::string label;
  Cell count;
  Metrics metrics;
  Style style = Style::kPlain;
};

Section counted_section(const std::string& title, const std::vector<CountedNodes>& rows) {
  using Row = const CountedNodes&;
  const Columns<CountedNodes> columns{
      {words(title, 24), &CountedNodes::label},
      {number("Count"), &CountedNodes::count},
      {number("Ops"), [](Row row) { return number_or_dash(row.metrics.ops); }},
      {number("MACs", Unit::kCount), [](Row row) { return row.metrics.work.macs; }},
      {number("FLOPs"), [](Row row) { return flops_cell(row.metrics); }},
      {number("Bytes", Unit::kBytes), [](Row row) { return row.metrics.memory_bytes(); }}};
  return {title, table_of<CountedNodes>(columns, rows, In::kPeople, &CountedNodes::style)};
}

Section kinds_section(const Profile& profile, const std::vector<GraphNode>& nodes) {
  std::vector<CountedNodes> rows;
  for (const KindRow& row : count_kinds(nodes))
    rows.push_back({std::string(name(row.kind)), row.count, row.metrics});
  if (!profile.parts().empty() && profile.outside().ops > 0)
    rows.push_back({"outside the graphs", "-", profile.outside()});
  rows.push_back({"total", nodes.size(), profile.totals, Style::kStrong});
  return counted_section("Nodes by kind", rows);
}

std::string them(std::size_t count) { return count == 1 ? "it" : "them"; }

Section targets_section(const std::vector<GraphNode>& nodes, const TextOptions& options) {
  const std::vector<TargetRow> targets = count_targets(nodes);
  const std::size_t shown = options.verbose ? targets.size() : std::min(targets.size(), kTargetsShown);
  std::vector<CountedNodes> rows;
  for (std::size_t i = 0; i < shown; ++i)
    rows.push_back({std::string(targets[i].target), targets[i].count, targets[i].metrics});
  Section section = counted_section("By target", rows);
  if (shown < targets.size())
    section.remarks.push_back("and " + plural(targets.size() - shown, "more target") + ": --verbose shows " +
                              them(targets.size() - shown));
  return section;
}

using Node = const GraphNode*;

Columns<Node> listed_columns(const Profile& profile, const std::vector<GraphNode>& nodes,
                             const std::vector<Node>& listed) {
  const Graph& graph = *profile.graph;
  Columns<Node> columns{{number("#").quiet(), [&](Node node) { return node - nodes.data() + 1; }}};
  if (profile.parts().size() > 1) columns += {{number("Graph"), [](Node node) { return node->part + 1; }}};
  columns += {{words("Node", 16, 32), [](Node node) { return node->label; }},
              {words("Kind").or_not().quiet(), [](Node node) { return node->kind; }},
              // The target of an input or output is its name once more.
              {words("Target", 16),
               [](Node node) {
                 const bool named = node->kind == NodeKind::kPlaceholder || node->kind == NodeKind::kOutput;
                 return named ? std::string_view() : node->type;
               }},
              {words("Output", 10), [&](Node node) { return shape_cell(graph, node->output); }},
              {words("Type").or_not().quiet(), [&](Node node) {
                 return node->output == kNone ? "" : name(graph.values[node->output].dtype);
               }}};
  if (std::ranges::any_of(listed, [](Node node) { return node->calls > 1; }))
    columns += {{number("Calls"), [](Node node) { return node->calls; }}};
  columns += {{number("MACs", Unit::kCount), [](Node node) { return node->metrics.work.macs; }},
              {number("Bytes", Unit::kBytes), [](Node node) { return node->metrics.memory_bytes(); }}};
  if (std::ranges::any_of(listed, [](Node node) { return !node->source.empty(); }))
    columns += {{words("Source", 12).or_not().quiet(), [](Node node) { return source_text(node->source); }}};
  return columns;
}

// Weights are left out unless all are asked for.
Section nodes_section(const Profile& profile, const std::vector<GraphNode>& nodes,
                      const TextOptions& options) {
  std::vector<Node> listed;
  for (const GraphNode& node : nodes)
    if (!node.is_weight || options.verbose) listed.push_back(&node);
  const std::size_t weights = nodes.size() - listed.size(), shown = shown_of(listed.size(), options);
  const std::size_t more = listed.size() - shown;
  listed.resize(shown);
  Section section{plural(nodes.size(), "node"), table_of(listed_columns(profile, nodes, listed), listed)};
  if (more > 0)
    section.remarks.push_back(
        fmt::format("and {}: --top N or --verbose shows {}", plural(more, "more node"), them(more)));
  if (weights > 0)
    section.remarks.push_back(fmt::format("{} {} not listed: --verbose shows {}", plural(weights, "weight"),
                                          weights == 1 ? "is" : "are", them(weights)));
  return section;
}

std::vector<Cell> header(const TraceDetail& detail) {
  std::vector<Cell> cells = header_cells(*detail.profile);
  if (const auto difference = detail.row.macs_difference) {
    const std::string text = "MACs " + (*difference ? difference_text(*difference) + " to" : "same as") +
                             " the engine" +
                             (*difference && detail.row.engine_is_bound ? "'s upper bound" : "");
    cells.push_back({text, *difference ? Style::kWarning : Style::kGood});
  }
  return cells;
}

Document detail_document(const TraceDetail& detail, const TextOptions& options) {
  const Profile& profile = *detail.profile;
  const std::vector<GraphNode> nodes = graph_nodes(profile);
  Document document{header(detail), note_lines(profile, options, true), {}};
  if (profile.parts().size() > 1) document.sections.push_back(parts_section(profile));
  document.sections.push_back(kinds_section(profile, nodes));
  document.sections.push_back(targets_section(nodes, options));
  if (options.top > 0 || options.verbose) document.sections.push_back(nodes_section(profile, nodes, options));
  if (!detail.exports.empty()) {
    document.sections.push_back({"Tracers", table_of(overview_columns(), detail.exports)});
    document.add(reasons_section(detail.exports, options.verbose));
  }
  add_files(detail.files, options.verbose, document);
  return document;
}

}  // namespace

std::vector<std::string> failure_lines(const TraceFailure& failure, bool verbose) {
  std::vector<std::string> lines{failure.where.empty() ? failure.reason
                                                       : failure.where + ": " + failure.reason};
  add_lines(failure.hint, lines);
  if (verbose) add_lines(failure.detail, lines);
  return lines;
}

std::string to_format(const TraceComparison& comparison, Format format, const TextOptions& options) {
  const auto json = [&](JsonWriter& out) {
    begin_report(out, *comparison.graph);
    write_tracers(out, "tracers", comparison.rows);
    write_files(out, comparison.files);
  };
  return to_format(Report{json, [&] { return table_of(tracer_columns(), comparison.rows, In::kCsv); },
                          [&] { return comparison_document(comparison, options); }},
                   format, options);
}

std::string to_format(const TraceDetail& detail, Format format, const TextOptions& options) {
  const auto rows = [&] {
    const std::vector<GraphNode> nodes = graph_nodes(*detail.profile);
    return table_of(node_columns(*detail.profile->graph, nodes), nodes, In::kCsv);
  };
  return to_format(Report{[&](JsonWriter& json) { write_detail(json, detail); }, rows,
                          [&] { return detail_document(detail, options); }},
                   format, options);
}

}  // namespace opscope
