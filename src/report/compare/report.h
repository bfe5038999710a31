// Models side by side, in every format, and as a picture of which of them no other beats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/compare/comparison.h"
#include "report/core/document.h"

namespace opscope {

// With parts, these in place of the totals.
std::string to_format(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                      Format format, const TextOptions& options);

// The pieces, one file each.
Document comparison_document(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                             const TextOptions& options, bool for_terminal);
// A column a model; a row a model. Elsewhere than in a terminal the width does not count.
Section totals_section(const ModelComparison& comparison, int width, bool for_terminal);
Section models_section(const ModelComparison& comparison, int width, bool for_terminal);
Section parts_section(const ModelComparison& comparison, const ComparedParts& parts,
                      const TextOptions& options, bool for_terminal);
void write_comparison(JsonWriter& json, const ModelComparison& comparison,
                      const std::optional<ComparedParts>& parts);
// CSV: a row a model, or a part.
Table comparison_rows(const ModelComparison& comparison, const std::optional<ComparedParts>& parts);

// "≥812M*": with a mark for what is a bound, and one for the best.
std::string value_text(Unit unit, const ComparedValue& value);
std::string ratio_text(const ComparedValue& value);  // "0.10x", "" where there is none
// What a table needs at least, nothing of it cut but for the columns that may be left out.
int table_width(const Table& table);

struct ParetoOptions {
  const Metric* x = &metric_at("params");
  const Metric* y = &metric_at("flops");
  double width = 900, height = 620;
};
// An SVG: both on logarithmic axes, the area of each dot the bytes moved. Throws Error where fewer than two
// models have both.
std::string pareto_svg(const ModelComparison& comparison, const ParetoOptions& options);

}  // namespace opscope
