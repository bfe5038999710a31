// The operation breakdown: where FLOPs and bytes go by op type, and what that suggests.
#include <algorithm>
#include <functional>

#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 12;

double share(Count part, Count whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::vector<Cell> cells(const Profile& profile, std::string label, const Metrics& metrics, Style style) {
  const Metrics& totals = profile.totals;
  std::vector<Cell> result{{std::move(label), style}, {std::to_string(metrics.ops), style}};
  const auto add = [&](std::string text) { result.push_back({std::move(text), style}); };
  if (is_measured(profile)) {
    add(format_time(metrics.time_seconds(), Zero::kDash));
    add(format_percent(metrics.time, totals.time, Zero::kDash));
    add(flops_text(metrics)), add(format_percent(metrics.flops, totals.flops, Zero::kDash));
    add(format_bytes(metrics.memory_bytes(), Zero::kDash));
    add_rate_cells(profile, metrics, style, result);
    result.push_back({"", Style::kGood, "", share(metrics.time, totals.time)});
    return result;
  }
  add(flops_text(metrics)), add(format_percent(metrics.flops, totals.flops, Zero::kDash));
  add(format_bytes(metrics.memory_bytes(), Zero::kDash));
  add(format_percent(metrics.memory_bytes(), totals.memory_bytes(), Zero::kDash));
  add(format_ratio(metrics.arithmetic_intensity(), Zero::kDash));
  if (has_device(profile)) {
    add(roofline_text(metrics)),
        add(format_percent(metrics.roofline_time, totals.roofline_time, Zero::kDash));
    result.push_back({"", Style::kGood, "", share(metrics.roofline_time, totals.roofline_time)});
    return result;
  }
  result.push_back({"", Style::kGood, "", share(metrics.flops, totals.flops)});
  return result;
}

void add_columns(const Profile& profile, std::vector<Column>& columns) {
  const auto add = [&](std::vector<Column> more) { append(columns, std::move(more)); };
  if (is_measured(profile)) {
    add({{"Ops"}, {"Time"}, {"% Time"}, {"FLOPs"}, {.title = "% FLOPs", .optional = true}, {"Memory"}});
    add(rate_columns(profile));
  } else {
    add({{"Ops"}, {"FLOPs"}, {"% FLOPs"}, {"Memory"}, {"% Mem"}, {"AI"}});
    if (has_device(profile)) add({{"Roofline"}, {"% Roof"}});
  }
  add({{"", Align::kLeft}});
}

// By time where it was measured.
std::vector<TypeRow> sorted_types(const Profile& profile) {
  std::vector<TypeRow> types = profile.types;
  if (is_measured(profile))
    std::ranges::stable_sort(types, std::greater{}, [](const TypeRow& row) { return row.metrics.time; });
  return types;
}

bool shows(const Metrics& metrics) { return metrics.counts() || metrics.time; }

// Types that do work or move bytes, up to a screenful.
std::size_t shown_types(const std::vector<TypeRow>& types, const TextOptions& options) {
  std::size_t shown = types.size();
  if (options.verbose) return shown;
  while (shown > 0 && !shows(types[shown - 1].metrics)) --shown;
  return shown > kTypesShown ? kTypesShown - 1 : shown;
}

std::string rest_label(const std::vector<TypeRow>& types, std::size_t shown, const Metrics& rest) {
  const std::size_t count = types.size() - shown;
  if (count == 1) return types[shown].type;
  return std::to_string(count) + (shows(rest) ? " other types" : " types that cost nothing");
}

}  // namespace

Section breakdown_section(const Profile& profile, const TextOptions& options) {
  Section section{"Operations", {{{"Operations", Align::kLeft, 16}}, {}}, {}};
  add_columns(profile, section.table.columns);
  const std::vector<TypeRow> types = sorted_types(profile);
  const std::size_t shown = shown_types(types, options);
  for (std::size_t t = 0; t < shown; ++t)
    section.table.rows.push_back(cells(profile, types[t].type, types[t].metrics, Style::kPlain));
  if (shown < types.size()) {
    Metrics rest;
    for (std::size_t t = shown; t < types.size(); ++t) rest += types[t].metrics;
    section.table.rows.push_back(cells(profile, rest_label(types, shown, rest), rest, Style::kQuiet));
  }
  for (const Advice& advice : profile.advice) {
    section.remarks.push_back(advice.finding + ":");
    for (const auto suggestion : advice.suggestions)
      section.remarks.push_back("  - " + std::string(suggestion));
  }
  return section;
}

}  // namespace opscope
