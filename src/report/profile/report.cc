// A profile in every format: what its report is made of.
#include "report/core/report.h"

#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

Document make_document(const Profile& profile, const TextOptions& options) {
  Document document{header_cells(profile), note_lines(profile, options)};
  document.sections.push_back(pieces_section(profile, options));
  document.sections.push_back(summary_section(profile));
  if (has_device(profile)) document.sections.push_back(hardware_section(profile));
  if (profile.parts().size() > 1) document.sections.push_back(parts_section(profile));
  if (!options.sections_000) document.sections.push_back(breakdown_section(profile, options));
  document.sections.push_back(bottleneck_section(profile));
  if (!options.sections_000 && (options.top > 0 || options.verbose))
    document.sections.push_back(top_layers_section(profile, options));
  return document;
}

}  // namespace

std::string to_format(const Profile& profile, Format format, const TextOptions& options) {
  if (format == Format::kJson) return to_json(profile);
  if (is_for_people(format))
    return to_format(Report{{}, {}, [&] { return make_document(profile, options); }}, format, options);
  // A row per layer, unless other pieces were asked for.
  const Level level = options.level.value_or(Level::kLayer);
  if (level == Level::kOp || level == Level::kSubgraph)
    return explore_summary(make_view(profile, level), format, options);
  return to_csv(profile, level);
}

Section pieces_section(const Profile& profile, const TextOptions& options) {
  if (options.level.value_or(Level::kModule) == Level::kModule) return tree_section(profile, options);
  return level_section(make_view(profile, *options.level), options);
}

std::string to_text(const Profile& profile, const TextOptions& options) {
  return to_format(profile, Format::kText, options);
}
std::string to_markdown(const Profile& profile, const TextOptions& options) {
  return to_format(profile, Format::kMarkdown, options);
}
std::string to_html(const Profile& profile, const TextOptions& options) {
  return to_format(profile, Format::kHtml, options);
}

}  // namespace opscope
