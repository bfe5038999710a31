// Cells in words.
#include "report/core/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/terminal_text.h"

namespace opscope {
namespace {

std::string counted_text(Count count, const Cell& cell) {
  if (cell.unit == Unit::kPlain) return std::to_string(count.value());
  return cell.unit == Unit::kWhole ? format_exact(count) : text(cell.unit, counted(count), cell.zero);
}

// With its sign, but for plain numbers above zero.
std::string signed_text(std::int64_t number, const Cell& cell) {
  if (cell.unit == Unit::kPlain) return std::to_string(number);
  const auto size = static_cast<std::uint64_t>(number < 0 ? -number : number);
  return (number == 0 ? "" : number < 0 ? "-" : "+") + counted_text(Count{size}, cell);
}

struct Words {
  const Cell& cell;
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(Absent) const { return ""; }
  std::string operator()(std::string_view text) const { return printable(text); }
  std::string operator()(Count count) const { return counted_text(count, cell); }
  std::string operator()(std::int64_t number) const { return signed_text(number, cell); }
  std::string operator()(double number) const {
    return cell.unit == Unit::kPlain ? fmt::format("{}", number) : text(cell.unit, number, cell.zero);
  }
  std::string operator()(bool truth) const { return truth ? "yes" : "no"; }
  std::string operator()(const Numbers& numbers) const { return fmt::format("{}", fmt::join(numbers, " ")); }
  std::string operator()(const Shape& shape) const { return format_shape(shape.sizes); }
  std::string operator()(const NestedJson&) const { return ""; }
};

struct JsonValue {
  JsonWriter& json;
  void operator()(std::monostate) const { json.null(); }
  void operator()(Absent) const {}
  void operator()(const Numbers& numbers) const { json.list(numbers); }
  void operator()(const Shape& shape) const { json.list(shape.sizes); }
  void operator()(const NestedJson& write) const { write(json); }
  void operator()(const auto& value) const { json.value(value); }
};

}  // namespace

std::string text_of(const Cell& cell) {
  std::string words = std::visit(Words{cell}, static_cast<const CellVariant&>(cell.value));
  return cell.mark.empty() ? words : std::string(cell.mark) + words;
}

std::vector<Cell> without_empty(std::vector<Cell> cells) {
  std::erase_if(cells, [](const Cell& cell) { return text_of(cell).empty(); });
  return cells;
}

Numbers counted_from_1(std::span<const std::uint32_t> ids) {
  Numbers numbers;
  for (const std::uint32_t id : ids) numbers.push_back(std::int64_t{id} + 1);
  return numbers;
}

Cell cell_of(CellValue value, Unit unit, Style style, Zero zero) {
  Cell cell(std::move(value), style);
  cell.unit = unit;
  cell.zero = zero;
  return cell;
}
Cell number_or_dash(std::uint64_t number) { return number ? Cell(number) : Cell("-"); }
Cell share_cell(double part, double whole) { return cell_of(whole > 0 ? part / whole : 0.0, Unit::kShare); }
Cell share_cell(Count part, Count whole) {
  return share_cell(static_cast<double>(part), static_cast<double>(whole));
}
Cell amount_cell(Unit unit, const std::optional<Amount>& amount) {
  if (!amount) return {};
  return cell_of(is_whole(unit) ? CellValue(amount->count) : CellValue(amount->real), unit);
}
Cell bar_cell(double share, Style style) {
  Cell cell("", style);
  cell.bar = share;
  return cell;
}
Cell bar_cell(Count part, Count whole, Style style) { return bar_cell(ratio(part, whole), style); }

Cell with_point(const Cell& cell) {
  const auto* number = std::get_if<double>(static_cast<const CellVariant*>(&cell.value));
  if (!number) return cell;
  std::string text;
  append_json_double(text, *number);
  return text;
}

bool Column::is_in(In format) const {
  if (in != In::kAll) return in == format;
  return format == In::kPeople ? key.empty() || !title.empty() : !key.empty();
}

Column words(std::string title, int min_width, int good_width) {
  return {.title = std::move(title), .align = Align::kLeft, .min_width = min_width, .good_width = good_width};
}
Column number(std::string title, Unit unit) { return {.title = std::move(title), .unit = unit}; }
Column keyed(std::string key, Column column) {
  column.key = std::move(key);
  return column;
}

Column listed(std::string key, Align align) {
  Column column{.align = align, .key = std::move(key)};
  column.title = column.key == "macs"          ? "MACs"
                 : column.key == "flops"       ? "FLOPs"
                 : column.key == "other_flops" ? "Other FLOPs"
                                               : column.key;
  std::ranges::replace(column.title, '_', ' ');
  if (const char first = column.title[0]; first >= 'a' && first <= 'z')
    column.title[0] = static_cast<char>(first - 'a' + 'A');
  return column;
}

void Table::add(std::vector<Cell> row, Style style) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (row[c].unit == Unit::kPlain) row[c].unit = columns[c].unit;
    if (row[c].style == Style::kPlain) row[c].style = columns[c].style;
    if (row[c].style == Style::kPlain) row[c].style = style;
  }
  rows.push_back(std::move(row));
}

void write_field(JsonWriter& json, std::string_view key, const Cell& cell) {
  if (std::holds_alternative<Absent>(cell.value)) return;
  json.key(key);
  std::visit(JsonValue{json}, static_cast<const CellVariant&>(cell.value));
}

}  // namespace opscope
