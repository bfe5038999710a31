// The comparison of tracers for people: a row each, its nodes by kind, and why what failed did.
#include <algorithm>

#include "base/text.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

Cell dash() { return {"-", Style::kQuiet}; }

Cell number(std::uint64_t count) { return count ? Cell{std::to_string(count)} : dash(); }

Cell difference_cell(const TracerRow& row) {
  if (row.is_engine) return {"the engine", Style::kQuiet};
  if (!row.macs_difference) return dash();
  return {difference_text(*row.macs_difference), *row.macs_difference ? Style::kWarning : Style::kGood};
}

std::vector<Cell> overview_row(const TracerRow& row) {
  std::vector<Cell> cells{{row.tracer, Style::kStrong}};
  if (row.works())
    cells.push_back({"yes", Style::kGood});
  else
    cells.push_back({"no", Style::kWarning});
  cells.push_back(row.nodes ? number(*row.nodes) : dash());
  cells.push_back(number(row.graphs));
  cells.push_back(number(row.breaks.size()));
  cells.push_back(row.totals ? number(row.totals->ops) : dash());
  cells.push_back(row.totals ? Cell{format_count(row.totals->work.macs)} : dash());
  cells.push_back(row.totals ? Cell{format_params(row.parameters.total)} : dash());
  cells.push_back(difference_cell(row));
  cells.push_back({format_seconds(row.seconds)});
  return cells;
}

std::uint64_t count_of(const TracerRow& row, NodeKind kind) {
  const auto found = std::ranges::find(row.kinds, kind, &KindRow::kind);
  return found == row.kinds.end() ? 0 : found->count;
}

Section kinds_section(const TraceComparison& comparison) {
  Section section{"Nodes by kind", {{{"Nodes by kind", Align::kLeft, 16}}, {}}, {}};
  for (const NodeKind kind : kNodeKinds) section.table.columns.push_back({std::string(name(kind))});
  for (const TracerRow& row : comparison.rows) {
    if (row.kinds.empty()) continue;
    std::vector<Cell> cells{{row.tracer, Style::kStrong}};
    for (const NodeKind kind : kNodeKinds) cells.push_back(number(count_of(row, kind)));
    section.table.rows.push_back(std::move(cells));
  }
  return section;
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
  Section section{"Tracers",
                  {{{"Tracer", Align::kLeft, 16},
                    {"Works", Align::kLeft},
                    {"Nodes"},
                    {"Graphs"},
                    {"Breaks"},
                    {"Ops"},
                    {"MACs"},
                    {.title = "Params", .optional = true},
                    {"Difference", Align::kLeft},
                    {"Time"}},
                   {}},
                  {}};
  for (const TracerRow& row : rows) section.table.rows.push_back(overview_row(row));
  return section;
}

Section reasons_section(const std::vector<TracerRow>& rows, bool verbose) {
  Section section{"Reasons", {}, {}};
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
  if (difference == 0) return "same";
  const auto distance = static_cast<std::uint64_t>(difference < 0 ? -difference : difference);
  return (difference < 0 ? "-" : "+") + format_count(Count{distance});
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
  Document document{model_cells(*comparison.graph), options.notes, {}};
  document.sections.push_back(overview_section(comparison.rows));
  document.sections.push_back(kinds_section(comparison));
  if (Section reasons = reasons_section(comparison.rows, options.verbose); !reasons.entries.empty())
    document.sections.push_back(std::move(reasons));
  add_files(comparison.files, options.verbose, document);
  return document;
}

}  // namespace opscope
