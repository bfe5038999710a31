// The document as one HTML fragment for notebooks: no script, no outside file, styles that touch nothing else
// on the page and follow its colours.
#include <fmt/format.h>

#include <algorithm>

#include "base/terminal_text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

constexpr std::string_view kStyle =
    "<style>"
    ".opscope{font-variant-numeric:tabular-nums;line-height:1.35}"
    ".opscope table{border-collapse:collapse;margin:.4em 0 1em;font-size:13px}"
    ".opscope th,.opscope td{padding:1px 10px;text-align:right;border:0;white-space:pre}"
    ".opscope th{border-bottom:1px solid currentColor}"
    ".opscope .l{text-align:left}.opscope .q{opacity:.6}.opscope .s{font-weight:600}"
    ".opscope .w{color:#b36b00}.opscope .g{color:#2a8a4a}.opscope .b{color:#b3202e}"
    ".opscope .bar{display:inline-block;height:.7em;background:#2a8a4a;opacity:.7}"
    ".opscope summary{cursor:pointer;font-weight:600}"
    "</style>";

std::string attribute(Align align, Style style) {
  std::string classes = align == Align::kLeft ? "l" : "";
  constexpr std::string_view kStyles = " sqgwb";  // by Style
  if (style != Style::kPlain)
    (classes += classes.empty() ? "" : " ") += kStyles[static_cast<std::size_t>(style)];
  return classes.empty() ? "" : " class=\"" + classes + "\"";
}

std::string cell_text(const Cell& cell) {
  if (cell.bar >= 0)
    return fmt::format("<span class=\"bar\" style=\"width:{:.1f}px\"></span>", cell.bar * 120);
  const std::string guides =
      cell.guides.empty() ? "" : "<span class=\"q\">" + html_escaped(cell.guides) + "</span>";
  return guides + html_escaped(text_of(cell));
}

// Without styles a list may stand in any page.
std::string table_text(const Table& table, bool styled) {
  std::string out = styled ? "<table><thead><tr>" : "<table>\n<tr>";
  for (const Column& column : table.columns)
    out += "<th" + (styled ? attribute(column.align, Style::kPlain) : "") + ">" + html_escaped(column.title) +
           "</th>";
  out += styled ? "</tr></thead><tbody>\n" : "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += "<td" + (styled ? attribute(table.columns[c].align, row[c].style) : "") + ">" +
             (styled ? cell_text(row[c]) : html_escaped(text_of(row[c]))) + "</td>";
    out += "</tr>\n";
  }
  return out + (styled ? "</tbody></table>\n" : "</table>\n");
}
std::string html_table(const Table& table, const TextOptions&) { return table_text(table, false); }

// Further lines are someone else's text, with line breaks that matter.
std::string note_text(const std::string& note) {
  const auto end = std::min(note.find('\n'), note.size());
  std::string out = "<p class=\"w\">" + html_escaped(note.substr(0, end)) + "</p>\n";
  return end == note.size() ? out : out + "<pre>" + html_escaped(note.substr(end + 1)) + "</pre>\n";
}

std::string entry_list(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& entry : entries) {
    out += "<dt class=\"s\">" + html_escaped(entry.head) + "</dt>\n";
    for (const std::string& line : entry.lines) out += "<dd>" + html_escaped(line) + "</dd>\n";
  }
  return out.empty() ? out : "<dl>\n" + out + "</dl>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text, "\n")) {
    const auto special = std::string_view("&<>\"'").find(c);
    constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    special == std::string_view::npos ? void(result += c) : void(result += kEntities[special]);
  }
  return result;
}

std::string to_html(const Document& document, const TextOptions&) {
  std::string out = "<div class=\"opscope\">" + std::string(kStyle) + "\n<p>";
  for (std::size_t i = 0; i < document.header.size(); ++i) {
    const Cell& cell = document.header[i];
    out += (i > 0 ? " &middot; " : "") + ("<span" + attribute(Align::kRight, cell.style)) + ">" +
           html_escaped(text_of(cell)) + "</span>";
  }
  out += "</p>\n";
  for (const std::string& note : document.notes) out += note_text(note);
  for (const Section& section : document.sections) {
    out += "<details open><summary>" + html_escaped(section.title) + "</summary>\n";
    // One column without rows is a title above entries.
    if (section.table.columns.size() > 1 || !section.table.rows.empty())
      out += table_text(section.table, true);
    for (const std::string& remark : section.remarks)
      out += "<div class=\"q\">" + html_escaped(remark) + "</div>\n";
    out += entry_list(section.entries);
    out += "</details>\n" + section.svg;
  }
  return out + "</div>\n";
}

extern constinit const FormatRow html_format{
    .name = "html", .extension = "htm", .format = Format::kHtml, .table = html_table, .document = to_html};

}  // namespace opscope
