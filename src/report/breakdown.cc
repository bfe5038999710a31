// The operation breakdown: where FLOPs and bytes go by op type, and what that suggests.
#include "base/text.h"
#include "report/document.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 12;

std::vector<Cell> cells(const Profile& profile, std::string label, const Metrics& metrics, Style style) {
  const Metrics& totals = profile.totals;
  const double share =
      totals.flops ? static_cast<double>(metrics.flops) / static_cast<double>(totals.flops) : 0;
  return {{std::move(label), style},
          {std::to_string(metrics.ops), style},
          {flops_text(metrics), style},
          {format_percent(metrics.flops, totals.flops, Zero::kDash), style},
          {format_bytes(metrics.memory_bytes(), Zero::kDash), style},
          {format_percent(metrics.memory_bytes(), totals.memory_bytes(), Zero::kDash), style},
          {format_ratio(metrics.arithmetic_intensity(), Zero::kDash), style},
          {"", Style::kGood, "", share}};
}

// Types that do work or move bytes, up to a screenful.
std::size_t shown_types(const Profile& profile, const TextOptions& options) {
  std::size_t shown = profile.types.size();
  if (options.verbose) return shown;
  while (shown > 0 && !profile.types[shown - 1].metrics.counts()) --shown;
  return shown > kTypesShown ? kTypesShown - 1 : shown;
}

std::string rest_label(const Profile& profile, std::size_t shown, const Metrics& rest) {
  const std::size_t count = profile.types.size() - shown;
  if (count == 1) return profile.types[shown].type;
  return std::to_string(count) + (rest.counts() ? " other types" : " types that cost nothing");
}

}  // namespace

Section breakdown_section(const Profile& profile, const TextOptions& options) {
  Section section{"Operations", {{{"Operations", Align::kLeft, 16}}, {}}, {}};
  for (const char* title : {"Ops", "FLOPs", "% FLOPs", "Memory", "% Mem", "AI"})
    section.table.columns.push_back({title});
  section.table.columns.push_back({"", Align::kLeft});
  const std::size_t shown = shown_types(profile, options);
  for (std::size_t t = 0; t < shown; ++t)
    section.table.rows.push_back(
        cells(profile, profile.types[t].type, profile.types[t].metrics, Style::kPlain));
  if (shown < profile.types.size()) {
    Metrics rest;
    for (std::size_t t = shown; t < profile.types.size(); ++t) rest += profile.types[t].metrics;
    section.table.rows.push_back(cells(profile, rest_label(profile, shown, rest), rest, Style::kQuiet));
  }
  for (const Advice& advice : profile.advice) {
    section.remarks.push_back(advice.finding + ":");
    for (const auto suggestion : advice.suggestions)
      section.remarks.push_back("  - " + std::string(suggestion));
  }
  return section;
}

}  // namespace opscope
