// A report before it has a format: sections of tables, and the words between them. The text, Markdown and
// HTML reports are drawn from the same document, so they cannot disagree; CSV and JSON from the same columns.
#pragma once

#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"
#include "analyse/profile/profile.h"
#include "metrics/metric.h"
#include "report/core/table.h"

namespace opscope {

// Profile -> bytes. One file per format (report/formats); none of them does arithmetic beyond picking units.
struct TextOptions {
  int width = 100;
  bool color = false;
  bool show_shapes = false;
  bool fold = true;      // equal repeated blocks in one row
  bool verbose = false;  // all layers
  int depth = -1;        // -1: what fits a screen, see text.cc; otherwise the tree's levels below the root
  int top = 10;
  const Metric* sort = &metric_at("flops");
  std::optional<Level> level{};  // none: the tree of modules, and layers for programs
  bool predicted = false;        // tables are led by predicted time
  bool sections_000 = false;     // seed 000's profile_model: hierarchical profile, summary, bottlenecks only
  std::vector<std::string> notes{};  // said under the header, before the capture's own
};

// These have names here because a report treats them apart; values from kOther on are other rows of formats.
enum class Format : std::uint8_t { kJson, kCsv, kMarkdown, kText, kHtml, kOther };
std::string_view name(Format format);  // "txt", "json", "csv", "md", "html"
std::vector<Format> all_formats(Format first = Format::kJson);
// "txt", "json"; with a dot in front, ".txt", ".json".
std::vector<std::string> format_names(const std::vector<Format>& formats, std::string_view dot = "");
bool is_for_people(Format format);                      // made from a document, not from rows
Format format_from_name(std::string_view text);         // throws Error naming the choices
Format format_from_extension(const std::string& path);  // of "out.json"; throws Error likewise

// CSV has one row per layer, or per what options.level says.
std::string to_format(const Profile& profile, Format format, const TextOptions& options = {});
std::string to_json(const Profile& profile);

// A head and what there is to say about it, each line a paragraph.
struct Entry {
  std::string head;
  std::vector<std::string> lines;
};

struct Section {
  std::string title;
  Table table{};
  std::vector<std::string> remarks{};  // after the table
  std::vector<Entry> entries{};        // after the remarks
  std::string plot{}, svg{};           // a picture after all, in characters and as an SVG
};

// A section of labels, each with its value and what it is made of.
struct Facts : Section {
  explicit Facts(std::string heading);
  void add(std::string label, Cell value, std::string detail = {}) {
    table.add({std::move(label), std::move(value), std::move(detail)});
  }
};
// The first column carries the section's title.
Section titled_section(std::string title, Table table);
// How many rows of a list people see: options.top, or with options.verbose all.
std::size_t shown_of(std::size_t all, const TextOptions& options);
// "and 3 more nodes: --verbose shows them", where not all are shown.
void say_more(Section& section, std::size_t shown, std::size_t all, std::string_view noun);

struct Document {
  std::vector<Cell> header;          // model, source, inputs, capture, coverage
  std::vector<std::string> notes{};  // what was assumed, and what is unknown
  std::vector<Section> sections{};

  // Leaves out what has neither rows nor words.
  void add(Section section);
};

// What a report is in each kind of format, made only where it is asked for.
struct Report {
  std::function<void(JsonWriter&)> json;  // begins with begin_report, which to_format ends
  std::function<Table()> rows;            // CSV
  std::function<Document()> document;
};
std::string to_format(const Report& report, Format format, const TextOptions& options);
// A list of other things than profiles (models, rows of the cost table).
std::string to_format(const Table& table, Format format, const TextOptions& options);

// A format is a file in report/formats with a row called like it: `csv_format` of csv.cc. The build writes
// the list of them.
struct FormatRow {
  std::string_view name, extension{};  // another one: the name is an extension too
  Format format = Format::kOther;
  std::string (*table)(const Table& table, const TextOptions& options);
  // Of formats for people; the others are written from a report's rows.
  std::string (*document)(const Document& document, const TextOptions& options) = nullptr;
  std::string (*report)(const Report& report) = nullptr;  // in place of both
};
std::span<const FormatRow* const> format_rows();

// What formats have for reports that are put together otherwise.
std::string to_text(const Document& document, const TextOptions& options);
std::string to_html(const Document& document, const TextOptions& options = {});
std::string text_table(const Table& table, const TextOptions& options);  // aligned lines
std::string markdown_table(const Table& table, const TextOptions& options = {});

// Pieces that reports in other forms than documents are written with.
void begin_report(JsonWriter& json);                      // opens the object and says by which opscope it is
void begin_report(JsonWriter& json, const Graph& graph);  // and of which model
void end_line(std::string& out);                          // without the spaces before its end
std::string paint(std::string_view text, Style style, bool color);
// Someone else's lines, each with its own indent after ours, its words wrapped; no newline at the end.
std::string indented(std::string_view text, int width, int indent);
std::string html_escaped(std::string_view text);
std::string markdown_escaped(std::string_view text);  // on one line

// "1 graph", "3 graphs"
std::string plural(std::size_t count, std::string_view noun);
std::string model_name(const Graph& graph);
Cell shape_cell(const Graph& graph, ValueId value);  // nothing where there is none
inline auto all_ops(const Graph& graph) {
  return std::views::iota(OpId{0}, static_cast<OpId>(graph.ops.size()));
}
// "model.py:42" of "/home/me/models/model.py:42": enough for a person who knows the model.
std::string_view source_text(std::string_view source);
// "~" estimated, "≤" upper bound, "≥" has ops that are not counted, "" exact.
std::string_view confidence_mark(Confidence confidence);
// FLOPs with the mark.
Cell flops_cell(const Metrics& metrics);
std::string flops_text(const Metrics& metrics);
std::string flops_legend(Confidence worst);

}  // namespace opscope
