// Tables as aligned lines: each column as wide as it needs, names cut in the middle where the terminal is
// too narrow, a bar in the space that is left.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "graph/names.h"
#include "report/core/document.h"

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
  while (total_width(widths) > width) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const int least = limit(table.columns[c], cut);
      if (least > 0 && widths[c] > least && (widest == widths.size() || widths[c] > widths[widest]))
        widest = c;
    }
    if (widest == widths.size()) return;
    --widths[widest];
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
  const auto between = [](const std::string& name, int room) {
    return shortened_name(name, static_cast<std::size_t>(room));
  };
  const auto middle = [](const std::string& name, int room) { return truncate_middle(name, room); };
  const auto end = [](const std::string& name, int room) { return truncate(name, room); };
  std::vector<std::string> names;
  for (const auto& row : table.rows) names.push_back(row[column].text);
  std::map<std::string, std::set<std::string_view>> alike;
  const auto cut_by = [&](auto&& cut) {
    for (std::size_t r = 0; r < names.size(); ++r) {
      std::string& text = table.rows[r][column].text;
      const auto found = alike.find(text);
      const bool wanted = found == alike.end() || found->second.size() > 1;
      if (wanted && display_width(names[r]) > width) text = cut(names[r], width);
    }
    alike.clear();
    for (std::size_t r = 0; r < names.size(); ++r) alike[table.rows[r][column].text].insert(names[r]);
  };
  cut_by(between), cut_by(middle), cut_by(end);
}

// The table with its names cut to the widths.
Table with_names_cut(Table table, const std::vector<int>& widths) {
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (table.columns[c].good_width > 0 && widths[c] > 0) cut_names(table, c, widths[c]);
  return table;
}

std::string draw(const Cell& cell, int width, Align align, bool color) {
  if (cell.bar >= 0) return paint(pad_right(bar(cell.bar, width), width), cell.style, color);
  const int room = std::max(1, width - display_width(cell.guides));
  const std::string text = truncate_middle(cell.text, room);
  return paint(cell.guides, Style::kQuiet, color) +
         paint(align == Align::kLeft ? pad_right(text, room) : pad_left(text, room), cell.style, color);
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
  std::string result(code);
  result += text.substr(0, end + 1);
  result += "\x1b[0m";
  return result += text.substr(end + 1);
}

std::string render_table(const Table& table, int width, bool color) {
  const bool roomy = total_width(natural_widths(table), kWideGap) <= width;
  const std::vector<int> widths = fit(table, width);
  std::string out;
  const int between = roomy ? kWideGap : total_width(widths) <= width ? kGap : 1;
  const std::string gap(static_cast<std::size_t>(between), ' ');
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
  const bool has_names = std::ranges::any_of(table.columns, [](const Column& c) { return c.good_width > 0; });
  const Table cut = has_names ? with_names_cut(table, widths) : Table{};
  for (const auto& row : has_names ? cut.rows : table.rows)
    add(row, [](const Cell& cell) -> const Cell& { return cell; });
  return out;
}

}  // namespace opscope
