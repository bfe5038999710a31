// The comparison for programs: every digit, a key for each quantity.
#include <numeric>

#include "report/compare/report.h"
#include "report/profile/columns.h"

namespace opscope {
namespace {

Cell value_cell(Unit unit, const ComparedValue& value) {
  return value.is_known ? amount_cell(unit, value.amount) : Cell();
}

void write_ratios(JsonWriter& json, const ModelComparison& comparison, std::size_t model) {
  json.inline_object("ratio_to_first", [&] {
    for (const ComparedRow& row : comparison.rows)
      if (const auto& ratio = row.values[model].ratio) json.field(row.key, *ratio);
  });
  std::vector<std::string> best;
  for (const ComparedRow& row : comparison.rows)
    if (row.values[model].is_best) best.push_back(row.key);
  json.list("best", best);
}

// Models by their index. JSON has more of them, and its shares of FLOPs in an object.
Columns<std::size_t> model_columns(const ModelComparison& comparison) {
  const auto of = [&comparison](auto member) {
    return [&comparison, member](std::size_t i) { return comparison.models[i].figures.*member; };
  };
  const auto figures = [&comparison](const auto& read) {
    return [&comparison, read](std::size_t i) { return Cell(read(comparison.models[i].figures)); };
  };
  using F = const Figures&;
  const auto json = [](const char* key) { return Column{.key = key, .in = In::kJson}; };
  Columns<std::size_t> columns{{"label", [&comparison](std::size_t i) { return comparison.models[i].label; }},
                               {"model", of(&Figures::model)},
                               {"source", of(&Figures::source)},
                               {"inputs", of(&Figures::inputs)},
                               {"convention", of(&Figures::convention)},
                               {"training", of(&Figures::is_training)},
                               {json("saved_profile"), of(&Figures::is_saved)},
                               {json("measured_on"), of(&Figures::measured_on)},
                               {"confidence", figures([](F f) { return name(f.totals.confidence); })},
                               {json("unknown_ops"), figures([](F f) { return f.coverage.unknown; })},
                               {json("ridge"), figures([](F f) { return f.bottlenecks.ridge; })}};
  const auto add = [&](const ComparedRow& row, std::string key, In in) {
    columns.push_back({{.key = std::move(key), .in = in},
                       [&row](std::size_t i) { return value_cell(row.unit, row.values[i]); }});
  };
  for (const ComparedRow& row : comparison.rows) add(row, row.key, In::kPrograms);
  for (const ComparedRow& row : comparison.mix) add(row, "flops_share." + row.key, In::kCsv);
  return columns;
}

void write_model(JsonWriter& json, const ModelComparison& comparison, std::size_t index) {
  json.begin_object();
  write_fields(json, model_columns(comparison), index);
  write_ratios(json, comparison, index);
  json.inline_object("flops_share_by_category", [&] {
    for (const ComparedRow& row : comparison.mix)
      write_field(json, row.key, value_cell(row.unit, row.values[index]));
  });
  Columns<TypeRow> types{{"type", &TypeRow::type},
                         {"category", [](const TypeRow& row) { return name(row.category); }}};
  types += through<TypeRow>(&TypeRow::metrics, cost_columns("ops flops memory_bytes"));
  write_rows(json, "types", types, comparison.models[index].figures.types);
  json.end_object();
}

// A row a type or module, a column a model.
Columns<ComparedPart> part_columns(const ModelComparison& comparison, const ComparedParts& parts) {
  const bool by_type = parts.by == CompareBy::kType;
  Columns<ComparedPart> columns{{{.key = "name", .in = In::kJson}, &ComparedPart::name},
                                {{.key = by_type ? "type" : "module", .in = In::kCsv}, &ComparedPart::name}};
  if (!by_type) columns.push_back({{.key = "depth", .in = In::kJson}, &ComparedPart::depth});
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    const auto value = [i, unit = parts.metric->unit](const ComparedPart& row) {
      return value_cell(unit, row.values[i]);
    };
    const std::string& label = comparison.models[i].label;
    columns += {{{.key = label, .in = In::kJson}, value},
                {{.key = label + "." + std::string(parts.metric->key), .in = In::kCsv}, value}};
  }
  return columns;
}

}  // namespace

void write_comparison(JsonWriter& json, const ModelComparison& comparison,
                      const std::optional<ComparedParts>& parts) {
  begin_report(json);
  json.field("report", "comparison");
  json.list("findings", comparison.findings);
  json.list("notes", comparison.notes);
  json.key("models");
  json.begin_array();
  for (std::size_t i = 0; i < comparison.models.size(); ++i) write_model(json, comparison, i);
  json.end_array();
  if (parts) {
    json.field("by", parts->by == CompareBy::kType ? "type" : "module");
    json.field("metric", parts->metric->key);
    write_rows(json, "rows", part_columns(comparison, *parts), parts->rows);
  }
  std::vector<std::string> front;
  for (const ParetoPoint& point : pareto_points(comparison, metric_at("params"), metric_at("flops")))
    if (point.is_front) front.push_back(comparison.models[point.model].label);
  json.list("pareto_front_params_flops", front);
}

Table comparison_rows(const ModelComparison& comparison, const std::optional<ComparedParts>& parts) {
  if (parts) return table_of(part_columns(comparison, *parts), parts->rows, In::kCsv);
  std::vector<std::size_t> models(comparison.models.size());
  std::iota(models.begin(), models.end(), std::size_t{0});
  return table_of(model_columns(comparison), models, In::kCsv);
}

}  // namespace opscope
