// A comparison in every format: a column a model while they fit beside each other, else a row a model. In a
// cell the value comes first, then the mark of the best, then the ratio, each below its like. For programs
// every digit, a key for each quantity.
#include "report/compare/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr const char* kIndent =
    "   ";  // of a part below its whole; three columns are a level in every format

// "≥812M": with a mark for what is a bound.
std::string value_text(Unit unit, const ComparedValue& value) {
  if (!value.is_known) return "?";
  return std::string(confidence_mark(value.confidence)) + text(unit, value.amount);
}

// The two texts of a cell.
struct CellParts {
  std::string value, beside;
  Style style = Style::kPlain;
};

// A column of such cells. In a terminal the values are right-aligned among themselves, and what is beside
// them too.
template <class Row, class Read>
ColumnOf<Row> aligned(Column column, const std::vector<Row>& rows, bool for_terminal, const Read& read) {
  int values = 0, others = 0;
  for (const Row& row : rows) {
    const CellParts parts = read(row);
    values = std::max(values, display_width(parts.value));
    others = std::max(others, display_width(parts.beside));
  }
  return {std::move(column), [=](const Row& row) -> Cell {
            auto [value, beside, style] = read(row);
            if (value.empty()) return {"", style};
            if (for_terminal)
              return {pad_left(value, values) + (others > 0 ? " " + pad_left(beside, others) : ""), style};
            if (value.ends_with(' ')) value.pop_back();
            return {beside.empty() ? value : value + " " + beside, style};
          }};
}

CellParts parts_of(Unit unit, const ComparedValue& value, bool with_mark, bool with_ratio) {
  CellParts parts{value_text(unit, value), with_ratio ? ratio_text(value) : "", Style::kPlain};
  if (with_mark) parts.value += value.is_best ? "*" : " ";
  if (value.is_best) parts.style = Style::kGood;
  if (!value.is_known) parts.style = Style::kQuiet;
  return parts;
}

// What a table needs at least, nothing of it cut but for the columns that may be left out.
int table_width(const Table& table) {
  constexpr int kGap = 2;
  int total = -kGap;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].optional) continue;
    int width = display_width(table.columns[c].title);
    for (const auto& row : table.rows)
      width = std::max(width, display_width(row[c].guides) + display_width(text_of(row[c])));
    total += width + kGap;
  }
  return total;
}

// A quantity; those of the mix stand below a title, which is none.
struct TotalsRow {
  const ComparedRow* row = nullptr;
  bool in_mix = false;
};

Cell title_of(const TotalsRow& of) {
  if (!of.row) return {"FLOPs by op", Style::kStrong};
  if (of.in_mix) return {of.row->title, Style::kPlain, kIndent};
  return {of.row->title, of.row->is_part ? Style::kQuiet : Style::kPlain, of.row->is_part ? kIndent : ""};
}

CellParts totals_parts(const TotalsRow& of, std::size_t model, bool with_ratio) {
  if (!of.row) return {};
  const ComparedValue& value = of.row->values[model];
  if (!of.in_mix) return parts_of(of.row->unit, value, true, with_ratio && model > 0);
  const bool none = value.is_known && !(value.amount.real > 0);
  CellParts parts = none ? CellParts{"-", "", Style::kQuiet} : parts_of(of.row->unit, value, false, false);
  parts.value += " ";  // below the values, not their marks
  return parts;
}

// In a table with a row a model: which quantities, under which short titles.
struct ModelColumn {
  std::string_view key, title;
  bool optional = false;
};
constexpr ModelColumn kModelColumns[] = {{"params", "Params"},
                                         {"flops", "FLOPs"},
                                         {"memory_bytes", "Moved"},
                                         {"peak_memory_bytes", "Peak"},
                                         {"arithmetic_intensity", "FLOPs/B", true},
                                         {"memory_bound_time_share", "Mem-bound"},
                                         {"relative_time", "Time"},
                                         {"predicted_seconds", "Predicted"},
                                         {"roofline_seconds", "Roofline"},
                                         {"time_seconds", "Measured"},
                                         {"macs", "MACs", true},
                                         {"fused_bytes", "Fused", true},
                                         {"ops", "Ops", true}};

enum class Ratios : std::uint8_t { kAll, kFew, kNone };

Table models_table(const ModelComparison& comparison, Ratios ratios, bool for_terminal) {
  Columns<ComparedModel> columns{{words("Model", 16, 24), &ComparedModel::label}};
  const auto add = [&](const ComparedRow& row, std::string_view title, bool optional) {
    const bool few = row.key == "flops" || row.key.ends_with("predicted_seconds");
    const bool with_ratio = ratios == Ratios::kAll || (ratios == Ratios::kFew && few);
    Column column = number(std::string(title));
    column.optional = optional && for_terminal;
    columns.push_back(
        aligned(column, comparison.models, for_terminal, [&, with_ratio](const ComparedModel& model) {
          const ComparedValue& value = row.values[index_in(comparison.models, model)];
          return parts_of(row.unit, value, row.better != Better::kNeither, with_ratio);
        }));
  };
  for (const ModelColumn& column : kModelColumns)
    if (const ComparedRow* row = comparison.row(column.key)) add(*row, column.title, column.optional);
  for (const ComparedRow& row : comparison.rows)  // of several devices
    if (row.key.ends_with(".predicted_seconds")) add(row, row.title.substr(11), false);
  return table_of(columns, comparison.models);
}

// "99.7%" of the model's whole for types, the ratio to the first for modules.
std::string beside(const ComparedParts& parts, const ComparedValue& value, std::size_t model) {
  if (parts.by == CompareBy::kModule) return model > 0 ? ratio_text(value) : "";
  return adds_up(parts.metric->unit) ? format_percent(value.amount.real, parts.totals[model].real) : "";
}

Cell part_name(const ComparedParts& parts, const ComparedPart& row) {
  if (parts.by == CompareBy::kType) return {row.name};
  const std::string indent(row.depth > 1 ? 3 * (row.depth - 1) : 0, ' ');
  if (row.name.empty()) return {"(outside modules)", Style::kQuiet};
  return {row.name, Style::kPlain, indent};
}

ComparedPart total_of(const ModelComparison& comparison, const ComparedParts& parts) {
  ComparedPart all;
  for (std::size_t m = 0; m < comparison.models.size(); ++m) {
    const Figures& figures = comparison.models[m].figures;
    ComparedValue& total = all.values.emplace_back();
    total.is_known = amount_in(figures, *parts.metric).has_value();
    total.amount = parts.totals[m];
    total.confidence =
        parts.metric->basis == Basis::kModules ? Confidence::kExact : figures.totals.confidence;
    if (m > 0 && total.is_known && parts.totals[0].real > 0)
      total.ratio = total.amount.real / parts.totals[0].real;
  }
  return all;
}

// The first `shown` rows of the first `models` models, and the whole of each.
Table parts_table(const ModelComparison& comparison, const ComparedParts& parts, std::size_t shown,
                  std::size_t models, bool with_more, bool for_terminal) {
  std::vector<ComparedPart> rows(parts.rows.begin(), parts.rows.begin() + static_cast<std::ptrdiff_t>(shown));
  rows.push_back(total_of(comparison, parts));
  const auto is_total = [&](const ComparedPart& row) { return &row == &rows.back(); };
  Columns<ComparedPart> columns{{words(heading(*parts.metric), 14, 18), [&](const ComparedPart& row) {
                                   return is_total(row) ? Cell("Total", Style::kStrong)
                                                        : part_name(parts, row);
                                 }}};
  for (std::size_t m = 0; m < models; ++m) {
    const auto read = [&, m, with_more](const ComparedPart& row) -> CellParts {
      const ComparedValue& value = row.values[m];
      const Unit unit = parts.metric->unit;
      if (is_total(row)) {
        CellParts total = parts_of(unit, value, false, with_more && parts.by == CompareBy::kModule);
        return {total.value, total.beside, Style::kStrong};
      }
      if (!value.is_known) return {"-", "", Style::kQuiet};
      return {value_text(unit, value), with_more ? beside(parts, value, m) : ""};
    };
    columns.push_back(aligned(number(comparison.models[m].label), rows, for_terminal, read));
  }
  return table_of(columns, rows);
}

Section totals_section(const ModelComparison& comparison, int width, bool for_terminal) {
  Section section{"Models"};
  std::vector<TotalsRow> rows;
  for (const ComparedRow& row : comparison.rows) rows.push_back({&row});
  if (!comparison.mix.empty()) rows.push_back({nullptr, true});
  for (const ComparedRow& row : comparison.mix) rows.push_back({&row, true});
  for (const bool with_ratio : {true, false}) {
    Columns<TotalsRow> columns{{words(""), title_of}};
    for (std::size_t m = 0; m < comparison.models.size(); ++m)
      columns.push_back(aligned(number(comparison.models[m].label), rows, for_terminal,
                                [=](const TotalsRow& row) { return totals_parts(row, m, with_ratio); }));
    section.table = table_of(columns, rows);
    const bool few = comparison.models.size() <= 3;  // these are worth a column each even without ratios
    if (!for_terminal || table_width(section.table) <= width || !few) break;
  }
  return section;
}

Section models_section(const ModelComparison& comparison, int width, bool for_terminal) {
  Section section{"Models"};
  for (const Ratios ratios : {Ratios::kAll, Ratios::kFew, Ratios::kNone}) {
    section.table = models_table(comparison, ratios, for_terminal);
    if (!for_terminal || table_width(section.table) <= width) break;
  }
  return section;
}

Section parts_section(const ModelComparison& comparison, const ComparedParts& parts,
                      const TextOptions& options, bool for_terminal) {
  const bool by_type = parts.by == CompareBy::kType;
  Section section{by_type ? "By op type" : "By module"};
  const std::size_t shown = by_type ? shown_of(parts.rows.size(), options) : parts.rows.size();
  std::size_t models = comparison.models.size();
  bool with_more = true;
  section.table = parts_table(comparison, parts, shown, models, with_more, for_terminal);
  const auto too_wide = [&] { return for_terminal && table_width(section.table) > options.width; };
  while (too_wide() && (with_more || models > 1)) {
    if (with_more)
      with_more = false;
    else
      --models;
    section.table = parts_table(comparison, parts, shown, models, with_more, for_terminal);
  }
  if (shown < parts.rows.size())
    section.remarks.push_back(plural(parts.rows.size() - shown, "more type") +
                              ": --verbose shows them, --top N some");
  if (models < comparison.models.size())
    section.remarks.push_back(plural(comparison.models.size() - models, "more model") +
                              ": a wider terminal, --format csv or json has them");
  if (!by_type && comparison.models.size() > 1)
    section.remarks.push_back(fmt::format("{} of {} in {}, matched by path", parts.in_all,
                                          plural(parts.rows.size(), "row"),
                                          comparison.models.size() == 2 ? "both" : "all"));
  return section;
}

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

std::string legend(const ModelComparison& comparison) {
  std::string text = fmt::format("* best   2.00x: twice {}", comparison.models.front().label);
  std::set<Confidence> marks;
  for (const ComparedRow& row : comparison.rows)
    for (const ComparedValue& value : row.values)
      if (value.is_known) marks.insert(value.confidence);
  if (marks.contains(Confidence::kEstimated)) text += "   ~ estimated";
  if (marks.contains(Confidence::kUpperBound)) text += "   ≤ at most";
  if (marks.contains(Confidence::kUnknown)) text += "   ≥ at least";
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

Cell value_cell(Unit unit, const ComparedValue& value) {
  return value.is_known ? amount_cell(unit, value.amount) : Cell();
}

// JSON has more of models, and their shares of FLOPs in an object.
Columns<ComparedModel> model_columns(const ModelComparison& comparison) {
  using F = const Figures&;
  Columns<ComparedModel> columns{{"label", &ComparedModel::label}};
  columns += through<ComparedModel>(
      &ComparedModel::figures,
      Columns<Figures>{{"model", &Figures::model},
                       {"source", &Figures::source},
                       {"inputs", &Figures::inputs},
                       {"convention", &Figures::convention},
                       {"training", &Figures::is_training},
                       {in_json("saved_profile"), &Figures::is_saved},
                       {in_json("measured_on"), &Figures::measured_on},
                       {"confidence", [](F f) { return name(f.totals.confidence); }},
                       {in_json("unknown_ops"), [](F f) { return f.coverage.unknown; }},
                       {in_json("ridge"), [](F f) { return f.bottlenecks.ridge; }}});
  const auto add = [&](const ComparedRow& row, std::string key, In in) {
    columns.push_back({{.key = std::move(key), .in = in}, [&](const ComparedModel& model) {
                         return value_cell(row.unit, row.values[index_in(comparison.models, model)]);
                       }});
  };
  for (const ComparedRow& row : comparison.rows) add(row, row.key, In::kAll);
  for (const ComparedRow& row : comparison.mix) add(row, "flops_share." + row.key, In::kCsv);
  return columns;
}

void write_model(JsonWriter& json, const ModelComparison& comparison, const ComparedModel& model) {
  const std::size_t index = index_in(comparison.models, model);
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
  Columns<TypeRow> types{{"type", &TypeRow::type}, {"category", &TypeRow::category}};
  types += through<TypeRow>(&TypeRow::metrics, cost_columns("ops flops memory_bytes"));
  write_rows(json, "types", types, model.figures.types);
}

// A row a type or module, a column a model.
Columns<ComparedPart> part_columns(const ModelComparison& comparison, const ComparedParts& parts) {
  const bool by_type = parts.by == CompareBy::kType;
  Columns<ComparedPart> columns{{in_json("name"), &ComparedPart::name},
                                {in_csv(by_type ? "type" : "module"), &ComparedPart::name}};
  if (!by_type) columns.push_back({in_json("depth"), &ComparedPart::depth});
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    const auto value = [i, unit = parts.metric->unit](const ComparedPart& row) {
      return value_cell(unit, row.values[i]);
    };
    const std::string& label = comparison.models[i].label;
    columns += {{in_json(label), value}, {in_csv(label + "." + std::string(parts.metric->key)), value}};
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

}  // namespace

std::string ratio_text(const ComparedValue& value) {
  if (!value.ratio) return "";
  const double ratio = *value.ratio;
  if (ratio > 0 && ratio < 0.005) return "<0.01x";
  if (ratio < 9.995) return fmt::format("{:.2f}x", ratio);
  return ratio < 99.95 ? fmt::format("{:.1f}x", ratio) : fmt::format("{:.0f}x", ratio);
}

std::string to_format(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                      Format format, const TextOptions& options) {
  const auto rows = [&] {
    return parts ? table_of(part_columns(comparison, *parts), parts->rows, In::kCsv)
                 : table_of(model_columns(comparison), comparison.models, In::kCsv);
  };
  return to_format(
      Report{[&](JsonWriter& json) { write_comparison(json, comparison, parts); }, rows,
             [&] { return comparison_document(comparison, parts, options, format == Format::kText); }},
      format, options);
}

}  // namespace opscope
