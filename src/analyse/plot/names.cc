// The choices of plots by name, and names that stand for several.
#include <algorithm>
#include <array>
#include <tuple>

#include "analyse/plot/plot.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr auto kKinds = choices<PlotKind, PlotKind::kFlame>("roofline", "types", "icicle", "memory", "flame");

// "conv1" and "conv2" -> "conv*"
std::string merged_part(std::string_view a, std::string_view b) {
  if (a == b) return std::string(a);
  std::size_t same = 0;
  while (same < std::min(a.size(), b.size()) && a[same] == b[same] && a[same] != '*') ++same;
  while (same > 0 && ((a[same - 1] >= '0' && a[same - 1] <= '9') || (a[same - 1] & 0x80))) --same;
  return std::string(a.substr(0, same)) + "*";
}

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string_view name(PlotKind kind) { return kKinds[kind]; }
bool is_plot_kind(std::string_view text) { return std::ranges::count(kKinds.names, text) > 0; }
PlotKind plot_kind_from_name(std::string_view text) { return kKinds.parse(text, "no plot called"); }

const Metric& plot_metric(std::string_view text, Needs given) {
  const Metric& metric = metric_named(text, "--metric", given);
  if (adds_up(metric.unit)) return metric;
  throw Error("a plot shows parts of a whole, and " + std::string(metric.key) + " does not add up",
              "--metric", "for example flops or memory-bytes");
}

std::string merged_name(std::string_view pattern, std::string_view name) {
  const auto a = parts_of(pattern), b = parts_of(name);
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t front = a.size() == b.size() ? shorter : 0, back = 0;
  std::string merged;
  if (a.size() != b.size()) {
    while (front < shorter && a[front] == b[front]) ++front;
    while (front + back < shorter && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  }
  const auto add = [&](std::string part) { merged.append(merged.empty() ? "" : ".").append(part); };
  for (std::size_t i = 0; i < front; ++i) add(merged_part(a[i], b[i]));
  if (a.size() != b.size()) add("*");
  for (std::size_t i = back; i > 0; --i) add(std::string(a[a.size() - i]));
  return merged;
}

// Costs by op type, the small ones together.

namespace {

double share(Count part, Count whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

TypesPlot make_types_plot(const Profile& profile, const Metric& metric, std::size_t top) {
  require_known(metric, costs_of(profile, profile.totals), "--metric");
  TypesPlot plot{.metric = &metric, .rows = profile.types(), .totals = profile.totals};
  std::erase_if(plot.rows, [](const TypeRow& row) { return !row.metrics.counts() && !row.metrics.time; });
  // By the larger share first, so that what moves many bytes and computes little is shown too.
  std::ranges::stable_sort(plot.rows, std::ranges::greater{}, [&](const TypeRow& row) {
    return std::max(share(plotted_count(metric, row.metrics), plotted_count(metric, plot.totals)),
                    share(row.metrics.memory_bytes(), plot.totals.memory_bytes()));
  });
  if (const std::size_t shown = std::max<std::size_t>(top, 1); plot.rows.size() > shown + 1) {
    plot.others = plot.rows.size() - shown;
    for (std::size_t i = shown; i < plot.rows.size(); ++i) plot.rest += plot.rows[i].metrics;
    plot.rows.resize(shown);
  }
  std::ranges::stable_sort(plot.rows, std::ranges::greater{}, [&](const TypeRow& row) {
    return std::tuple(plotted_count(metric, row.metrics), row.metrics.memory_bytes());
  });
  return plot;
}

}  // namespace opscope
