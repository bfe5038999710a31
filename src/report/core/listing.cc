// A list's rows as JSON objects, CSV lines or one of the document's tables.
#include "report/core/listing.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

std::string text_of(const Listing::Item& item, bool rounded = false) {
  if (const auto* count = std::get_if<Count>(&item))
    return rounded ? format_count(*count) : std::to_string(count->value());
  const auto* text = std::get_if<std::string>(&item);
  return text ? *text : "";
}

void write_item(JsonWriter& json, const Listing::Item& item) {
  if (const auto* count = std::get_if<Count>(&item)) return json.value(*count);
  if (const auto* text = std::get_if<std::string>(&item)) return json.value(*text);
  json.null();
}

std::string json_text(const Listing& listing) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.field("schema_version", kSchemaVersion);
  json.key(listing.name);
  json.begin_array();
  for (const auto& row : listing.rows) {
    json.begin_object(JsonLayout::kInline);
    for (std::size_t c = 0; c < row.size(); ++c) {
      json.key(listing.keys[c]);
      write_item(json, row[c]);
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out + "\n";
}

std::string csv_text(const Listing& listing) {
  std::string out;
  for (const std::string& key : listing.keys) out.append(key).append(",");
  out.back() = '\n';
  for (const auto& row : listing.rows) {
    for (const auto& item : row) out.append(csv_field(text_of(item))).append(",");
    out.back() = '\n';
  }
  return out;
}

// "input_bytes" -> "Input bytes"
std::string title_of(std::string key) {
  if (key == "macs") return "MACs";
  if (key == "flops") return "FLOPs";
  if (key == "other_flops") return "Other FLOPs";
  for (char& c : key)
    if (c == '_') c = ' ';
  if (!key.empty() && key[0] >= 'a' && key[0] <= 'z') key[0] = static_cast<char>(key[0] - 'a' + 'A');
  return key;
}

Table table_of(const Listing& listing) {
  Table table;
  for (std::size_t c = 0; c < listing.keys.size(); ++c) {
    const bool number = std::ranges::any_of(
        listing.rows, [c](const auto& row) { return std::holds_alternative<Count>(row[c]); });
    table.columns.push_back({title_of(listing.keys[c]), number ? Align::kRight : Align::kLeft});
  }
  for (const auto& row : listing.rows) {
    auto& cells = table.rows.emplace_back();
    for (const auto& item : row) cells.push_back({text_of(item, listing.rounded)});
  }
  return table;
}

std::string html_text(const Table& table) {
  std::string out = "<table>\n<tr>";
  for (const Column& column : table.columns) out += "<th>" + html_escaped(column.title) + "</th>";
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const Cell& cell : row) out += "<td>" + html_escaped(cell.text) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string to_format(const Listing& listing, Format format, const TextOptions& options) {
  switch (format) {
    case Format::kText:
      return render_table(table_of(listing), options.width, options.color);
    case Format::kJson:
      return json_text(listing);
    case Format::kCsv:
      return csv_text(listing);
    case Format::kMarkdown:
      return markdown_table(table_of(listing));
    case Format::kHtml:
      return html_text(table_of(listing));
  }
  return {};
}

}  // namespace opscope
