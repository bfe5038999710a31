// The comparison for programs: every digit, a key for each quantity.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "report/compare/report.h"
#include "report/core/json_parts.h"

namespace opscope {
namespace {

void write_value(JsonWriter& json, Unit unit, const ComparedValue& value) {
  if (!value.is_known) return json.null();
  is_whole(unit) ? json.value(value.amount.count) : json.value(value.amount.real);
}

void write_mix(JsonWriter& json, const Figures& figures) {
  json.objects("types", figures.types, [&](const TypeRow& row) {
    json.field("type", row.type);
    json.field("category", name(row.category));
    json.field("ops", row.metrics.ops);
    json.field("flops", row.metrics.flops);
    json.field("memory_bytes", row.metrics.memory_bytes());
  });
}

void write_ratios(JsonWriter& json, const ModelComparison& comparison, std::size_t model) {
  json.key("ratio_to_first");
  json.begin_object(JsonLayout::kInline);
  for (const ComparedRow& row : comparison.rows)
    if (const auto& ratio = row.values[model].ratio) json.field(row.key, *ratio);
  json.end_object();
  std::vector<std::string> best;
  for (const ComparedRow& row : comparison.rows)
    if (row.values[model].is_best) best.push_back(row.key);
  json.list("best", best);
}

void write_model(JsonWriter& json, const ModelComparison& comparison, std::size_t index) {
  const ComparedModel& model = comparison.models[index];
  const Figures& figures = model.figures;
  json.begin_object();
  json.field("label", model.label);
  json.field("model", figures.model);
  json.field("source", figures.source);
  json.field("inputs", figures.inputs);
  json.field("convention", figures.convention);
  json.field("training", figures.is_training);
  json.field("saved_profile", figures.is_saved);
  json.field("measured_on", figures.measured_on);
  json.field("confidence", name(figures.totals.confidence));
  json.field("unknown_ops", figures.coverage.unknown);
  json.field("ridge", figures.bottlenecks.ridge);
  for (const ComparedRow& row : comparison.rows) {
    json.key(row.key);
    write_value(json, row.unit, row.values[index]);
  }
  write_ratios(json, comparison, index);
  json.key("flops_share_by_category");
  json.begin_object(JsonLayout::kInline);
  for (const ComparedRow& row : comparison.mix) {
    json.key(row.key);
    write_value(json, row.unit, row.values[index]);
  }
  json.end_object();
  write_mix(json, figures);
  json.end_object();
}

void write_parts(JsonWriter& json, const ModelComparison& comparison, const ComparedParts& parts) {
  json.field("by", parts.by == CompareBy::kType ? "type" : "module");
  json.field("metric", parts.metric->key);
  json.objects("rows", parts.rows, [&](const ComparedPart& row) {
    json.field("name", row.name);
    if (parts.by == CompareBy::kModule) json.field("depth", row.depth);
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      json.key(comparison.models[i].label);
      write_value(json, parts.metric->unit, row.values[i]);
    }
  });
}

std::string csv_value(Unit unit, const ComparedValue& value) {
  if (!value.is_known) return "";
  return is_whole(unit) ? fmt::format("{}", value.amount.count.value())
                        : fmt::format("{}", value.amount.real);
}

}  // namespace

std::string comparison_json(const ModelComparison& comparison, const std::optional<ComparedParts>& parts) {
  std::string out;
  JsonWriter json(out);
  begin_report(json);
  json.field("report", "comparison");
  json.list("findings", comparison.findings);
  json.list("notes", comparison.notes);
  json.key("models");
  json.begin_array();
  for (std::size_t i = 0; i < comparison.models.size(); ++i) write_model(json, comparison, i);
  json.end_array();
  if (parts) write_parts(json, comparison, *parts);
  std::vector<std::string> front;
  for (const ParetoPoint& point : pareto_points(comparison, metric_at("params"), metric_at("flops")))
    if (point.is_front) front.push_back(comparison.models[point.model].label);
  json.list("pareto_front_params_flops", front);
  json.end_object();
  return out + "\n";
}

std::string comparison_csv(const ModelComparison& comparison) {
  std::string out = "label,model,source,inputs,convention,training,confidence";
  for (const ComparedRow& row : comparison.rows) out += "," + csv_field(row.key);
  for (const ComparedRow& row : comparison.mix) out += "," + csv_field("flops_share." + row.key);
  out += '\n';
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    const ComparedModel& model = comparison.models[i];
    out += csv_field(model.label) + "," + csv_field(model.figures.model) + "," +
           csv_field(model.figures.source) + "," + csv_field(model.figures.inputs) + "," +
           model.figures.convention + "," + (model.figures.is_training ? "true" : "false") + "," +
           std::string(name(model.figures.totals.confidence));
    for (const ComparedRow& row : comparison.rows) out += "," + csv_value(row.unit, row.values[i]);
    for (const ComparedRow& row : comparison.mix) out += "," + csv_value(row.unit, row.values[i]);
    out += '\n';
  }
  return out;
}

std::string parts_csv(const ModelComparison& comparison, const ComparedParts& parts) {
  std::string out = parts.by == CompareBy::kType ? "type" : "module";
  for (const ComparedModel& model : comparison.models)
    out += "," + csv_field(model.label + "." + std::string(parts.metric->key));
  out += '\n';
  for (const ComparedPart& row : parts.rows) {
    out += csv_field(row.name);
    for (const ComparedValue& value : row.values) out += "," + csv_value(parts.metric->unit, value);
    out += '\n';
  }
  return out;
}

}  // namespace opscope
