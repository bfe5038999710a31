// The document of a comparison: a column a model while they fit beside each other, else a row a model.
#include "report/compare/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
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

}  // namespace

std::string value_text(Unit unit, const ComparedValue& value) {
  if (!value.is_known) return "?";
  return std::string(confidence_mark(value.confidence)) + text(unit, value.amount);
}

std::string ratio_text(const ComparedValue& value) {
  if (!value.ratio) return "";
  const double ratio = *value.ratio;
  if (ratio > 0 && ratio < 0.005) return "<0.01x";
  if (ratio < 9.995) return fmt::format("{:.2f}x", ratio);
  return ratio < 99.95 ? fmt::format("{:.1f}x", ratio) : fmt::format("{:.0f}x", ratio);
}

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

Document comparison_document(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                             const TextOptions& options, bool for_terminal) {
  Document document{header(comparison), options.notes, {}};
  document.notes.insert(document.notes.end(), comparison.notes.begin(), comparison.notes.end());
  if (parts) {
    document.sections.push_back(parts_section(comparison, *parts, options, for_terminal));
    return document;
  }
  Section section = whole(comparison, options, for_terminal);
  section.remarks.push_back(legend(comparison));
  document.sections.push_back(std::move(section));
  if (comparison.findings.empty()) return document;
  Section said{"What it means", {}, {}, {}};
  for (const std::string& finding : comparison.findings) said.remarks.push_back("- " + finding);
  document.sections.push_back(std::move(said));
  return document;
}

std::string to_format(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                      Format format, const TextOptions& options) {
  return to_format(
      Report{[&](JsonWriter& json) { write_comparison(json, comparison, parts); },
             [&] { return comparison_rows(comparison, parts); },
             [&] { return comparison_document(comparison, parts, options, format == Format::kText); }},
      format, options);
}

}  // namespace opscope
