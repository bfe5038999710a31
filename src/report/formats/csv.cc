// A table's rows as CSV (RFC 4180, but with plain line ends): a header of keys, raw numbers.
#include <fmt/format.h>

#include "base/terminal_text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

// Spreadsheets run a cell that begins like a formula, and take one with a mark before it for text.
bool is_formula(std::string_view text) {
  return text.size() > 1 && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
}

std::string field(std::string_view text) {
  std::string shown = (is_formula(text) ? "'" : "") + printable(text);
  if (shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string result = "\"";
  for (const char c : shown) result.append(c == '"' ? 2 : 1, c);
  return result + "\"";
}

// Every digit, whatever its unit.
std::string raw(const Cell& cell) {
  const auto write = [&](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::convertible_to<T, std::string_view>) return field(value);
    if constexpr (std::same_as<T, Count>) return std::to_string(value.value());
    if constexpr (std::is_arithmetic_v<T>) return fmt::format("{}", value);
    return field(text_of(cell));
  };
  return std::visit(write, static_cast<const CellVariant&>(cell.value));
}

std::string csv_table(const Table& table, const TextOptions&) {
  std::string out;
  for (const Column& column : table.columns) out.append(field(column.key)).append(",");
  out.back() = '\n';
  for (const auto& row : table.rows) {
    for (const Cell& cell : row) out.append(raw(cell)).append(",");
    out.back() = '\n';
  }
  return out;
}

}  // namespace

extern constinit const FormatRow csv_format{.name = "csv", .format = Format::kCsv, .table = csv_table};

}  // namespace opscope
