// Tables as aligned lines: each column as wide as it needs, names cut in the middle where the terminal is
// too narrow, a bar in the space that is left.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/document.h"

namespace opscope {
namespace {

constexpr int kWideGap = 3, kGap = 2;
constexpr int kBarWidth = 20;

int width_of(const Cell& cell) {
  return cell.bar >= 0 ? kBarWidth : display_width(cell.guides) + display_width(cell.text);
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

bool is_bar(const Table& table, std::size_t column) {
  return !table.rows.empty() && table.rows.front()[column].bar >= 0;
}

// How far the columns can be cut.
int least_width(const Table& table, const std::vector<int>& widths) {
  std::vector<int> least = widths;
  for (std::size_t c = 0; c < least.size(); ++c)
    if (table.columns[c].min_width > 0) least[c] = std::min(least[c], table.columns[c].min_width);
  return total_width(least);
}

// Bars give way first, then the columns that a reader can do without, the last of them first; then the widest
// of those that may be cut gives a column at a time.
std::vector<int> fit(const Table& table, int width) {
  std::vector<int> widths = natural_widths(table);
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (is_bar(table, c))
      widths[c] = std::clamp(widths[c] - std::max(0, total_width(widths) - width), 0, kBarWidth);
  for (std::size_t c = widths.size(); c-- > 0 && least_width(table, widths) > width;)
    if (table.columns[c].optional) widths[c] = 0;
  while (total_width(widths) > width) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const int least = table.columns[c].min_width;
      if (least > 0 && widths[c] > least && (widest == widths.size() || widths[c] > widths[widest]))
        widest = c;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string bar(double share, int width) {
  static constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text += kEighths[static_cast<std::size_t>(eighths % 8)];
}

std::string draw(const Cell& cell, int width, Align align, bool color) {
  if (cell.bar >= 0) return paint(pad_right(bar(cell.bar, width), width), cell.style, color);
  const int room = std::max(1, width - display_width(cell.guides));
  const std::string text = truncate_middle(cell.text, room);
  return paint(cell.guides, Style::kQuiet, color) +
         paint(align == Align::kLeft ? pad_right(text, room) : pad_left(text, room), cell.style, color);
}

// A line's last cell needs no padding, and trailing spaces help nobody.
void end_line(std::string& out) {
  while (out.ends_with(' ')) out.pop_back();
  out += '\n';
}

}  // namespace

std::string paint(std::string_view text, Style style, bool color) {
  static constexpr std::array<std::string_view, 5> kCodes{"", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m"};
  const std::string_view code = kCodes[static_cast<std::size_t>(style)];
  // Padding stays outside the colour, so that the ends of lines can be trimmed.
  const auto end = text.find_last_not_of(' ');
  if (!color || code.empty() || end == std::string_view::npos) return std::string(text);
  std::string result(code);
  result += text.substr(0, end + 1);
  result += "\x1b[0m";
  return result += text.substr(end + 1);
}

std::string render_table(const Table& table, int width, bool color) {
  const bool roomy = total_width(natural_widths(table), kWideGap) <= width;
  const std::vector<int> widths = fit(table, width);
  std::string out;
  const std::string gap(static_cast<std::size_t>(roomy ? kWideGap : kGap), ' ');
  const auto add = [&](const auto& row, auto&& to_cell) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] == 0) continue;
      if (c > 0) out += gap;
      out += draw(to_cell(row[c]), widths[c], table.columns[c].align, color);
    }
    end_line(out);
  };
  const bool titled = std::ranges::any_of(table.columns, [](const Column& c) { return !c.title.empty(); });
  if (titled) add(table.columns, [](const Column& column) { return Cell{column.title, Style::kStrong}; });
  for (const auto& row : table.rows) add(row, [](const Cell& cell) -> const Cell& { return cell; });
  return out;
}

}  // namespace opscope
