// Puts the sections together, and words what several of them share.
#include "report/core/document.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"

namespace opscope {

std::string_view confidence_mark(Confidence confidence) {
  switch (confidence) {
    case Confidence::kExact:
      return "";
    case Confidence::kEstimated:
      return "~";
    case Confidence::kUpperBound:
      return "≤";
    case Confidence::kUnknown:
      return "≥";
  }
  return "";
}

std::string flops_text(const Metrics& metrics) {
  const bool is_bound = metrics.confidence == Confidence::kUpperBound;
  if (!metrics.flops && metrics.confidence == Confidence::kUnknown) return "?";
  const std::string text = format_count(metrics.flops, Zero::kDash);
  return metrics.flops || is_bound ? std::string(confidence_mark(metrics.confidence)) + text : text;
}

std::string flops_legend(Confidence worst) {
  switch (worst) {
    case Confidence::kExact:
      return "";
    case Confidence::kEstimated:
      return "~ has estimated ops";
    case Confidence::kUpperBound:
      return "~ has estimated ops   ≤ has upper bounds";
    case Confidence::kUnknown:
      break;
  }
  return "~ has estimated ops   ≤ has upper bounds   ≥ and ? have ops of unknown cost, not counted";
}

std::string model_name(const Graph& graph) {
  if (!graph.capture.model.empty()) return graph.capture.model;
  return std::string(graph.text(graph.modules[0].type));
}

std::string shape_text(const Graph& graph, ValueId value) {
  return value == kNone ? std::string() : format_shape(graph.shape(graph.values[value]));
}

std::string_view source_text(std::string_view source) { return source.substr(source.rfind('/') + 1); }

std::string plural(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

Document make_document(const Profile& profile, const TextOptions& options) {
  Document document{header_cells(profile), note_lines(profile, options), {}};
  document.sections.push_back(options.level == Level::kModule
                                  ? tree_section(profile, options)
                                  : level_section(make_view(profile, options.level), options));
  document.sections.push_back(summary_section(profile));
  if (has_device(profile)) document.sections.push_back(hardware_section(profile));
  if (profile.parts.size() > 1) document.sections.push_back(parts_section(profile));
  if (!options.sections_000) document.sections.push_back(breakdown_section(profile, options));
  document.sections.push_back(bottleneck_section(profile));
  if (!options.sections_000 && (options.top > 0 || options.verbose))
    document.sections.push_back(top_layers_section(profile, options));
  return document;
}

}  // namespace opscope
