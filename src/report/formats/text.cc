// The report for a terminal: the document's header, then its tables as aligned lines, at the width given.
// Each column is as wide as it needs; names are cut in the middle where the terminal is too narrow, a bar is
// drawn in the space that is left.
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/terminal_text.h"
#include "graph/names.h"
#include "report/core/document.h"

namespace opscope {
namespace {

constexpr int kWideGap = 3, kGap = 2;
constexpr int kBarWidth = 20;

// The table with all its cells in words.
Table worded(Table table) {
  for (auto& row : table.rows)
    for (Cell& cell : row) cell.value = text_of(cell), cell.mark = {};
  for (Column& column : table.columns) column.title = printable(column.title);
  return table;
}
std::string& text_in(Cell& cell) { return std::get<std::string>(cell.value); }
const std::string& text_in(const Cell& cell) { return std::get<std::string>(cell.value); }

int width_of(const Cell& cell) {
  return cell.bar >= 0 ? kBarWidth : display_width(cell.guides) + display_width(text_in(cell));
}

std::vector<int> natural_widths(const Table& table) {
  std::vector<int> widths;
  for (const Column& column : table.columns) widths.push_back(display_width(column.title));
  for (const auto& row : table.rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  return widths;
}

// Of the columns that are shown.
int total_width(const std::vector<int>& widths, int gap = kGap) {
  int total = -gap;
  for (const int width : widths)
    if (width > 0) total += width + gap;
  return total;
}

// How far a column can be cut: names twice, first to where they can still be told apart.
enum class Cut : std::uint8_t { kGood, kHard };
int limit(const Column& column, Cut cut) {
  return cut == Cut::kGood ? std::max(column.min_width, column.good_width) : column.min_width;
}

int least_width(const Table& table, const std::vector<int>& widths) {
  std::vector<int> least = widths;
  for (std::size_t c = 0; c < least.size(); ++c)
    if (table.columns[c].min_width > 0) least[c] = std::min(least[c], limit(table.columns[c], Cut::kGood));
  return total_width(least);
}

// The widest of the columns that may be cut gives a column at a time.
void cut_widest(const Table& table, int width, Cut cut, std::vector<int>& widths) {
  const auto spare = [&](const int& of) {
    const int least = limit(table.columns[static_cast<std::size_t>(&of - widths.data())], cut);
    return least > 0 && of > least ? of : 0;
  };
  while (total_width(widths) > width) {
    const auto widest = std::ranges::max_element(widths, {}, spare);
    if (spare(*widest) == 0) return;
    --*widest;
  }
}

// Bars give way first, then the columns that a reader can do without, the last of them first; then the
// others are cut.
std::vector<int> fit(const Table& table, int width) {
  std::vector<int> widths = natural_widths(table);
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (table.is_bar(c))
      widths[c] = std::clamp(widths[c] - std::max(0, total_width(widths) - width), 0, kBarWidth);
  for (std::size_t c = widths.size(); c-- > 0 && least_width(table, widths) > width;)
    if (table.columns[c].optional) widths[c] = 0;
  for (const Cut cut : {Cut::kGood, Cut::kHard}) cut_widest(table, width, cut, widths);
  return widths;
}

std::string bar(double share, int width) {
  static constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text += kEighths[static_cast<std::size_t>(eighths % 8)];
}

// Of the ways to cut names the first by which different ones stay different.
void cut_names(Table& table, std::size_t column, int width) {
  const auto between = [](std::string_view name, int room) {
    return shortened_name(name, static_cast<std::size_t>(room));
  };
  std::vector<std::string> names;
  for (const auto& row : table.rows) names.push_back(text_in(row[column]));
  std::map<std::string, std::set<std::string_view>> alike;
  for (std::string (*cut)(std::string_view, int) : {+between, &truncate_middle, &truncate}) {
    for (std::size_t r = 0; r < names.size(); ++r) {
      std::string& text = text_in(table.rows[r][column]);
      const auto found = alike.find(text);
      const bool wanted = found == alike.end() || found->second.size() > 1;
      if (wanted && display_width(names[r]) > width) text = cut(names[r], width);
    }
    alike.clear();
    for (std::size_t r = 0; r < names.size(); ++r) alike[text_in(table.rows[r][column])].insert(names[r]);
  }
}

void cut_names(Table& table, const std::vector<int>& widths) {
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (table.columns[c].good_width > 0 && widths[c] > 0) cut_names(table, c, widths[c]);
}

std::string draw(const Cell& cell, int width, Align align, bool color) {
  if (cell.bar >= 0) return paint(pad_right(bar(cell.bar, width), width), cell.style, color);
  const int room = std::max(1, width - display_width(cell.guides));
  const std::string text = truncate_middle(text_in(cell), room);
  return paint(cell.guides, Style::kQuiet, color) +
         paint(align == Align::kLeft ? pad_right(text, room) : pad_left(text, room), cell.style, color);
}

constexpr int kNarrowest = 60;

// The pieces in a row, broken between pieces where the line is full.
std::string header_lines(const std::vector<Cell>& cells, int width, bool color) {
  std::string out;
  int column = 0;
  for (const Cell& cell : cells) {
    const std::string text = truncate(text_of(cell), width - 2);
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
std::string wrapped(std::string_view words, int width, int indent) {
  const std::string spaces(static_cast<std::size_t>(indent), ' ');
  return join(wrapped_lines(printable(words), width - indent, display_width), "\n" + spaces);
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
    const std::string head = truncate_middle(printable(entry.head), column - 2);
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

void end_line(std::string& out) {
  while (out.ends_with(' ')) out.pop_back();
  out += '\n';
}

std::string paint(std::string_view text, Style style, bool color) {
  static constexpr std::array<std::string_view, 6> kCodes{"",         "\x1b[1m",  "\x1b[2m",
                                                          "\x1b[32m", "\x1b[33m", "\x1b[31m"};
  const std::string_view code = kCodes[static_cast<std::size_t>(style)];
  // Padding stays outside the colour, so that the ends of lines can be trimmed.
  const auto end = text.find_last_not_of(' ');
  if (!color || code.empty() || end == std::string_view::npos) return std::string(text);
  return std::string(code).append(text.substr(0, end + 1)).append("\x1b[0m").append(text.substr(end + 1));
}

std::string text_table(const Table& asked, const TextOptions& options) {
  Table table = worded(asked);
  const bool roomy = total_width(natural_widths(table), kWideGap) <= options.width;
  const std::vector<int> widths = fit(table, options.width);
  std::string out;
  const int between = roomy ? kWideGap : total_width(widths) <= options.width ? kGap : 1;
  const std::string gap(static_cast<std::size_t>(between), ' ');
  const auto add = [&](const auto& row, auto&& to_cell) {
    std::vector<std::string> further;  // lines of the last column
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] == 0) continue;
      if (c > 0) out += gap;
      Cell cell = to_cell(row[c]);
      if (table.columns[c].wraps && c + 1 == widths.size() && display_width(text_in(cell)) > widths[c]) {
        further = wrapped_lines(text_in(cell), widths[c], display_width);
        text_in(cell) = further.front();
        further.erase(further.begin());
      }
      out += draw(cell, widths[c], table.columns[c].align, options.color);
    }
    end_line(out);
    const int indent = total_width(widths, between) - widths.back();
    for (const std::string& line : further) {
      out.append(static_cast<std::size_t>(indent), ' ');
      out += paint(line, table.columns.back().style, options.color);
      end_line(out);
    }
  };
  const bool titled = std::ranges::any_of(table.columns, [](const Column& c) { return !c.title.empty(); });
  if (titled) add(table.columns, [](const Column& column) { return Cell{column.title, Style::kStrong}; });
  cut_names(table, widths);
  for (const auto& row : table.rows) add(row, [](const Cell& cell) -> const Cell& { return cell; });
  return out;
}

std::string indented(std::string_view text, int width, int indent) {
  std::string out;
  for (const std::string_view line : split_by(text, '\n')) {
    const auto words = std::min(line.find_first_not_of(' '), line.size());
    const int column = std::min(indent + static_cast<int>(words), width / 2);
    if (line.data() != text.data()) out += '\n';
    if (words < line.size()) out.append(static_cast<std::size_t>(column), ' ');
    out += wrapped(line.substr(words), width, column);
  }
  return out;
}

std::string to_text(const Document& document, const TextOptions& asked) {
  TextOptions options = asked;
  options.width = std::max(options.width, kNarrowest);
  const int width = options.width;
  std::string out = header_lines(document.header, width, options.color);
  for (const std::string& text : document.notes) out += note(text, width, options.color);
  for (const Section& section : document.sections) {
    out.append("\n").append(text_table(section.table, options));
    for (const std::string& text : section.remarks) out += remark(text, width, options.color);
    out += entries(section.entries, width, options.color);
    if (!section.plot.empty()) out += "\n" + section.plot;
  }
  return out;
}

extern constinit const FormatRow text_format{
    .name = "txt", .extension = "text", .format = Format::kText, .table = text_table, .document = to_text};

}  // namespace opscope
