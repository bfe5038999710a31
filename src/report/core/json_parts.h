// What JSON reports say in the same words.
#pragma once

#include "base/json_writer.h"
#include "report/core/document.h"

namespace opscope {

// Opens the report and says by which opscope it is, and of which model.
inline void begin_report(JsonWriter& json) {
  json.begin_object();
  json.field("schema_version", kSchemaVersion);
  json.field("opscope_version", OPSCOPE_VERSION);
}
inline void begin_report(JsonWriter& json, const Graph& graph) {
  begin_report(json);
  json.field("model", model_name(graph));
  json.field("source", graph.capture.source);
}

// The metrics with this need: that of a row of theirs.
inline void write_metrics(JsonWriter& json, Needs need, const Costs& costs) {
  for (const Metric& metric : metrics()) {
    if (metric.need != need) continue;
    const Amount amount = metric.of(costs);
    is_whole(metric.unit) ? json.field(metric.key, amount.count) : json.field(metric.key, amount.real);
  }
}

// null for kNone; `first` is what the first of its kind is counted as.
inline void id_or_null(JsonWriter& json, std::string_view key, Id id, Id first = 0) {
  json.key(key);
  id == kNone ? json.null() : json.value(id + first);
}

}  // namespace opscope
