// Profile -> bytes. One file per format; none of them does arithmetic beyond picking units.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"
#include "analyse/profile/profile.h"
#include "metrics/metric.h"

namespace opscope {

struct TextOptions {
  int width = 100;
  bool color = false;
  bool show_shapes = false;
  bool fold = true;      // equal repeated blocks in one row
  bool verbose = false;  // all layers
  int depth = -1;        // -1: what fits a screen, see text.cc; otherwise the tree's levels below the root
  int top = 10;
  const Metric* sort = &metric_at("flops");
  Level level = Level::kModule;  // the tree of modules, or a table of other pieces
  bool sections_000 = false;     // seed 000's profile_model: hierarchical profile, summary, bottlenecks only
  std::vector<std::string> notes;  // said under the header, before the capture's own
};

enum class Format : std::uint8_t { kText, kJson, kCsv, kMarkdown, kHtml };
std::string_view name(Format format);                   // "txt", "json", "csv", "md", "html"
Format format_from_name(std::string_view text);         // throws Error naming the choices
Format format_from_extension(const std::string& path);  // of "out.json"; throws Error likewise
std::string to_format(const Profile& profile, Format format, const TextOptions& options = {});

std::string to_text(const Profile& profile, const TextOptions& options = {});
std::string to_json(const Profile& profile);
std::string to_csv(const Profile& profile);  // one row per layer
std::string to_markdown(const Profile& profile, const TextOptions& options = {});
std::string to_html(const Profile& profile, const TextOptions& options = {});

}  // namespace opscope
