// Profile -> bytes. One file per format; none of them does arithmetic beyond picking units.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"
#include "analyse/profile/profile.h"
#include "base/text_sink.h"
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
  std::optional<Level> level{};  // none: the tree of modules, and layers for programs
  bool sections_000 = false;     // seed 000's profile_model: hierarchical profile, summary, bottlenecks only
  std::vector<std::string> notes{};  // said under the header, before the capture's own
};

// A row of the table in format.cc; these have names here because a report treats them apart.
enum class Format : std::uint8_t { kJson, kCsv, kMarkdown, kText, kHtml };
std::string_view name(Format format);                   // "txt", "json", "csv", "md", "html"
std::string format_choices();                           // "json, csv, md, txt or html"
bool is_for_people(Format format);                      // made from a document, not from rows
Format format_from_name(std::string_view text);         // throws Error naming the choices
Format format_from_extension(const std::string& path);  // of "out.json"; throws Error likewise
std::string to_format(const Profile& profile, Format format, const TextOptions& options = {});

std::string to_text(const Profile& profile, const TextOptions& options = {});
std::string to_json(const Profile& profile);
void to_json(const Profile& profile, const TextSink& sink);
std::string to_csv(const Profile& profile, Level level = Level::kLayer);  // one row per layer or module
std::string to_markdown(const Profile& profile, const TextOptions& options = {});
std::string to_html(const Profile& profile, const TextOptions& options = {});

}  // namespace opscope
