// The report for a terminal: the document's header, then its tables, at the width given.
#include "base/text.h"

#include <algorithm>

#include "report/core/document.h"

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

// A note's further lines are someone else's text: they keep their own indent under the first.
std::string note(std::string_view text, int width, bool color) {
  constexpr int kIndent = 6;
  const auto end = std::min(text.find('\n'), text.size());
  std::string out =
      paint("note", Style::kWarning, color) + "  " + wrapped(text.substr(0, end), width, kIndent);
  if (end < text.size()) out += "\n" + indented(text.substr(end + 1), width, kIndent);
  return out + "\n";
}

// Lines that go on are under the words of the first, those of a list under the words after its dash.
std::string remark(std::string_view text, int width, bool color) {
  const auto words = std::min(text.find_first_not_of(' '), text.size());
  const std::string_view said = text.substr(words);
  const std::size_t dash = said.starts_with("- ") ? 2 : 0;
  const int indent = static_cast<int>(words + dash);
  const std::string lines = std::string(said.substr(0, dash)) + wrapped(said.substr(dash), width, indent);
  return std::string(words, ' ') + paint(lines, Style::kQuiet, color) + "\n";
}

// Heads in one column, what is said about them beside it. Lines of someone else's text keep their indent.
std::string entries(const std::vector<Entry>& rows, int width, bool color) {
  int column = 0;
  for (const Entry& entry : rows) column = std::max(column, display_width(entry.head) + 3);
  column = std::min(column, width / 3);
  std::string out;
  for (const Entry& entry : rows) {
    const std::string head = truncate_middle(entry.head, column - 2);
    out += paint(pad_right(head, column), Style::kStrong, color);
    for (std::size_t i = 0; i < entry.lines.size(); ++i) {
      const std::string_view line = entry.lines[i];
      const auto spaces = std::min(line.find_first_not_of(' '), line.size());
      const int indent = std::min(column + static_cast<int>(spaces), width / 2);
      out.append(static_cast<std::size_t>(i == 0 ? 0 : indent), ' ');
      out += wrapped(line.substr(spaces), width, indent);
      end_line(out);
    }
  }
  return out;
}

}  // namespace

std::string indented(std::string_view text, int width, int indent) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const auto words = std::min(line.find_first_not_of(' '), line.size());
    const int column = std::min(indent + static_cast<int>(words), width / 2);
    if (at > 0) out += '\n';
    if (words < line.size()) out.append(static_cast<std::size_t>(column), ' ');
    out += wrapped(line.substr(words), width, column);
    at = end + 1;
  }
  return out;
}

std::string to_text(const Document& document, const TextOptions& options) {
  const int width = std::max(options.width, kNarrowest);
  std::string out = header_lines(document.header, width, options.color);
  for (const std::string& text : document.notes) out += note(text, width, options.color);
  for (const Section& section : document.sections) {
    out.append("\n").append(render_table(section.table, width, options.color));
    for (const std::string& text : section.remarks) out += remark(text, width, options.color);
    out += entries(section.entries, width, options.color);
  }
  return out;
}

std::string to_text(const Profile& profile, const TextOptions& options) {
  TextOptions fitted = options;
  fitted.width = std::max(options.width, kNarrowest);
  return to_text(make_document(profile, fitted), fitted);
}

}  // namespace opscope
