// A table alone as JSON, an object a row; a report writes its own. What JSON reports begin with.
#include "graph/graph.h"
#include "report/core/document.h"

namespace opscope {
namespace {

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

std::string json_report(const Report& report) {
  std::string out;
  JsonWriter json(out);
  report.json(json);
  json.end_object();
  return out + "\n";
}

}  // namespace

extern constinit const FormatRow json_format{
    .name = "json", .format = Format::kJson, .table = json_rows, .report = json_report};

void begin_report(JsonWriter& json) {
  json.begin_object();
  json.fields("schema_version", kSchemaVersion, "opscope_version", OPSCOPE_VERSION);
}

void begin_report(JsonWriter& json, const Graph& graph) {
  begin_report(json);
  json.fields("model", model_name(graph), "source", graph.capture.source);
}

}  // namespace opscope
