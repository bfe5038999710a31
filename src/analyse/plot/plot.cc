// Points on a roofline, costs by op type, and the module tree as nested slices: each module as long as its
// share, the ops that a module with children ran itself beside the children, equal numbered siblings in one.
#include "analyse/plot/plot.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyse/profile/rollup.h"
#include "analyse/times/host_time.h"
#include "analyse/tree/module_tree.h"
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

// A subgraph moves what it would as one kernel; anything else what its ops move.
Count bytes_of(const Profile& profile, const GraphView& view, const ViewNode& node) {
  const bool fused = view.level == Level::kSubgraph && node.kind == "subgraph" && node.subgraph != kNone;
  return fused ? profile.partition().subgraphs[node.subgraph].memory_bytes() : node.metrics.memory_bytes();
}

constexpr double kNoticeable = 0.01;  // of the whole

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

struct IcicleItem : TreeNode {
  std::string_view type{};
  bool inner = false;       // its own ops are slices above it
  bool is_outside = false;  // what passes in the module while no op runs
  Count value{};
  double amount = 0;  // the same, which does not saturate: shares add up however large they are
  Category category = Category::kCustom;  // of the costliest op in it
  Count costliest{};                      // what that op costs
};

// Of ops; what modules own is counted apart, and what passes in them outside of ops.
Count value_of(const Profile& profile, OpId op, const Metric& metric) {
  if (metric.need == kNeedsParameters) return {};
  Metrics sums;
  sums += profile.costs[op];
  if (metric.need == kNeedsWall) sums.wall_time = host_time_of(*profile.graph, profile.costs, op);
  return plotted_count(metric, sums);
}

// The tree of modules, then the slices of modules' own ops. Children have higher ids than their parents.
struct IcicleTree {
  const Profile& profile;
  const Metric& metric;
  const Graph& graph = *profile.graph;
  ModuleTree<IcicleItem> tree = module_tree<IcicleItem>(profile);
  std::vector<IcicleItem>& nodes = tree.items;
  std::vector<std::uint32_t> of_module = tree.by_module();

  void fill() {
    for (IcicleItem& node : nodes)
      node.type = graph.text(graph.modules[node.module].type), node.inner = !node.children.empty();
    if (metric.need == kNeedsParameters) add_parameters();
    if (metric.need == kNeedsWall) add_outside();
    add_ops();
    sum_up();
  }

  Count total() const { return nodes[0].value; }

  // Values of the first of equal siblings stand for all of them.
  void fold() {
    tree.find_shapes([&](std::uint32_t n, FoldKey& key) {
      key.add(nodes[n].type).add(nodes[n].value.value());
      key.add(static_cast<std::uint64_t>(nodes[n].category));
    });
    tree.fold();
  }

  // In the order of the tree. Children begin where their parent does, each where the one before it ends.
  void write(std::uint32_t max_depth, IciclePlot& plot) const {
    plot.total = total();
    std::vector<std::uint32_t> slice_of(nodes.size(), kNone);
    std::vector<double> next_begin;  // by slice, of its next child
    tree.each_shown([&](std::uint32_t n) {
      const IcicleItem& node = nodes[n];
      if (node.depth > max_depth) return;
      slice_of[n] = static_cast<std::uint32_t>(plot.slices.size());
      IcicleSlice slice{.name = label(node), .type = node.type, .depth = node.depth};
      slice.folded = slice.repeat = node.repeat;
      slice.is_module = node.is_module;
      if (node.parent != kNone) {
        slice.parent = slice_of[node.parent];
        const IcicleSlice& above = plot.slices[slice.parent];
        slice.path = above.parent == kNone ? slice.name : above.path + "." + slice.name;
        slice.repeat *= above.repeat;
        slice.begin = next_begin[slice.parent];
      }
      slice.value = node.value * Count{slice.repeat};
      slice.share = slice.repeat * node.amount / nodes[0].amount;
      if (slice.parent != kNone) next_begin[slice.parent] += slice.share;
      next_begin.push_back(slice.begin);
      slice.is_outside = node.is_outside;
      const bool is_tip = node.depth == max_depth || node.children.empty();
      if (is_tip && !slice.is_outside) slice.category = node.category;
      plot.depth = std::max(plot.depth, slice.depth);
      plot.slices.push_back(std::move(slice));
    });
  }

  // A tied weight counts where the model first owns it, so that slices add up.
  void add_parameters() {
    std::vector<bool> counted(graph.values.size(), false);
    for (const Owned& owned : graph.owned) {
      const Parameters own = parameters_of(graph, graph.values[owned.value]);
      const Count value = metric.of({.sums = {}, .parameters = &own}).count;
      if (!value || counted[owned.value]) continue;
      counted[owned.value] = true;
      const std::uint32_t owner = of_module[owned.module];
      nodes[nodes[owner].inner ? add_own(owner, graph.text(owned.name)) : owner].value += value;
    }
  }

  std::uint32_t add_own(std::uint32_t module, std::string_view name) {
    IcicleItem own;
    own.name = name, own.type = name, own.is_module = false;
    return tree.add(std::move(own), module);
  }

  // With parameters for a metric, ops only say what a module is.
  void add_ops() {
    const OpTypes types(graph);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> own;
    for (OpId op = 0; op < graph.ops.size(); ++op) {
      const OpCost& cost = profile.costs[op];
      const std::uint32_t module = of_module[graph.scopes[graph.ops[op].scope].module];
      const Count value = value_of(profile, op, metric);
      std::uint32_t at = module;
      if (nodes[module].inner && value) {
        const std::uint32_t type = types.of_target[graph.ops[op].target];
        const auto [found, added] = own.try_emplace({module, type}, 0);
        if (added) found->second = add_own(module, types.names[type]);
        at = found->second;
      }
      IcicleItem& node = nodes[at];
      node.value += value;
      const Count weight = metric.need == kNeedsParameters ? cost.flops : value;
      if (cost.rule && weight > node.costliest) node.costliest = weight, node.category = cost.rule->category;
    }
  }

  // Beside the ops and modules that it is between. A leaf's calls take their time too, and show it where that
  // is most of it.
  void add_outside() {
    std::vector<Metrics> own(graph.modules.size());
    add_own_walls(graph, profile.costs, own);
    for (ModuleId module = 0; module < own.size(); ++module) {
      const Count outside = own[module].outside_time;
      Metrics alone;
      alone.outside_time = alone.wall_time = outside;
      const Count time = plotted_count(metric, alone);
      const double share = ratio(outside, profile.totals.wall_time);
      IcicleItem& node = nodes[of_module[module]];
      node.inner = node.inner || (share >= kNoticeable && 2 * ratio(outside, own[module].wall_time) > 1);
      if (!time) continue;
      if (!node.inner) {
        node.value += time;
        continue;
      }
      const std::uint32_t slice = add_own(of_module[module], "outside ops");
      nodes[slice].value = time, nodes[slice].is_outside = true;
    }
  }

  void sum_up() {
    for (IcicleItem& node : nodes) node.amount = static_cast<double>(node.value);
    for (std::size_t n = nodes.size(); n-- > 0;)
      for (const std::uint32_t child : nodes[n].children) {
        IcicleItem& node = nodes[n];
        node.value += nodes[child].value;
        node.amount += nodes[child].amount;
        if (nodes[child].costliest > node.costliest)
          node.costliest = nodes[child].costliest, node.category = nodes[child].category;
      }
    for (IcicleItem& node : nodes)
      std::erase_if(node.children, [&](std::uint32_t child) { return !nodes[child].value; });
  }

  // "0..11" for twelve blocks, the first called "0".
  static std::string label(const IcicleItem& node) {
    const auto first = numbered(node.name);
    if (node.repeat == 1 || !first) return node.name;
    return node.name + ".." + std::to_string(first->second + node.repeat - 1);
  }
};

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
    return std::max(ratio(plotted_count(metric, row.metrics), plotted_count(metric, plot.totals)),
                    ratio(row.metrics.memory_bytes(), plot.totals.memory_bytes()));
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
  for (std::uint32_t n = 0; n < view.nodes.size(); ++n) {
    const ViewNode& node = view.nodes[n];
    RooflinePoint point{.name = std::string(node.name),
                        .type = std::string(short_op_name(node.target)),
                        .category = costliest_category(view, {&n, 1}),
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

IciclePlot make_icicle(const Profile& profile, const IcicleOptions& options) {
  IciclePlot plot{.metric = options.metric};
  require_known(*options.metric, costs_of(profile, profile.totals, &profile.parameters), "--metric");
  IcicleTree tree{profile, *options.metric};
  tree.fill();
  if (!tree.total())
    throw Error("there are no " + std::string(options.metric->words) + " to show in this model", "--metric",
                "choose another, for example flops, macs, memory-bytes or params");
  if (options.fold) tree.fold();
  tree.write(options.depth, plot);
  return plot;
}

}  // namespace opscope
