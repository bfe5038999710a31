// The choices of plots by name, and names that stand for several.
#include "analyse/plot/plot.h"

#include <algorithm>
#include <map>
#include <tuple>

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

double share(Count part, Count whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Category category_of(const Profile& profile, const GraphView& view, const ViewNode& node) {
  const OpCost* best = nullptr;
  for (const OpId op : view.ops_of(node)) {
    const OpCost& cost = profile.costs[op];
    if (!best ||
        std::tuple(cost.flops, cost.traffic.total()) > std::tuple(best->flops, best->traffic.total()))
      best = &cost;
  }
  return best && best->rule ? best->rule->category : Category::kCustom;
}

// A subgraph moves what it would as one kernel; anything else what its ops move.
Count bytes_of(const Profile& profile, const GraphView& view, const ViewNode& node) {
  const bool fused = view.level == Level::kSubgraph && node.kind == "subgraph" && node.subgraph != kNone;
  return fused ? profile.partition().subgraphs[node.subgraph].memory_bytes() : node.metrics.memory_bytes();
}

using Key = std::tuple<std::string_view, Category, std::uint64_t, std::uint64_t>;

void add(RooflineSide& side, const RooflinePoint& point) {
  side.nodes += point.count;
  side.flops += point.flops * Count{point.count};
  side.memory_bytes += point.memory_bytes * Count{point.count};
  side.time_share += point.time_share;
}

// Shares, sides and order, once all points are known.
void settle(RooflinePlot& plot) {
  const auto cost = [&](const RooflinePoint& p) {
    return p.count * plot.roof.cost(static_cast<double>(p.flops), static_cast<double>(p.memory_bytes));
  };
  for (const RooflinePoint& point : plot.points) plot.total_cost += cost(point);
  for (RooflinePoint& point : plot.points) {
    const auto flops = static_cast<double>(point.flops), bytes = static_cast<double>(point.memory_bytes);
    point.time_share = plot.total_cost > 0 ? cost(point) / plot.total_cost : 0;
    point.intensity = bytes > 0 ? flops / bytes : 0;
    point.compute_bound = flops > plot.roof.ridge * bytes;
    add(point.compute_bound ? plot.compute_bound : plot.memory_bound, point);
    if (!point.flops) add(plot.without_flops, point);
    plot.flops += point.flops * Count{point.count};
    plot.memory_bytes += point.memory_bytes * Count{point.count};
  }
  std::ranges::stable_sort(plot.points, std::ranges::greater{}, &RooflinePoint::time_share);
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
  const auto a = split_by(pattern, '.'), b = split_by(name, '.');
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

std::optional<double> Roof::seconds(double cost) const {
  if (!peak_flops_per_second) return std::nullopt;
  return cost * ridge / *peak_flops_per_second;
}

Roof roof_of(const Profile& profile) {
  Roof roof{.ridge = profile.options.ridge};
  if (profile.roofline.device != nullptr && !profile.options.ridge_is_given)
    roof.peak_flops_per_second = profile.roofline.peak->rate.value;
  return roof;
}

RooflinePlot make_roofline(const Profile& profile, Level level, const Roof& roof) {
  RooflinePlot plot{.level = level, .roof = roof};
  const GraphView view = make_view(profile, level);
  std::map<Key, std::size_t> seen;
  for (const ViewNode& node : view.nodes) {
    RooflinePoint point{.name = std::string(node.name),
                        .type = std::string(short_op_name(node.target)),
                        .category = category_of(profile, view, node),
                        .flops = node.metrics.flops,
                        .memory_bytes = bytes_of(profile, view, node)};
    if (!point.flops && !point.memory_bytes) continue;
    const auto [found, added] = seen.try_emplace(
        {node.target, point.category, point.flops.value(), point.memory_bytes.value()}, plot.points.size());
    if (added) {
      plot.points.push_back(std::move(point));
      continue;
    }
    RooflinePoint& same = plot.points[found->second];
    same.name = merged_name(same.name, node.name);
    ++same.count;
  }
  settle(plot);
  return plot;
}

}  // namespace opscope
