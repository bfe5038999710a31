// Points on the roofline: what each node of a view does, what it moves, and its share of the time at the
// roof.
#include <algorithm>
#include <map>
#include <tuple>

#include "analyse/plot/plot.h"

namespace opscope {
namespace {

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

void add_point(std::map<Key, std::size_t>& seen, std::vector<RooflinePoint>& points, RooflinePoint point,
               const ViewNode& node) {
  const Key key{node.target, point.category, point.flops.value(), point.memory_bytes.value()};
  const auto [found, added] = seen.try_emplace(key, points.size());
  if (added) {
    point.name = node.name;
    points.push_back(std::move(point));
  } else {
    RooflinePoint& same = points[found->second];
    same.name = merged_name(same.name, node.name);
    ++same.count;
  }
}

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
    RooflinePoint point{.type = std::string(short_op_name(node.target)),
                        .category = category_of(profile, view, node),
                        .flops = node.metrics.flops,
                        .memory_bytes = bytes_of(profile, view, node)};
    if (point.flops || point.memory_bytes) add_point(seen, plot.points, std::move(point), node);
  }
  settle(plot);
  return plot;
}

}  // namespace opscope
