// The memory report: the split and a plot of the timeline, then phases, what is held, whose it is, what
// helps.
#include "report/memory/report.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

Document memory_document(const MemoryReport& report, Format format, const TextOptions& options) {
  Document document{header_cells(*report.profile), note_lines(*report.profile, options)};
  auto& sections = document.sections;
  sections.push_back(memory_split_section(report));
  if (format == Format::kHtml) sections.back().drawing.svg = memory_svg(report);
  if (format != Format::kHtml) sections.back().drawing.text = memory_plot(report, options);
  if (report.phases.size() > 1) sections.push_back(memory_phases_section(report));
  if (!report.held.empty() && (options.top > 0 || options.verbose))
    sections.push_back(memory_held_section(report, options));
  if (!report.held.empty()) sections.push_back(memory_owners_section(report, options));
  if (report.is_advised) sections.push_back(memory_advice_section(report, options));
  return document;
}

}  // namespace

std::string to_format(const MemoryReport& report, Format format, const TextOptions& options) {
  TextOptions fitted = options;
  if (format == Format::kText) fitted.width = std::max(options.width, 60);
  if (format != Format::kText) fitted.color = false;
  return to_format(
      Report{[&](JsonWriter& json) { write_memory_report(json, report); },
             [&] { return memory_rows(report); }, [&] { return memory_document(report, format, fitted); }},
      format, fitted);
}

}  // namespace opscope
