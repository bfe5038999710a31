// The comparison of tracers for people: a row each, its nodes by kind, and why what failed did.
#include <algorithm>

#include "base/text.h"
#include "report/profile/sections.h"
#include "report/trace/report.h"

namespace opscope {
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
