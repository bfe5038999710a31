// Models side by side, in every format, and as a picture of which of them no other beats.
#pragma once

#include <optional>
#include <string>

#include "analyse/compare/comparison.h"
#include "report/core/document.h"

namespace opscope {

// With parts, these in place of the totals.
std::string to_format(const ModelComparison& comparison, const std::optional<ComparedParts>& parts,
                      Format format, const TextOptions& options);

std::string ratio_text(const ComparedValue& value);  // "0.10x", "" where there is none

struct ParetoOptions {
  const Metric* x = &metric_at("params");
  const Metric* y = &metric_at("flops");
};
// An SVG: both on logarithmic axes, the area of each dot the bytes moved. Throws Error where fewer than two
// models have both.
std::string pareto_svg(const ModelComparison& comparison, const ParetoOptions& options);

}  // namespace opscope
