// Formats by their names and file extensions: one table for the flag, the file name and the help.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/explore/explore.h"

namespace opscope {
namespace {

struct FormatName {
  std::string_view name;  // also the file extension
  Format format;
};

// The first of each format is its name.
constexpr std::array kFormats{
    FormatName{"txt", Format::kText},          FormatName{"json", Format::kJson},
    FormatName{"csv", Format::kCsv},           FormatName{"md", Format::kMarkdown},
    FormatName{"html", Format::kHtml},         FormatName{"text", Format::kText},
    FormatName{"markdown", Format::kMarkdown}, FormatName{"htm", Format::kHtml},
};
constexpr std::string_view kChoices = "json, csv, md, txt or html";

}  // namespace

std::string_view name(Format format) {
  return std::ranges::find(kFormats, format, &FormatName::format)->name;
}

Format format_from_name(std::string_view text) {
  const auto found = std::ranges::find(kFormats, text, &FormatName::name);
  if (found != kFormats.end()) return found->format;
  throw Error("no format called '" + std::string(text) + "'", "", "choose " + std::string(kChoices));
}

Format format_from_extension(const std::string& path) {
  const std::string extension = file_extension(path);
  const auto found = std::ranges::find(kFormats, extension, &FormatName::name);
  if (found != kFormats.end()) return found->format;
  const std::string what = extension.empty() ? "the file name has no extension"
                                             : "no format for the extension '." + extension + "'";
  throw Error(what, path, "end it in .json, .csv, .md, .txt or .html, or say --format");
}

std::string to_format(const Profile& profile, Format format, const TextOptions& options) {
  switch (format) {
    case Format::kText:
      return to_text(profile, options);
    case Format::kJson:
      return to_json(profile);
    case Format::kCsv:
      // A row per layer, unless other pieces were asked for.
      if (options.level == Level::kOp || options.level == Level::kSubgraph)
        return explore_summary(make_view(profile, options.level), format, options);
      return to_csv(profile);
    case Format::kMarkdown:
      return to_markdown(profile, options);
    case Format::kHtml:
      return to_html(profile, options);
  }
  return {};
}

}  // namespace opscope
