// The document as GitHub-flavoured Markdown tables.
#include <fmt/format.h>

#include <algorithm>

#include "base/terminal_text.h"
#include "base/text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

// Tree lines are three columns a level; an em space each keeps the indent where spaces would be dropped.
std::string indent(std::string_view guides) {
  std::string result;
  for (int level = display_width(guides) / 3; level > 0; --level) result += "&emsp;";
  return result;
}

std::string list_items(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& entry : entries) {
    out += fmt::format("\n- **{}**", markdown_escaped(entry.head));
    for (std::size_t i = 0; i < entry.lines.size(); ++i)
      out += (i == 0 ? ": " : "  \n  ") + markdown_escaped(entry.lines[i]);
    out += "\n";
  }
  return out;
}

std::string to_markdown(const Document& document, const TextOptions&) {
  std::string out = fmt::format("# {}\n\n", markdown_escaped(text_of(document.header.front())));
  for (std::size_t i = 1; i < document.header.size(); ++i)
    out.append(i > 1 ? " · " : "").append(markdown_escaped(text_of(document.header[i])));
  out += "\n";
  for (const std::string& note : document.notes) out += fmt::format("\n> {}\n", markdown_escaped(note));
  for (const Section& section : document.sections) {
    out += fmt::format("\n## {}\n", markdown_escaped(section.title));
    // One column without rows is a title above entries.
    if (section.table.columns.size() > 1 || !section.table.rows.empty())
      out += "\n" + markdown_table(section.table);
    for (const std::string& remark : section.remarks) out += fmt::format("\n{}\n", markdown_escaped(remark));
    out += list_items(section.entries);
    if (!section.plot.empty()) out += "\n```\n" + section.plot + "```\n";
  }
  return out;
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
  std::string lines(text), result;
  std::ranges::replace_if(
      lines, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  for (const char c : printable(lines)) {
    if (std::string_view("\\`*_{}[]<>#|").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_table(const Table& table, const TextOptions&) {
  std::string titles = "|", rule = "|";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.is_bar(c)) continue;
    titles += fmt::format(" {} |", markdown_escaped(table.columns[c].title));
    rule += table.columns[c].align == Align::kLeft ? " --- |" : " ---: |";
  }
  std::string out = titles + "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (std::size_t c = 0; c < row.size(); ++c)
      if (!table.is_bar(c))
        out += fmt::format(" {}{} |", indent(row[c].guides), markdown_escaped(text_of(row[c])));
    out += "\n";
  }
  return out;
}

extern constinit const FormatRow markdown_format{.name = "md",
                                                 .extension = "markdown",
                                                 .format = Format::kMarkdown,
                                                 .table = markdown_table,
                                                 .document = to_markdown};

}  // namespace opscope
