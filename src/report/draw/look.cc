// Texts, sizes and colours of a scene.
#include "report/draw/look.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "report/core/document.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr double kWidest = 216, kNarrowest = 84, kPadding = 9;
constexpr std::size_t kBottlenecks = 5;
constexpr double kBottleneckShare = 0.08;
constexpr std::array kColorNames{std::string_view("category"), std::string_view("bound"),
                                 std::string_view("cost")};

bool is_end(const SceneBox& box) { return box.kind == BoxKind::kInput || box.kind == BoxKind::kOutput; }

std::string times(std::uint32_t repeat) { return repeat > 1 ? " \u00d7" + std::to_string(repeat) : ""; }

std::string cost_line(const Scene& scene, const SceneBox& box) {
  const Metrics& m = box.metrics;
  const Profile& profile = *scene.view->profile;
  if (is_end(box)) return shape_label(*profile.graph, box.output);
  if (m.flops) {
    const std::string share = format_percent(box.all_metrics.flops, profile.totals.flops);
    return flops_text(m) + " FLOPs \u00b7 " + share;
  }
  if (m.memory_bytes()) return format_bytes(m.memory_bytes()) + " moved";
  return "";
}

// Time at the ridge, in FLOPs: what limits it decides.
double roofline_cost(const Metrics& m, double ridge) {
  return std::max(static_cast<double>(m.flops.value()),
                  ridge * static_cast<double>(m.memory_bytes().value()));
}

bool is_compute_bound(const Metrics& m, const Scene& scene) {
  return bottleneck_of(m, scene.view->profile->options.ridge) == Bottleneck::kComputeBound;
}

std::string fill_color(const Scene& scene, const SceneBox& box, ColorBy color, double most) {
  const Metrics& m = box.metrics;
  if (color == ColorBy::kCost)
    return most > 0 ? sequential_color(std::sqrt(share_of_model(scene, box) / most)) : std::string(kPaper);
  if (!m.counts()) return std::string(kPaper);
  if (color == ColorBy::kCategory) return tinted(color_of(box.category), 0.62);
  return is_compute_bound(m, scene) ? tinted(kComputeBoundColor, 0.55) : tinted(kMemoryBoundColor, 0.6);
}

std::string edge_color(const Scene& scene, const SceneBox& box, ColorBy color) {
  if (color == ColorBy::kCost || !box.metrics.counts()) return std::string(kAxis);
  if (color == ColorBy::kCategory) return std::string(color_of(box.category));
  return std::string(is_compute_bound(box.metrics, scene) ? kComputeBoundColor : kMemoryBoundColor);
}

// "add_1" is an add.
bool says_its_type(const SceneBox& box) {
  if (box.types.size() != 1 || !box.name.starts_with(box.types[0])) return false;
  return box.name.find_first_not_of("_0123456789", box.types[0].size()) == std::string::npos;
}

BoxLook look_of(const Scene& scene, const SceneBox& box, ColorBy color, double most) {
  BoxLook look;
  const double room = kWidest - 2 * kPadding;
  const std::string mark = times(box.repeat);
  look.name = fitted_middle(box.name, room - text_width(mark, kNameFont), kNameFont) + mark;
  look.type = is_end(box) || says_its_type(box) ? "" : fitted(joined_types(box, 3), room, kTypeFont);
  look.cost = fitted(cost_line(scene, box), room, kCostFont);
  const double widest = std::max(
      {text_width(look.name, kNameFont), text_width(look.type, kTypeFont), text_width(look.cost, kCostFont)});
  const double share = share_of_model(scene, box);
  const int lines = 1 + !look.type.empty() + !look.cost.empty();
  look.width = std::clamp(widest + 2 * kPadding, kNarrowest, kWidest);
  look.bar = most > 0 && box.kind != BoxKind::kStub ? share / most : 0;
  // What costs more is taller; text needs the rest.
  look.height = kLine * lines + 12 + (look.bar > 0 ? 14 * std::sqrt(look.bar) : 0);
  look.fill = fill_color(scene, box, color, most);
  look.edge = edge_color(scene, box, color);
  look.ink = std::string(ink_on(look.fill));
  if (box.kind == BoxKind::kStub) look.fill = kPaper, look.edge = kGrid, look.ink = kAxis;
  if (is_end(box)) look.fill = kPanel, look.edge = kQuietInk, look.ink = kInk;
  return look;
}

void mark_bottlenecks(const Scene& scene, Look& look) {
  const double ridge = scene.view->profile->options.ridge;
  const double whole = roofline_cost(scene.view->profile->totals, ridge);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t b = 0; b < scene.boxes.size(); ++b)
    if (scene.boxes[b].kind != BoxKind::kStub)
      order.push_back({-roofline_cost(scene.boxes[b].all_metrics, ridge), b});
  std::ranges::sort(order);
  // Equal ones are marked alike.
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool among = i < kBottlenecks || -order[i].first > -0.98 * order[kBottlenecks - 1].first;
    if (among && -order[i].first > kBottleneckShare * whole) look.boxes[order[i].second].bottleneck = true;
  }
}

// A tensor that several take is told once.
std::vector<std::string> edge_labels(const Scene& scene) {
  const Graph& graph = *scene.view->profile->graph;
  std::vector<std::string> labels(scene.edges.size());
  std::set<std::pair<std::uint32_t, std::string>> told;
  for (std::size_t e = 0; e < scene.edges.size(); ++e) {
    const SceneEdge& edge = scene.edges[e];
    std::string label = shape_label(graph, edge.value);
    if (edge.values > 1 && !label.empty()) label += " +" + std::to_string(edge.values - 1);
    const bool same_as_box = is_end(scene.boxes[edge.from]) || is_end(scene.boxes[edge.to]);
    if (!same_as_box && told.emplace(edge.from, label).second) labels[e] = std::move(label);
  }
  return labels;
}

}  // namespace

std::string_view name(ColorBy by) { return kColorNames[static_cast<std::size_t>(by)]; }

ColorBy color_by_from_name(std::string_view text) {
  const auto found = std::ranges::find(kColorNames, text);
  if (found == kColorNames.end())
    throw Error("nothing to colour by is called '" + std::string(text) + "'", "--color",
                "one of category, bound or cost");
  return static_cast<ColorBy>(found - kColorNames.begin());
}

std::string shape_label(const Graph& graph, ValueId value) {
  return value == kNone ? "" : format_shape(graph.shape(graph.values[value]));
}

std::string joined_types(const SceneBox& box, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < box.types.size(); ++i) {
    if (i == most) return text + " + " + std::to_string(box.types.size() - most) + " more";
    text += (i > 0 ? " + " : "") + box.types[i];
  }
  return text;
}

double share_of_model(const Scene& scene, const SceneBox& box) {
  const double whole = static_cast<double>(scene.view->profile->totals.flops.value());
  return whole > 0 ? static_cast<double>(box.all_metrics.flops.value()) / whole : 0;
}

Look make_look(const Scene& scene, ColorBy color) {
  Look look;
  double most = 0;
  for (const SceneBox& box : scene.boxes)
    if (box.kind != BoxKind::kStub) most = std::max(most, share_of_model(scene, box));
  for (const SceneBox& box : scene.boxes) look.boxes.push_back(look_of(scene, box, color, most));
  mark_bottlenecks(scene, look);
  look.edges = edge_labels(scene);
  for (const SceneCluster& cluster : scene.clusters)
    look.clusters.push_back(fitted_middle(cluster.name, 150, kClusterFont) + times(cluster.repeat));
  return look;
}

std::vector<LegendEntry> legend(const Scene& scene, ColorBy color) {
  std::vector<LegendEntry> entries;
  if (color == ColorBy::kBound) {
    entries = {{tinted(kComputeBoundColor, 0.55), std::string(kComputeBoundColor), "compute-bound"},
               {tinted(kMemoryBoundColor, 0.6), std::string(kMemoryBoundColor), "memory-bound"}};
    return entries;
  }
  if (color == ColorBy::kCost) return entries;
  std::set<std::string_view> used;
  for (const SceneBox& box : scene.boxes)
    if (box.metrics.counts() && box.kind != BoxKind::kStub) used.insert(color_group(box.category).name);
  for (const ColorGroup& group : color_groups())
    if (used.contains(group.name))
      entries.push_back({tinted(group.color, 0.62), std::string(group.color), std::string(group.name)});
  return entries;
}

}  // namespace opscope
