// Tables of typed cells under keyed columns. A column is one row of a list: where it stands, how people read
// it, and how it is read from a row. Every format is written from the same list.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/count.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "metrics/unit.h"

namespace opscope {

enum class Align : std::uint8_t { kLeft, kRight };
enum class Style : std::uint8_t { kPlain, kStrong, kQuiet, kGood, kWarning, kBad };

using Numbers = std::vector<std::int64_t>;
struct Shape {  // "1x3x224x224"; a list of its sizes in JSON
  Numbers sizes;
};
using NestedJson = std::function<void(JsonWriter&)>;
struct Absent {};  // no such field: JSON leaves the key out, where nothing (monostate) is null
using CellVariant = std::variant<std::monostate, Absent, std::string_view, std::string, Count, std::int64_t,
                                 double, bool, Numbers, Shape, NestedJson>;

// What a cell has. A string_view is kept as it is: it has to be of what outlives the table.
struct CellValue : CellVariant {
  CellValue() = default;
  CellValue(Absent absent) : CellVariant(absent) {}
  CellValue(const char* text) : CellVariant(std::string_view(text)) {}
  CellValue(std::string_view text) : CellVariant(text) {}
  CellValue(std::string text) : CellVariant(std::move(text)) {}
  CellValue(Count count) : CellVariant(count) {}
  CellValue(double number) : CellVariant(number) {}
  CellValue(std::same_as<bool> auto truth) : CellVariant(truth) {}
  CellValue(std::signed_integral auto number) : CellVariant(static_cast<std::int64_t>(number)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) CellValue(T number) : CellVariant(Count{number}) {}
  CellValue(Numbers numbers) : CellVariant(std::move(numbers)) {}
  CellValue(Shape shape) : CellVariant(std::move(shape)) {}
  CellValue(NestedJson write) : CellVariant(std::move(write)) {}
  template <class Enum>  // by its name
  requires std::same_as<decltype(name(Enum())), std::string_view> CellValue(Enum value)
      : CellVariant(name(value)) {}
  template <class T>
  CellValue(const std::optional<T>& value) : CellValue(value ? CellValue(*value) : CellValue()) {}
};

struct Cell {
  Cell() = default;
  template <class T>
  requires std::constructible_from<CellValue, T> Cell(T&& what, Style how = Style::kPlain,
                                                      std::string lines = {})
      : value(std::forward<T>(what)), style(how), guides(std::move(lines)) {}

  CellValue value{};
  Style style = Style::kPlain;
  std::string guides{};      // tree lines before the text; never cut
  double bar = -1;           // a share of 0..1 drawn as a bar instead of text
  Unit unit = Unit::kPlain;  // how people read it; programs get every digit
  Zero zero = Zero::kDash;   // of a number that has a unit
  std::string_view mark{};   // before the number: "~" estimated, "≤" upper bound, "≥" at least
};

// As people read it, on one line, without its guides.
std::string text_of(const Cell& cell);
std::vector<Cell> without_empty(std::vector<Cell> cells);

Numbers counted_from_1(std::span<const std::uint32_t> ids);  // as people count nodes and subgraphs
Cell cell_of(CellValue value, Unit unit, Style style = Style::kPlain, Zero zero = Zero::kDash);
Cell number_or_dash(std::uint64_t number);  // every digit, "-" for 0
Cell share_cell(double part, double whole);
Cell share_cell(Count part, Count whole);
Cell amount_cell(Unit unit, const std::optional<Amount>& amount);  // exact where it is counted
Cell bar_cell(double share, Style style = Style::kPlain);
Cell bar_cell(Count part, Count whole, Style style = Style::kPlain);

enum class In : std::uint8_t { kAll, kPeople, kCsv, kJson };

struct Column {
  std::string title{};  // without one, and with a key, it is for programs alone
  Align align = Align::kRight;
  int min_width = 0;      // where positive, the column may be cut down to it
  bool optional = false;  // left out where cutting is not enough
  int good_width = 0;     // of names: other columns are cut or left out before these are cut further
  bool wraps = false;     // of the last: what is too wide goes on in lines below, instead of being cut
  std::string key{};      // of JSON and the header of CSV; without one it is for people alone
  Unit unit = Unit::kPlain;
  In in = In::kAll;
  Style style = Style::kPlain;  // of cells without one of their own

  bool is_in(In format) const;
  Column only(In format) && { return in = format, std::move(*this); }
  Column or_not() && { return optional = true, std::move(*this); }
  Column wrapped() && { return wraps = true, std::move(*this); }
  Column quiet() && { return style = Style::kQuiet, std::move(*this); }
  Column strong() && { return style = Style::kStrong, std::move(*this); }
};
// Words, and numbers; without a key for people alone.
Column words(std::string title, int min_width = 0, int good_width = 0);
Column number(std::string title, Unit unit = Unit::kPlain);
Column keyed(std::string key, Column column);
// For one format of programs alone.
inline Column in_csv(std::string key) { return {.key = std::move(key), .in = In::kCsv}; }
inline Column in_json(std::string key) { return {.key = std::move(key), .in = In::kJson}; }
// In a list of its own, titled by its key: "input_bytes" is "Input bytes".
Column listed(std::string key, Align align = Align::kLeft);

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string name{};  // of the array in JSON, where the table stands alone

  Table called(std::string array) && { return name = std::move(array), std::move(*this); }
  bool is_bar(std::size_t column) const { return !rows.empty() && rows.front()[column].bar >= 0; }
  // `style` is of the whole row: cells and columns with a style of their own keep it.
  void add(std::vector<Cell> row, Style style = Style::kPlain);
};

template <class Row>
struct ColumnOf {
  Column column;
  std::function<Cell(const Row&)> read;

  ColumnOf(Column where, std::function<Cell(const Row&)> how)
      : column(std::move(where)), read(std::move(how)) {}
  // Of programs alone.
  ColumnOf(const char* key, std::function<Cell(const Row&)> how) : column{.key = key}, read(std::move(how)) {}
};
template <class Row>
struct Columns : std::vector<ColumnOf<Row>> {
  using std::vector<ColumnOf<Row>>::vector;
  Columns& operator+=(Columns more) {
    for (auto& column : more) this->push_back(std::move(column));
    return *this;
  }
};

// Columns of the part of a row that `read` finds.
template <class Row, class Part, class Read>
Columns<Row> through(Read read, const Columns<Part>& columns) {
  Columns<Row> result;
  for (const auto& [column, cell] : columns)
    result.push_back({column, [read, cell = cell](const Row& row) { return cell(std::invoke(read, row)); }});
  return result;
}

// The same columns, for one format of programs alone: where files have them in different places.
template <class Row>
Columns<Row> in_format_alone(In format, const Columns<Row>& columns) {
  Columns<Row> result;
  for (const auto& [column, read] : columns)
    if (column.is_in(format)) result.push_back({Column(column).only(format), read});
  return result;
}

// The table of one format; `style` is of whole rows.
template <class Row, class Rows>
Table table_of(const Columns<Row>& columns, const Rows& rows, In format = In::kPeople,
               const std::function<Style(const Row&)>& style = {}) {
  Table table;
  std::vector<const ColumnOf<Row>*> chosen;
  for (const auto& column : columns)
    if (column.column.is_in(format)) chosen.push_back(&column), table.columns.push_back(column.column);
  for (const auto& row : rows) {
    std::vector<Cell> cells;
    cells.reserve(chosen.size());
    for (const auto* column : chosen) cells.push_back(column->read(row));
    table.add(std::move(cells), style ? style(row) : Style::kPlain);
  }
  return table;
}

// A real number that CSV has as JSON does: always with a point.
Cell with_point(const Cell& cell);
template <class Row, class Read>
Columns<Row> real_column(const std::string& key, Read read) {
  return {{in_json(key), read},
          {in_csv(key), [=](const Row& row) { return with_point(std::invoke(read, row)); }}};
}

template <class Row>
std::size_t index_in(const std::vector<Row>& rows, const Row& row) {
  return static_cast<std::size_t>(&row - rows.data());
}

// Fields of an object of JSON, and an array of such.
void write_field(JsonWriter& json, std::string_view key, const Cell& cell);
template <class Row>
void write_fields(JsonWriter& json, const Columns<Row>& columns, const Row& row) {
  for (const auto& [column, read] : columns)
    if (column.is_in(In::kJson)) write_field(json, column.key, read(row));
}
template <class Row, class Rows>
void write_array(JsonWriter& json, const Columns<Row>& columns, const Rows& rows) {
  json.begin_array();
  for (const Row& row : rows) {
    json.begin_object(kInline);
    write_fields(json, columns, row);
    json.end_object();
  }
  json.end_array();
}
// Rows that outlive the table, as an array in a cell.
template <class Row, class Rows>
NestedJson nested_rows(const Columns<Row>& columns, const Rows& rows) {
  return [columns, shown = std::span(rows)](JsonWriter& json) { write_array(json, columns, shown); };
}
template <class Row, class Rows>
void write_rows(JsonWriter& json, std::string_view key, const Columns<Row>& columns, const Rows& rows) {
  json.key(key);
  write_array(json, columns, rows);
}

}  // namespace opscope
