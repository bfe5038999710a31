// The tables of a comparison. In a cell the value comes first, then the mark of the best, then the ratio,
// each below its like.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/compare/report.h"
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

// "0.10x", "" where there is none
std::string ratio_text(const ComparedValue& value) {
  if (!value.ratio) return "";
  const double ratio = *value.ratio;
  if (ratio > 0 && ratio < 0.005) return "<0.01x";
  if (ratio < 9.995) return fmt::format("{:.2f}x", ratio);
  return ratio < 99.95 ? fmt::format("{:.1f}x", ratio) : fmt::format("{:.0f}x", ratio);
}

// The two texts of a cell.
struct CellParts {
  std::string value, beside;
  Style style = Style::kPlain;
};

// Cells of one column. In a terminal the values are right-aligned among themselves, and what is beside them
// too.
std::vector<Cell> cells_of(const std::vector<CellParts>& parts, bool for_terminal) {
  int values = 0, others = 0;
  for (const CellParts& part : parts) {
    values = std::max(values, display_width(part.value));
    others = std::max(others, display_width(part.beside));
  }
  std::vector<Cell> cells;
  for (const CellParts& part : parts) {
    std::string text = for_terminal ? pad_left(part.value, values) : part.value;
    if (!for_terminal && text.ends_with(' ')) text.pop_back();
    if (for_terminal && others > 0) text += " " + pad_left(part.beside, others);
    if (!for_terminal && !part.beside.empty()) text += " " + part.beside;
    if (part.value.empty()) text.clear();
    cells.push_back({std::move(text), part.style});
  }
  return cells;
}

CellParts parts_of(Unit unit, const ComparedValue& value, bool with_mark, bool with_ratio) {
  CellParts parts{value_text(unit, value), with_ratio ? ratio_text(value) : "", Style::kPlain};
  if (with_mark) parts.value += value.is_best ? "*" : " ";
  if (value.is_best) parts.style = Style::kGood;
  if (!value.is_known) parts.style = Style::kQuiet;
  return parts;
}

void add_column(Table& table, Column column, const std::vector<Cell>& cells) {
  table.columns.push_back(std::move(column));
  if (table.rows.empty()) table.rows.resize(cells.size());
  for (std::size_t r = 0; r < cells.size(); ++r) table.rows[r].push_back(cells[r]);
}

std::vector<CellParts> column_of(const ModelComparison& comparison, std::size_t model, bool with_ratio) {
  std::vector<CellParts> column;
  for (const ComparedRow& row : comparison.rows)
    column.push_back(parts_of(row.unit, row.values[model], true, with_ratio && model > 0));
  if (comparison.mix.empty()) return column;
  column.push_back({});
  for (const ComparedRow& row : comparison.mix) {
    CellParts part = parts_of(row.unit, row.values[model], false, false);
    if (row.values[model].is_known && !(row.values[model].amount.real > 0)) part = {"-", "", Style::kQuiet};
    part.value += " ";  // below the values, not their marks
    column.push_back(std::move(part));
  }
  return column;
}

std::vector<Cell> titles_of(const ModelComparison& comparison) {
  std::vector<Cell> titles;
  for (const ComparedRow& row : comparison.rows)
    titles.push_back({row.title, row.is_part ? Style::kQuiet : Style::kPlain, row.is_part ? kIndent : ""});
  if (comparison.mix.empty()) return titles;
  titles.push_back({"FLOPs by op", Style::kStrong});
  for (const ComparedRow& row : comparison.mix) titles.push_back({row.title, Style::kPlain, kIndent});
  return titles;
}

// In a table with a row a model: which quantities, under which short titles.
struct ModelColumn {
  std::string_view key, title;
  bool optional;
};
constexpr std::array kModelColumns{
    ModelColumn{"params", "Params", false},
    ModelColumn{"flops", "FLOPs", false},
    ModelColumn{"memory_bytes", "Moved", false},
    ModelColumn{"peak_memory_bytes", "Peak", false},
    ModelColumn{"arithmetic_intensity", "FLOPs/B", true},
    ModelColumn{"memory_bound_time_share", "Mem-bound", false},
    ModelColumn{"relative_time", "Time", false},
    ModelColumn{"roofline_seconds", "Roofline", false},
    ModelColumn{"time_seconds", "Measured", false},
    ModelColumn{"macs", "MACs", true},
    ModelColumn{"fused_bytes", "Fused", true},
    ModelColumn{"ops", "Ops", true},
};

enum class Ratios : std::uint8_t { kAll, kFew, kNone };

bool takes_ratio(std::string_view key, Ratios ratios) {
  if (ratios == Ratios::kAll) return true;
  return ratios == Ratios::kFew && (key == "flops" || key.ends_with("roofline_seconds"));
}

Table models_table(const ModelComparison& comparison, Ratios ratios, bool for_terminal) {
  Table table;
  std::vector<Cell> names;
  for (const ComparedModel& model : comparison.models) names.push_back({model.label});
  add_column(table, {.title = "Model", .align = Align::kLeft, .min_width = 16, .good_width = 24}, names);
  const auto add = [&](const ComparedRow& row, std::string title, bool optional) {
    std::vector<CellParts> parts;
    for (const ComparedValue& value : row.values)
      parts.push_back(
          parts_of(row.unit, value, row.better != Better::kNeither, takes_ratio(row.key, ratios)));
    add_column(table, {.title = std::move(title), .optional = optional && for_terminal},
               cells_of(parts, for_terminal));
  };
  for (const ModelColumn& column : kModelColumns)
    if (const ComparedRow* row = comparison.row(column.key))
      add(*row, std::string(column.title), column.optional);
  for (const ComparedRow& row : comparison.rows)  // of several devices
    if (row.key.ends_with(".roofline_seconds") && !row.is_part) add(row, row.title.substr(10), false);
  return table;
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

// The first `shown` rows of the first `models` models, and the whole of each.
Table parts_table(const ModelComparison& comparison, const ComparedParts& parts, std::size_t shown,
                  std::size_t models, bool with_more, bool for_terminal) {
  Table table;
  std::vector<Cell> names;
  for (std::size_t r = 0; r < shown; ++r) names.push_back(part_name(parts, parts.rows[r]));
  names.push_back({"Total", Style::kStrong});
  const std::string what = heading(*parts.metric);
  add_column(table, {.title = what, .align = Align::kLeft, .min_width = 14, .good_width = 18}, names);
  for (std::size_t m = 0; m < models; ++m) {
    std::vector<CellParts> column;
    for (std::size_t r = 0; r < shown; ++r) {
      const ComparedValue& value = parts.rows[r].values[m];
      if (!value.is_known)
        column.push_back({"-", "", Style::kQuiet});
      else
        column.push_back({value_text(parts.metric->unit, value), with_more ? beside(parts, value, m) : ""});
    }
    ComparedValue total;
    total.is_known = amount_in(comparison.models[m].figures, *parts.metric).has_value();
    total.amount = parts.totals[m];
    total.confidence = comparison.models[m].figures.totals.confidence;
    if (parts.metric->basis == Basis::kModules) total.confidence = Confidence::kExact;
    if (m > 0 && total.is_known && parts.totals[0].real > 0)
      total.ratio = total.amount.real / parts.totals[0].real;
    const bool ratio = with_more && parts.by == CompareBy::kModule;
    column.push_back(parts_of(parts.metric->unit, total, false, ratio));
    column.back().style = Style::kStrong;
    add_column(table, {comparison.models[m].label}, cells_of(column, for_terminal));
  }
  return table;
}

}  // namespace

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

Section totals_section(const ModelComparison& comparison, int width, bool for_terminal) {
  Section section{"Models"};
  for (const bool with_ratio : {true, false}) {
    Table table;
    add_column(table, {.title = "", .align = Align::kLeft}, titles_of(comparison));
    for (std::size_t m = 0; m < comparison.models.size(); ++m)
      add_column(table, {comparison.models[m].label},
                 cells_of(column_of(comparison, m, with_ratio), for_terminal));
    section.table = std::move(table);
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
  const std::size_t most =
      options.verbose || !by_type ? parts.rows.size() : static_cast<std::size_t>(std::max(options.top, 0));
  const std::size_t shown = std::min(parts.rows.size(), most);
  std::size_t models = comparison.models.size();
  bool with_more = true;
  section.table = parts_table(comparison, parts, shown, models, with_more, for_terminal);
  const auto too_wide = [&] { return for_terminal && table_width(section.table) > options.width; };
  while (too_wide() && (with_more || models > 1)) {
    with_more ? void(with_more = false) : void(--models);
    section.table = parts_table(comparison, parts, shown, models, with_more, for_terminal);
  }
  if (shown < parts.rows.size())
    section.remarks.push_back(plural(parts.rows.size() - shown, "more type") +
                              ": --verbose shows them, --top N some");
  if (models < comparison.models.size())
    section.remarks.push_back(plural(comparison.models.size() - models, "more model") +
                              ": a wider terminal, --format csv or json has them");
  if (!by_type && comparison.models.size() > 1)
    section.remarks.push_back(
        std::to_string(parts.in_all) + " of " + plural(parts.rows.size(), "row") +
        (comparison.models.size() == 2 ? " in both, matched by path" : " in all, matched by path"));
  return section;
}

}  // namespace opscope
