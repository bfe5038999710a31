// The parts of documents, and what several reports word alike.
#include "report/core/document.h"

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "base/text.h"
#include "graph/graph.h"

namespace opscope {

Facts::Facts(std::string heading) : Section{heading, {{words(heading), {}, words("", 20)}, {}}} {}

void Facts::add(std::string label, Cell value, std::string detail) {
  if (value.style == Style::kPlain) value.style = Style::kStrong;
  table.add({std::move(label), std::move(value), {std::move(detail), Style::kQuiet}});
}

Section titled_section(std::string title, Table table) {
  table.columns.front().title = title;
  return {std::move(title), std::move(table)};
}

void say_more(Section& section, std::size_t shown, std::size_t all, std::string_view noun) {
  if (shown < all)
    section.remarks.push_back("and " + plural(all - shown, "more " + std::string(noun)) +
                              ": --verbose shows them");
}

void Document::add(Section section) {
  if (!section.table.rows.empty() || !section.remarks.empty() || !section.entries.empty())
    sections.push_back(std::move(section));
}

std::string_view confidence_mark(Confidence confidence) {
  switch (confidence) {
    case Confidence::kExact:
      return "";
    case Confidence::kEstimated:
      return "~";
    case Confidence::kUpperBound:
      return "≤";
    case Confidence::kUnknown:
      return "≥";
  }
  return "";
}

Cell flops_cell(const Metrics& metrics, Style style) {
  const bool is_bound = metrics.confidence == Confidence::kUpperBound;
  if (!metrics.flops && metrics.confidence == Confidence::kUnknown) return {"?", style};
  Cell cell = count_cell(metrics.flops, style);
  if (metrics.flops || is_bound) cell.mark = confidence_mark(metrics.confidence);
  return cell;
}

std::string flops_text(const Metrics& metrics) { return text_of(flops_cell(metrics)); }

std::string flops_legend(Confidence worst) {
  switch (worst) {
    case Confidence::kExact:
      return "";
    case Confidence::kEstimated:
      return "~ has estimated ops";
    case Confidence::kUpperBound:
      return "~ has estimated ops   ≤ has upper bounds";
    case Confidence::kUnknown:
      break;
  }
  return "~ has estimated ops   ≤ has upper bounds   ≥ and ? have ops of unknown cost, not counted";
}

std::string model_name(const Graph& graph) {
  if (!graph.capture.model.empty()) return graph.capture.model;
  return std::string(graph.text(graph.modules[0].type));
}

std::string shape_text(const Graph& graph, ValueId value) {
  return value == kNone ? std::string() : format_shape(graph.shape(graph.values[value]));
}

Cell shape_cell(const Graph& graph, ValueId value) {
  if (value == kNone) return {};
  const auto shape = graph.shape(graph.values[value]);
  return Shape{{shape.begin(), shape.end()}};
}

std::string_view source_text(std::string_view source) { return source.substr(source.rfind('/') + 1); }

std::string plural(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

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

void begin_report(JsonWriter& json) {
  json.begin_object();
  json.field("schema_version", kSchemaVersion);
  json.field("opscope_version", OPSCOPE_VERSION);
}

void begin_report(JsonWriter& json, const Graph& graph) {
  begin_report(json);
  json.field("model", model_name(graph));
  json.field("source", graph.capture.source);
}

std::string json_rows(const Table& table, const TextOptions&) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.field("schema_version", kSchemaVersion);
  json.objects(table.name, table.rows, [&](const std::vector<Cell>& row) {
    for (std::size_t c = 0; c < row.size(); ++c) write_field(json, table.columns[c].key, row[c]);
  });
  json.end_object();
  return out + "\n";
}

}  // namespace opscope
