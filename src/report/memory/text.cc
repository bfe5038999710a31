// The memory report for people: the same sections as text around a plot of characters, and as Markdown and
// HTML.
#include <algorithm>
#include <utility>

#include "report/memory/report.h"

namespace opscope {
namespace {

std::vector<Section> tables(const MemoryReport& report, const TextOptions& options) {
  std::vector<Section> sections;
  if (report.phases.size() > 1) sections.push_back(memory_phases_section(report));
  if (!report.held.empty() && (options.top > 0 || options.verbose))
    sections.push_back(memory_held_section(report, options));
  if (!report.held.empty()) sections.push_back(memory_owners_section(report, options));
  if (report.is_advised) sections.push_back(memory_advice_section(report, options));
  return sections;
}

Document head(const MemoryReport& report, const TextOptions& options) {
  Document document{header_cells(*report.profile), note_lines(*report.profile, options), {}};
  document.sections.push_back(memory_split_section(report));
  return document;
}

Document whole(Document document, std::vector<Section> sections) {
  for (auto& section : sections) document.sections.push_back(std::move(section));
  return document;
}

// Sections after something that is no section: without the header's empty line.
std::string sections_text(std::vector<Section> sections, const TextOptions& options) {
  return to_text(Document{{}, {}, std::move(sections)}, options).substr(1);
}

}  // namespace

std::string memory_text(const MemoryReport& report, const TextOptions& options) {
  TextOptions fitted = options;
  fitted.width = std::max(options.width, 60);
  std::string out = to_text(head(report, fitted), fitted);
  if (const auto plot = memory_plot(report, fitted); !plot.empty()) out += "\n" + plot;
  return out + sections_text(tables(report, fitted), fitted);
}

std::string memory_markdown(const MemoryReport& report, const TextOptions& options) {
  TextOptions plain = options;
  plain.color = false;
  const auto document = head(report, plain);
  auto out = to_markdown(whole(document, tables(report, plain)));
  if (const auto plot = memory_plot(report, plain); !plot.empty())
    out.insert(to_markdown(document).size(), "\n```\n" + plot + "```\n");
  return out;
}

std::string memory_html(const MemoryReport& report, const TextOptions& options) {
  constexpr std::string_view kEnd = "</div>\n";
  const auto document = head(report, options);
  auto out = to_html(whole(document, tables(report, options)));
  return out.insert(to_html(document).size() - kEnd.size(), memory_svg(report));
}

std::string to_format(const MemoryReport& report, Format format, const TextOptions& options) {
  switch (format) {
    case Format::kText:
      return memory_text(report, options);
    case Format::kJson:
      return memory_json(report);
    case Format::kCsv:
      return memory_csv(report);
    case Format::kMarkdown:
      return memory_markdown(report, options);
    case Format::kHtml:
      return memory_html(report, options);
  }
  return {};
}

}  // namespace opscope
