// The document of a comparison: a column a model while they fit beside each other, else a row a model. For
// programs every digit, a key for each quantity.
#include "report/compare/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/profile/columns.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr std::size_t kMostColumns = 8;  // where no terminal is in the way

std::vector<Cell> header(const ModelComparison& comparison) {
  std::vector<Cell> cells{{plural(comparison.models.size(), "model"), Style::kStrong}};
  const Figures& first = comparison.models.front().figures;
  const auto same = [&](auto member) {
    return std::ranges::all_of(comparison.models,
                               [&](const ComparedModel& m) { return m.figures.*member == first.*member; });
  };
  if (same(&Figures::inputs) && !first.inputs.empty()) cells.push_back({first.inputs});
  if (same(&Figures::is_training) && first.is_training) cells.push_back({"a training step"});
  if (same(&Figures::convention) && first.convention != "opscope")
    cells.push_back({"FLOPs as " + first.convention + " counts"});
  std::vector<std::string> devices;
  for (const ComparedModel& model : comparison.models)
    for (const DeviceTime& time : model.times)
      if (std::ranges::find(devices, time.name) == devices.end()) devices.push_back(time.name);
  for (const std::string& device : devices) cells.push_back({"on " + device});
  if (devices.empty()) cells.push_back({fmt::format("ridge {:.4g}", comparison.ridge)});
  return cells;
}

bool has_mark(const ModelComparison& comparison, Confidence confidence) {
  return std::ranges::any_of(comparison.rows, [&](const ComparedRow& row) {
    return std::ranges::any_of(row.values, [&](const ComparedValue& value) {
      return value.is_known && value.confidence == confidence;
    });
  });
}

std::string legend(const ModelComparison& comparison) {
  std::string text = fmt::format("* best   2.00x: twice {}", comparison.models.front().label);
  if (has_mark(comparison, Confidence::kEstimated)) text += "   ~ estimated";
  if (has_mark(comparison, Confidence::kUpperBound)) text += "   ≤ at most";
  if (has_mark(comparison, Confidence::kUnknown)) text += "   ≥ at least";
  return text;
}

Section whole(const ModelComparison& comparison, const TextOptions& options, bool for_terminal) {
  Section columns = totals_section(comparison, options.width, for_terminal);
  const bool fits =
      for_terminal ? table_width(columns.table) <= options.width : comparison.models.size() <= kMostColumns;
  return fits || comparison.models.size() == 1 ? columns
                                               : models_section(comparison, options.width, for_terminal);
}

Document comparison_document(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                             const TextOptions& options, bool for_terminal) {
  Document document{header(comparison), options.notes, {}};
  document.notes.insert(document.notes.end(), comparison.notes.begin(), comparison.notes.end());
  if (parts) {
    document.sections = {parts_section(comparison, *parts, options, for_terminal)};
    return document;
  }
  document.sections = {whole(comparison, options, for_terminal)};
  document.sections[0].remarks.push_back(legend(comparison));
  Section said{"What it means"};
  for (const std::string& finding : comparison.findings) said.remarks.push_back("- " + finding);
  document.add(std::move(said));
  return document;
}

std::size_t index_of(const ModelComparison& comparison, const ComparedModel& model) {
  return static_cast<std::size_t>(&model - comparison.models.data());
}

Cell value_cell(Unit unit, const ComparedValue& value) {
  return value.is_known ? amount_cell(unit, value.amount) : Cell();
}

// JSON has more of models, and their shares of FLOPs in an object.
Columns<ComparedModel> model_columns(const ModelComparison& comparison) {
  using F = const Figures&;
  const auto json = [](const char* key) { return Column{.key = key, .in = In::kJson}; };
  Columns<ComparedModel> columns{{"label", &ComparedModel::label}};
  columns += through<ComparedModel>(
      &ComparedModel::figures, Columns<Figures>{{"model", &Figures::model},
                                                {"source", &Figures::source},
                                                {"inputs", &Figures::inputs},
                                                {"convention", &Figures::convention},
                                                {"training", &Figures::is_training},
                                                {json("saved_profile"), &Figures::is_saved},
                                                {json("measured_on"), &Figures::measured_on},
                                                {"confidence", [](F f) { return name(f.totals.confidence); }},
                                                {json("unknown_ops"), [](F f) { return f.coverage.unknown; }},
                                                {json("ridge"), [](F f) { return f.bottlenecks.ridge; }}});
  const auto add = [&](const ComparedRow& row, std::string key, In in) {
    columns.push_back({{.key = std::move(key), .in = in}, [&](const ComparedModel& model) {
                         return value_cell(row.unit, row.values[index_of(comparison, model)]);
                       }});
  };
  for (const ComparedRow& row : comparison.rows) add(row, row.key, In::kAll);
  for (const ComparedRow& row : comparison.mix) add(row, "flops_share." + row.key, In::kCsv);
  return columns;
}

void write_model(JsonWriter& json, const ModelComparison& comparison, const ComparedModel& model) {
  const std::size_t index = index_of(comparison, model);
  write_fields(json, model_columns(comparison), model);
  json.inline_object("ratio_to_first", [&] {
    for (const ComparedRow& row : comparison.rows)
      if (const auto& ratio = row.values[index].ratio) json.field(row.key, *ratio);
  });
  std::vector<std::string> best;
  for (const ComparedRow& row : comparison.rows)
    if (row.values[index].is_best) best.push_back(row.key);
  json.list("best", best);
  json.inline_object("flops_share_by_category", [&] {
    for (const ComparedRow& row : comparison.mix)
      write_field(json, row.key, value_cell(row.unit, row.values[index]));
  });
  Columns<TypeRow> types{{"type", &TypeRow::type},
                         {"category", [](const TypeRow& row) { return name(row.category); }}};
  types += through<TypeRow>(&TypeRow::metrics, cost_columns("ops flops memory_bytes"));
  write_rows(json, "types", types, model.figures.types);
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

void write_comparison(JsonWriter& json, const ModelComparison& comparison,
                      const std::optional<ComparedParts>& parts) {
  begin_report(json);
  json.field("report", "comparison");
  json.list("findings", comparison.findings);
  json.list("notes", comparison.notes);
  json.objects(
      "models", comparison.models, [&](const ComparedModel& model) { write_model(json, comparison, model); },
      JsonLayout::kLines);
  if (parts) {
    json.fields("by", parts->by == CompareBy::kType ? "type" : "module", "metric", parts->metric->key);
    write_rows(json, "rows", part_columns(comparison, *parts), parts->rows);
  }
  std::vector<std::string> front;
  for (const ParetoPoint& point : pareto_points(comparison, metric_at("params"), metric_at("flops")))
    if (point.is_front) front.push_back(comparison.models[point.model].label);
  json.list("pareto_front_params_flops", front);
}

Table comparison_rows(const ModelComparison& comparison, const std::optional<ComparedParts>& parts) {
  if (parts) return table_of(part_columns(comparison, *parts), parts->rows, In::kCsv);
  return table_of(model_columns(comparison), comparison.models, In::kCsv);
}

}  // namespace

std::string to_format(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                      Format format, const TextOptions& options) {
  return to_format(
      Report{[&](JsonWriter& json) { write_comparison(json, comparison, parts); },
             [&] { return comparison_rows(comparison, parts); },
             [&] { return comparison_document(comparison, parts, options, format == Format::kText); }},
      format, options);
}

}  // namespace opscope
