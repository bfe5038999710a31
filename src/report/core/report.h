// Profile -> bytes. One file per format (report/formats); none of them does arithmetic beyond picking units.
#pragma once

#include <optional>
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
  std::optional<Level> level{};  // none: the tree of modules, and layers for programs
  bool sections_000 = false;     // seed 000's profile_model: hierarchical profile, summary, bottlenecks only
  std::vector<std::string> notes{};  // said under the header, before the capture's own
};

// These have names here because a report treats them apart; values from kOther on are other rows of formats.
enum class Format : std::uint8_t { kJson, kCsv, kMarkdown, kText, kHtml, kOther };
std::string_view name(Format format);  // "txt", "json", "csv", "md", "html"
std::vector<Format> all_formats(Format first = Format::kJson);
// ".txt, .json or .csv"
std::string choices(const std::vector<Format>& formats, std::string_view dot = "",
                    std::string_view gap = ", ", std::string_view last_gap = " or ");
bool is_for_people(Format format);                      // made from a document, not from rows
Format format_from_name(std::string_view text);         // throws Error naming the choices
Format format_from_extension(const std::string& path);  // of "out.json"; throws Error likewise

// CSV has one row per layer, or per what options.level says.
std::string to_format(const Profile& profile, Format format, const TextOptions& options = {});
std::string to_json(const Profile& profile);

}  // namespace opscope
