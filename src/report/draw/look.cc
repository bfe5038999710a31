// Texts, sizes and colours of a scene.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "base/choices.h"
#include "report/core/document.h"
#include "report/draw/layout.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr double kWidest = 216, kNarrowest = 84, kPadding = 9;
constexpr std::size_t kBottlenecks = 5;
constexpr double kBottleneckShare = 0.08;
constexpr std::array<std::string_view, 3> kColorNames{"category", "bound", "cost"};

std::string cost_line(const Scene& scene, const SceneBox& box) {
  const Metrics& m = box.metrics;
  const Profile& profile = *scene.view->profile;
  if (is_end(box)) return shape_text(*profile.graph, box.output);
  if (m.flops)
    return flops_text(m) + " FLOPs \u00b7 " + format_percent(box.all_metrics.flops, profile.totals.flops);
  return m.memory_bytes() ? format_bytes(m.memory_bytes()) + " moved" : "";
}

// Time at the ridge, in FLOPs: what limits it decides.
double roofline_cost(const Metrics& m, double ridge) {
  return std::max(static_cast<double>(m.flops.value()),
                  ridge * static_cast<double>(m.memory_bytes().value()));
}

// What a bound looks like: its colour, and how far that is from white inside of boxes.
struct BoundColor {
  std::string_view color, word;
  double white;
};
constexpr BoundColor kCompute{kComputeBoundColor, "compute-bound", 0.55};
constexpr BoundColor kMemory{kMemoryBoundColor, "memory-bound", 0.6};
constexpr double kCategoryWhite = 0.62;

// Of what is inside a box and around it.
std::pair<std::string, std::string> colors_of(const Scene& scene, const SceneBox& box, ColorBy color,
                                              double most) {
  const std::string axis(kAxis), paper(kPaper);
  if (color == ColorBy::kCost)
    return {most > 0 ? sequential_color(std::sqrt(share_of_model(scene, box) / most)) : paper, axis};
  if (!box.metrics.counts()) return {paper, axis};
  const double ridge = scene.view->profile->options.ridge;
  const bool by_compute = bottleneck_of(box.metrics, ridge) == Bottleneck::kComputeBound;
  const auto& [edge, word, white] = color == ColorBy::kCategory
                                        ? BoundColor{color_of(box.category), "", kCategoryWhite}
                                    : by_compute ? kCompute
                                                 : kMemory;
  return {tinted(edge, white), std::string(edge)};
}

// "add_1" is an add.
bool says_its_type(const SceneBox& box) {
  if (box.types.size() != 1 || !box.name.starts_with(box.types[0])) return false;
  return box.name.find_first_not_of("_0123456789", box.types[0].size()) == std::string::npos;
}

BoxLook look_of(const Scene& scene, const SceneBox& box, ColorBy color, double most) {
  BoxLook look;
  const double room = kWidest - 2 * kPadding;
  const std::string mark = repeat_text(box.repeat);
  look.name = fitted_middle(box.name, room - text_width(mark, kNameFont), kNameFont) + mark;
  look.type = is_end(box) || says_its_type(box) ? "" : fitted(joined_types(box, 3), room, kTypeFont);
  look.cost = fitted(cost_line(scene, box), room, kCostFont);
  look.fit_lines(kWidest);
  look.bar = most > 0 && box.kind != BoxKind::kStub ? share_of_model(scene, box) / most : 0;
  // What costs more is taller; text needs the rest.
  if (look.bar > 0) look.height += 14 * std::sqrt(look.bar);
  std::tie(look.fill, look.edge) = colors_of(scene, box, color, most);
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
    std::string label = shape_text(graph, edge.value);
    if (edge.values > 1 && !label.empty()) label += " +" + std::to_string(edge.values - 1);
    const bool same_as_box = is_end(scene.boxes[edge.from]) || is_end(scene.boxes[edge.to]);
    if (!same_as_box && told.emplace(edge.from, label).second) labels[e] = std::move(label);
  }
  return labels;
}

}  // namespace

std::string_view name(ColorBy by) { return kColorNames[static_cast<std::size_t>(by)]; }

ColorBy color_by_from_name(std::string_view text) {
  if (const auto by = named(text, ColorBy::kCost)) return *by;
  throw Error("nothing to colour by is called '" + std::string(text) + "'", "--color",
              "one of category, bound or cost");
}

std::string joined_types(const SceneBox& box, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < box.types.size(); ++i) {
    if (i == most) return text + " + " + std::to_string(box.types.size() - most) + " more";
    text += (i > 0 ? " + " : "") + box.types[i];
  }
  return text;
}

void BoxLook::fit_lines(double widest) {
  const double longest =
      std::max({text_width(name, kNameFont), text_width(type, kTypeFont), text_width(cost, kCostFont)});
  width = std::clamp(longest + 2 * kPadding, kNarrowest, widest);
  height = kLine * lines() + 12;
}

std::string repeat_text(std::uint32_t repeat) { return repeat > 1 ? " \u00d7" + std::to_string(repeat) : ""; }

bool any_repeats(const Scene& scene) {
  const auto repeats = [](const auto& part) { return part.repeat > 1; };
  return std::ranges::any_of(scene.boxes, repeats) || std::ranges::any_of(scene.clusters, repeats);
}

std::vector<std::uint32_t> clusters_of(const Scene& scene, const SceneBox& box) {
  std::vector<std::uint32_t> clusters;
  for (std::uint32_t c = box.cluster; c != kNone; c = scene.clusters[c].parent) clusters.push_back(c);
  return clusters;
}

std::vector<std::string> cluster_titles(const Scene& scene) {
  std::vector<std::string> titles;
  for (const SceneCluster& cluster : scene.clusters)
    titles.push_back(fitted_middle(cluster.name, 150, kClusterFont) + repeat_text(cluster.repeat));
  return titles;
}

double share_of_model(const Scene& scene, const SceneBox& box) {
  const double whole = static_cast<double>(scene.view->profile->totals.flops.value());
  return whole > 0 ? static_cast<double>(box.all_metrics.flops.value()) / whole : 0;
}

Look make_look(const Scene& scene, ColorBy color) {
  Look look{.boxes = {}, .edges = edge_labels(scene), .clusters = cluster_titles(scene)};
  double most = 0;
  for (const SceneBox& box : scene.boxes)
    if (box.kind != BoxKind::kStub) most = std::max(most, share_of_model(scene, box));
  for (const SceneBox& box : scene.boxes) look.boxes.push_back(look_of(scene, box, color, most));
  mark_bottlenecks(scene, look);
  return look;
}

std::vector<LegendEntry> legend(const Scene& scene, ColorBy color) {
  std::vector<LegendEntry> entries;
  const auto add = [&](std::string_view edge, double white, std::string_view text) {
    entries.push_back({tinted(edge, white), std::string(edge), std::string(text)});
  };
  if (color == ColorBy::kBound)
    for (const auto& [edge, word, white] : {kCompute, kMemory}) add(edge, white, word);
  if (color != ColorBy::kCategory) return entries;
  for (const ColorGroup& group : color_groups())
    if (std::ranges::any_of(scene.boxes, [&](const SceneBox& box) {
          return box.metrics.counts() && box.kind != BoxKind::kStub && color_of(box.category) == group.color;
        }))
      add(group.color, kCategoryWhite, group.name);
  return entries;
}

}  // namespace opscope
