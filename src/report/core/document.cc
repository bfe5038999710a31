// The parts of documents, what several reports word alike, and the formats as one table for the flag, the
// file name, the help and the writers.
#include "report/core/document.h"

#include <algorithm>
#include <array>

#include "base/choices.h"
#include "base/text.h"

namespace opscope {
namespace {

// The first rows are in the order of Format, the others in that of their files.
const std::vector<const FormatRow*>& sorted_rows() {
  static const std::vector<const FormatRow*> rows = [] {
    std::vector<const FormatRow*> all(format_rows().begin(), format_rows().end());
    std::ranges::stable_sort(all, {}, &FormatRow::format);
    return all;
  }();
  return rows;
}

const FormatRow& row_of(Format format) { return *sorted_rows()[static_cast<std::size_t>(format)]; }

std::optional<Format> find_format(std::string_view text) {
  for (const Format format : all_formats())
    if (!text.empty() && (row_of(format).name == text || row_of(format).extension == text)) return format;
  return std::nullopt;
}

}  // namespace

Facts::Facts(std::string heading)
    : Section{heading, {{words(heading), number("").strong(), words("", 20).quiet().wrapped()}, {}}} {}

Section titled_section(std::string title, Table table) {
  table.columns.front().title = title;
  return {std::move(title), std::move(table)};
}

std::size_t shown_of(std::size_t all, const TextOptions& options) {
  return options.verbose ? all : std::min(all, static_cast<std::size_t>(std::max(options.top, 0)));
}

void say_more(Section& section, std::size_t shown, std::size_t all, std::string_view noun) {
  if (shown < all)
    section.remarks.push_back("and " + plural(all - shown, "more " + std::string(noun)) +
                              ": --verbose shows them");
}

void Document::add(Section section) {
  if (!section.table.rows.empty() || !section.remarks.empty() || !section.entries.empty())
    sections.push_back(std::move(section));
}

std::string_view confidence_mark(Confidence confidence) {
  static constexpr std::array<std::string_view, 4> kMarks{"", "~", "≤", "≥"};  // by Confidence
  return kMarks[static_cast<std::size_t>(confidence)];
}

Cell flops_cell(const Metrics& metrics) {
  if (!metrics.flops && metrics.confidence == Confidence::kUnknown) return "?";
  Cell cell = cell_of(metrics.flops, Unit::kCount);
  if (metrics.flops || metrics.confidence == Confidence::kUpperBound)
    cell.mark = confidence_mark(metrics.confidence);
  return cell;
}

std::string flops_text(const Metrics& metrics) { return text_of(flops_cell(metrics)); }

std::string flops_legend(Confidence worst) {
  std::string text = "~ has estimated ops";
  if (worst >= Confidence::kUpperBound) text += "   ≤ has upper bounds";
  if (worst == Confidence::kUnknown) text += "   ≥ and ? have ops of unknown cost, not counted";
  return text;
}

std::string model_name(const Graph& graph) {
  return graph.capture.model.empty() ? std::string(graph.text(graph.modules[0].type)) : graph.capture.model;
}

Cell shape_cell(const Graph& graph, ValueId value) {
  if (value == kNone) return {};
  const auto shape = graph.shape(graph.values[value]);
  return Shape{{shape.begin(), shape.end()}};
}

std::string_view source_text(std::string_view source) { return source.substr(source.rfind('/') + 1); }

std::string plural(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string_view name(Format format) { return row_of(format).name; }
bool is_for_people(Format format) { return row_of(format).document != nullptr; }

std::vector<Format> all_formats(Format first) {
  std::vector<Format> all;
  for (std::size_t i = 0; i < sorted_rows().size(); ++i) all.push_back(static_cast<Format>(i));
  std::ranges::stable_partition(all, [&](Format format) { return format == first; });
  return all;
}

std::vector<std::string> format_names(const std::vector<Format>& formats, std::string_view dot) {
  std::vector<std::string> names;
  for (const Format format : formats) names.push_back(std::string(dot).append(name(format)));
  return names;
}

Format format_from_name(std::string_view text) {
  if (const auto format = find_format(text)) return *format;
  throw Error("no format called '" + std::string(text) + "'", "",
              "choose " + one_of(format_names(all_formats())));
}

Format format_from_extension(const std::string& path) {
  const std::string extension = file_extension(path);
  if (const auto format = find_format(extension)) return *format;
  const std::string what = extension.empty() ? "the file name has no extension"
                                             : "no format for the extension '." + extension + "'";
  throw Error(what, path, "end it in " + one_of(format_names(all_formats(), ".")) + ", or say --format");
}

std::string to_format(const Table& table, Format format, const TextOptions& options) {
  return row_of(format).table(table, options);
}

std::string to_format(const Report& report, Format format, const TextOptions& options) {
  const FormatRow& row = row_of(format);
  if (row.report) return row.report(report);
  return row.document ? row.document(report.document(), options) : row.table(report.rows(), options);
}

}  // namespace opscope
