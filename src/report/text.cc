// The report for a terminal: the document's header, then its tables, at the width given.
#include "base/text.h"

#include <algorithm>

#include "report/document.h"

namespace opscope {
namespace {

constexpr int kNarrowest = 60;

// The pieces in a row, broken between pieces where the line is full.
std::string header_lines(const std::vector<Cell>& cells, int width, bool color) {
  std::string out;
  int column = 0;
  for (const Cell& cell : cells) {
    const std::string text = truncate(cell.text, width - 2);
    const int needed = display_width(text);
    if (column > 0 && column + 3 + needed > width)
      out += "\n  ", column = 2;
    else if (column > 0)
      out += "   ", column += 3;
    out += paint(text, cell.style, color);
    column += needed;
  }
  return out + "\n";
}

// Words wrapped, the following lines indented under the first.
std::string wrapped(std::string_view text, int width, int indent) {
  std::string out;
  int column = indent;
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    const int needed = display_width(word);
    if (column > indent && column + 1 + needed > width) {
      out.append("\n").append(static_cast<std::size_t>(indent), ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ', ++column;
    }
    out += word;
    column += needed;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out;
}

std::string note(std::string_view text, int width, bool color) {
  return paint("note", Style::kWarning, color) + "  " + wrapped(text, width, 6) + "\n";
}

std::string remark(std::string_view text, int width, bool color) {
  const auto words = std::min(text.find_first_not_of(' '), text.size());
  const int indent = static_cast<int>(words);
  return std::string(words, ' ') + paint(wrapped(text.substr(words), width, indent), Style::kQuiet, color) +
         "\n";
}

}  // namespace

std::string to_text(const Profile& profile, const TextOptions& options) {
  TextOptions fitted = options;
  fitted.width = std::max(options.width, kNarrowest);
  const Document document = make_document(profile, fitted);
  std::string out = header_lines(document.header, fitted.width, fitted.color);
  for (const std::string& text : document.notes) out += note(text, fitted.width, fitted.color);
  for (const Section& section : document.sections) {
    out.append("\n").append(render_table(section.table, fitted.width, fitted.color));
    for (const std::string& text : section.remarks) out += remark(text, fitted.width, fitted.color);
  }
  return out;
}

}  // namespace opscope
