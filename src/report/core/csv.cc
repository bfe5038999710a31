// A table's rows as CSV (RFC 4180, but with plain line ends): a header of keys, raw numbers.
#include <fmt/format.h>

#include "base/printable.h"
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

// Raw, whatever its unit.
struct Raw {
  const Cell& cell;
  std::string operator()(std::string_view text) const { return field(text); }
  std::string operator()(const std::string& text) const { return field(text); }
  std::string operator()(Count count) const { return std::to_string(count.value()); }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(bool truth) const { return truth ? "true" : "false"; }
  std::string operator()(const auto&) const { return field(text_of(cell)); }
};

}  // namespace

std::string to_csv(const Table& table, const TextOptions&) {
  std::string out;
  for (const Column& column : table.columns) out.append(field(column.key)).append(",");
  out.back() = '\n';
  for (const auto& row : table.rows) {
    for (const Cell& cell : row)
      out.append(std::visit(Raw{cell}, static_cast<const CellVariant&>(cell.value))).append(",");
    out.back() = '\n';
  }
  return out;
}

}  // namespace opscope
