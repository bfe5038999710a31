// A report before it has a format: sections of tables with cells already worded. The text, Markdown and HTML
// reports draw the same document, so they cannot disagree.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"
#include "report/core/report.h"

namespace opscope {

enum class Align : std::uint8_t { kLeft, kRight };
enum class Style : std::uint8_t { kPlain, kStrong, kQuiet, kGood, kWarning, kBad };

struct Cell {
  std::string text{};
  Style style = Style::kPlain;
  std::string guides{};  // tree lines before the text; never cut
  double bar = -1;       // a share of 0..1 drawn as a bar instead of text
};

struct Column {
  std::string title{};
  Align align = Align::kRight;
  int min_width = 0;      // where positive, the column may be cut down to it
  bool optional = false;  // left out where cutting is not enough
  int good_width = 0;     // of names: other columns are cut or left out before these are cut further
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;

  bool is_bar(std::size_t column) const { return !rows.empty() && rows.front()[column].bar >= 0; }
};

// A head and what there is to say about it, each line a paragraph.
struct Entry {
  std::string head;
  std::vector<std::string> lines;
};

struct Section {
  std::string title;
  Table table;
  std::vector<std::string> remarks;  // after the table
  std::vector<Entry> entries{};      // after the remarks
};

struct Document {
  std::vector<Cell> header;        // model, source, inputs, capture, coverage
  std::vector<std::string> notes;  // what was assumed, and what is unknown
  std::vector<Section> sections;
};

Document make_document(const Profile& profile, const TextOptions& options);

// One file each; the others are not made from documents.
std::string to_text(const Document& document, const TextOptions& options);
std::string to_markdown(const Document& document);
std::string to_html(const Document& document);

// Each of a report's three forms is made only where the format needs it.
template <class MakeJson, class MakeCsv, class MakeDocument>
std::string in_format(Format format, const TextOptions& options, MakeJson json, MakeCsv csv,
                      MakeDocument document) {
  switch (format) {
    case Format::kText:
      return to_text(document(), options);
    case Format::kJson:
      return json();
    case Format::kCsv:
      return csv();
    case Format::kMarkdown:
      return to_markdown(document());
    case Format::kHtml:
      return to_html(document());
  }
  return {};
}

// The sections, one file each.
std::vector<Cell> model_cells(const Graph& graph);  // the model, where it is from, its inputs
std::vector<Cell> header_cells(const Profile& profile);
// all_breaks: a line for each graph break, also where not everything was asked for.
std::vector<std::string> note_lines(const Profile& profile, const TextOptions& options,
                                    bool all_breaks = false);
Section tree_section(const Profile& profile, const TextOptions& options);
Section summary_section(const Profile& profile);
Section breakdown_section(const Profile& profile, const TextOptions& options);
Section bottleneck_section(const Profile& profile);
Section top_layers_section(const Profile& profile, const TextOptions& options);
Section parts_section(const Profile& profile);

// Graph breaks in a line each: "break 1 after graph 1 at model.py:42: a call of print", the graph where there
// are several; those of one place and reason together: "breaks 1, 3 at ...". With `verbose` each on its own,
// and all that PyTorch says on lines of its own.
std::vector<std::string> break_lines(const std::vector<Break>& breaks, bool in_several, bool verbose);
// "model.py:42" of "/home/me/models/model.py:42": enough for a person who knows the model.
std::string_view source_text(std::string_view source);
// "forward, from line 14 on" for what Dynamo calls "torch_dynamo_resume_in_forward_at_14".
std::string function_text(std::string_view name);
// "1 graph", "3 graphs"
std::string plural(std::size_t count, std::string_view noun);

// "~" estimated, "≤" upper bound, "≥" has ops that are not counted, "" exact.
std::string_view confidence_mark(Confidence confidence);
// FLOPs with the mark.
std::string flops_text(const Metrics& metrics);
std::string flops_legend(Confidence worst);
std::string model_name(const Graph& graph);
std::string shape_text(const Graph& graph, ValueId value);  // "" where there is none

// A table as aligned lines of at most `width` columns.
std::string render_table(const Table& table, int width, bool color);
// Ends a line without the spaces before its end.
void end_line(std::string& out);
std::string paint(std::string_view text, Style style, bool color);
// Someone else's lines, each with its own indent after ours, its words wrapped; no newline at the end.
std::string indented(std::string_view text, int width, int indent);

// The pieces that lists of other things than profiles are written with.
std::string csv_field(std::string_view text);
std::string markdown_table(const Table& table);
std::string html_escaped(std::string_view text);

}  // namespace opscope
