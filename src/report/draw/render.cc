// From a profile to a picture's bytes: texts, sizes and colours of a scene, the words around the graph, and
// the scene as DOT for one's own Graphviz.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "base/choices.h"
#include "base/text.h"
#include "report/core/document.h"
#include "report/draw/layout.h"
#include "report/plot/frame.h"
#include "report/predict/predict.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

// Measured: Graphviz takes about a second for this many, and a person sees nothing in more.
constexpr std::size_t kMostBoxes = 400;

std::string boxes_words(std::size_t boxes) {
  return std::to_string(boxes) + (boxes == 1 ? " box" : " boxes");
}

// Nodes and edges of the view that the picture is of: with a focus, what is inside.
std::pair<std::size_t, std::size_t> drawn(const Scene& scene) {
  const auto inside = [&](std::uint32_t node) {
    const std::uint32_t box = scene.box_of[node];
    return box != kNone && scene.boxes[box].kind != BoxKind::kStub;
  };
  std::size_t nodes = 0;
  for (std::uint32_t n = 0; n < scene.view->nodes.size(); ++n) nodes += inside(n);
  const auto edges = std::ranges::count_if(scene.view->edges,
                                           [&](const ViewEdge& e) { return inside(e.from) && inside(e.to); });
  return {nodes, static_cast<std::size_t>(edges)};
}

std::string level_words(const Scene& scene) {
  const std::size_t nodes = scene.view->nodes.size(), boxes = scene.boxes.size();
  std::string text = "graph of " + std::string(name(scene.view->level)) + "s: ";
  if (!scene.focus.empty()) text += std::to_string(drawn(scene).first) + " of ";
  text += plural(nodes, "node");
  return boxes == nodes ? text : text + " in " + boxes_words(boxes);
}

// Of the model; of the module in focus where there is one, so that the boxes add up to them.
TextPairs totals_of(const Scene& scene) {
  const Profile& profile = *scene.view->profile;
  const bool whole = scene.focus.empty();
  Metrics metrics = whole ? profile.totals : Metrics{};
  Parameters parameters = whole ? profile.parameters : Parameters{};
  double share = 0;
  if (!whole) {
    for (const SceneBox& box : scene.boxes)
      if (box.kind != BoxKind::kStub) metrics += box.all_metrics, share += share_of_model(scene, box);
    for (const ModuleRow& row : profile.modules())
      if (profile.graph->path(profile.graph->modules[row.module]) == scene.focus) parameters = row.parameters;
  }
  TextPairs totals{{"Parameters", format_params(parameters.total)},
                   {"FLOPs", flops_text(metrics)},
                   {"MACs", format_count(metrics.work.macs)},
                   {"Bytes moved", format_bytes(metrics.memory_bytes())}};
  if (whole) totals.emplace_back("Peak memory", format_bytes(profile.memory().peak_memory_bytes()));
  totals.emplace_back("FLOPs per byte", format_ratio(metrics.arithmetic_intensity()));
  totals.emplace_back("Ops", format_exact(Count{metrics.ops}));
  if (whole)
    totals.emplace_back("Subgraphs", format_exact(Count{profile.partition().subgraphs.size()}));
  else
    totals.emplace_back("Model's FLOPs", format_percent(share, 1.0));
  return totals;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

// Lines of a text: \n is Graphviz's own.
std::string quoted(std::initializer_list<std::string_view> lines) {
  std::string out;
  for (const std::string_view line : lines)
    if (!line.empty()) out += (out.empty() ? "" : "\\n") + escaped(line);
  return "\"" + out + "\"";
}

std::string box_line(std::size_t b, const SceneBox& box, const BoxLook& look) {
  return fmt::format("n{} [label={} fillcolor=\"{}\" color=\"{}\" fontcolor=\"{}\" tooltip={}{}{}{}]\n", b,
                     quoted({look.name, look.type, look.cost}), look.fill, look.edge, look.ink,
                     quoted({box.path}), box.repeat > 1 ? " peripheries=2" : "",
                     look.bottleneck ? " penwidth=2" : "",
                     box.kind == BoxKind::kStub ? " style=\"rounded,dashed\"" : "");
}

void write_cluster(const Scene& scene, const Look& look, std::uint32_t cluster, std::size_t levels,
                   std::string& out) {
  const std::string indent(2 * levels, ' ');
  for (std::size_t b = 0; b < scene.boxes.size(); ++b)
    if (scene.boxes[b].cluster == cluster) out += indent + box_line(b, scene.boxes[b], look.boxes[b]);
  for (std::uint32_t c = 0; c < scene.clusters.size(); ++c) {
    if (scene.clusters[c].parent != cluster) continue;
    out += fmt::format(
        "{0}subgraph cluster_{1} {{\n{0}  label={2} style=\"rounded,filled\" color=\"#c3c8d0\" "
        "fillcolor=\"{3}\"\n",
        indent, c, quoted({look.clusters[c] + "  " + scene.clusters[c].type}), levels % 2 ? kPanel : kPaper);
    write_cluster(scene, look, c, levels + 1, out);
    out += indent + "}\n";
  }
}

constexpr double kWidest = 216, kNarrowest = 84, kPadding = 9;
constexpr std::size_t kBottlenecks = 5;
constexpr double kBottleneckShare = 0.08;
constexpr std::array<std::string_view, 4> kColorNames{"category", "bound", "cost", "predicted"};

std::string cost_line(const Scene& scene, const SceneBox& box, ColorBy color) {
  const Metrics& m = box.metrics;
  const Profile& profile = *scene.view->profile;
  if (is_end(box)) return shape_text(*profile.graph, box.output);
  if (color == ColorBy::kPredicted && m.predicted_time)
    return predicted_text(m) + " \u00b7 " +
           format_percent(box.all_metrics.predicted_time, profile.totals.predicted_time);
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
  if (is_by_share(color))
    return {most > 0 ? sequential_color(std::sqrt(share_of_model(scene, box, color) / most)) : paper, axis};
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
  look.cost = fitted(cost_line(scene, box, color), room, kCostFont);
  look.fit_lines(kWidest);
  look.bar = most > 0 && box.kind != BoxKind::kStub ? share_of_model(scene, box, color) / most : 0;
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

PageTexts page_texts(const Scene& scene, ColorBy color) {
  const Profile& profile = *scene.view->profile;
  PageTexts texts;
  const std::string model = model_name(*profile.graph);
  texts.title = scene.focus.empty() ? model : model + " \u00b7 " + scene.focus;
  const std::string about = model_line(profile);
  texts.subtitle = (about.empty() ? "" : about + " \u00b7 ") + level_words(scene);
  texts.totals = totals_of(scene);
  if (any_repeats(scene))
    texts.remarks.push_back("\u00d7N: N equal blocks in a row, drawn once; FLOPs of one, percent of all.");
  if (color == ColorBy::kBound) texts.remarks.push_back(bottleneck_legend(profile.options.ridge) + ".");
  texts.remarks.push_back(fmt::format(
      "Bar and height: share of {}. Red outline: the costliest by roofline time. Labels on edges: shapes.",
      share_words(color)));
  for (const std::string& note : scene.notes) texts.remarks.push_back(note + ".");
  return texts;
}

Picture draw(const Profile& profile, PictureFormat format, const DrawOptions& options) {
  if (options.color == ColorBy::kPredicted)
    require_known(metric_at("predicted_seconds"), costs_of(profile, profile.totals), "--color");
  const GraphView view = make_view(
      profile, options.level, std::max(1U, options.collapse.depth == kNone ? 1U : options.collapse.depth));
  CollapseOptions collapse = options.collapse;
  collapse.max_boxes = std::min(collapse.max_boxes, kMostBoxes);
  Scene scene = make_scene(view, collapse);
  if (options.collapse.max_boxes > kMostBoxes && scene.boxes.size() < view.nodes.size())
    scene.notes.push_back("no more than " + std::to_string(kMostBoxes) + " boxes are drawn on a page");
  const Look look = make_look(scene, options.color);
  const auto bytes = [&] {
    if (format == PictureFormat::kDot) return scene_dot(scene, look, options.color);
    const Layout layout = make_layout(scene, look);
    return format == PictureFormat::kHtml ? page_html(scene, look, layout, options.color)
                                          : svg_to(format, page_svg(scene, look, layout, options.color));
  };
  const auto [nodes, edges] = drawn(scene);
  return {bytes(), nodes, edges, scene.boxes.size(), scene.notes};
}

std::string picture_line(std::string_view path, PictureFormat format, const Picture& picture) {
  return fmt::format("{}  {}, {}, {}{}", path, title(format), plural(picture.nodes, "node"),
                     plural(picture.edges, "edge"),
                     picture.boxes == picture.nodes ? "" : " in " + boxes_words(picture.boxes));
}

std::string scene_dot(const Scene& scene, const Look& look, ColorBy color) {
  const PageTexts texts = page_texts(scene, color);
  std::string totals;
  for (const auto& [what, value] : texts.totals) totals += (totals.empty() ? "" : "   ") + what + " " + value;
  std::string out = fmt::format(
      "digraph {} {{\n"
      "  graph [fontname=\"DejaVu Sans\" fontsize=11 labelloc=t labeljust=l nodesep=0.2 ranksep=0.3 "
      "label={}]\n"
      "  node [shape=box style=\"rounded,filled\" fontname=\"DejaVu Sans\" fontsize=9 margin=\"0.1,0.05\"]\n"
      "  edge [color=\"#6b7280\" fontcolor=\"{}\" fontname=\"DejaVu Sans\" fontsize=8 arrowsize=0.6]\n",
      quoted({texts.title}), quoted({texts.title, texts.subtitle, totals}), kQuietInk);
  write_cluster(scene, look, kNone, 1, out);
  for (std::size_t e = 0; e < scene.edges.size(); ++e)
    out += fmt::format("  n{} -> n{}{}\n", scene.edges[e].from, scene.edges[e].to,
                       look.edges[e].empty() ? "" : " [label=" + quoted({look.edges[e]}) + "]");
  return out + "}\n";
}

std::string_view name(ColorBy by) { return kColorNames[static_cast<std::size_t>(by)]; }

ColorBy color_by_from_name(std::string_view text) {
  if (const auto by = named(text, ColorBy::kPredicted)) return *by;
  throw Error("nothing to colour by is called '" + std::string(text) + "'", "--color",
              "one of " + one_of(names_up_to(ColorBy::kPredicted)));
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

bool is_by_share(ColorBy color) { return color == ColorBy::kCost || color == ColorBy::kPredicted; }

std::string_view share_words(ColorBy color) {
  return color == ColorBy::kPredicted ? "predicted time" : "FLOPs";
}

double share_of_model(const Scene& scene, const SceneBox& box, ColorBy color) {
  if (color == ColorBy::kPredicted)
    return ratio(box.all_metrics.predicted_time, scene.view->profile->totals.predicted_time);
  const double whole = static_cast<double>(scene.view->profile->totals.flops.value());
  return whole > 0 ? static_cast<double>(box.all_metrics.flops.value()) / whole : 0;
}

Look make_look(const Scene& scene, ColorBy color) {
  Look look{.boxes = {}, .edges = edge_labels(scene), .clusters = cluster_titles(scene)};
  double most = 0;
  for (const SceneBox& box : scene.boxes)
    if (box.kind != BoxKind::kStub) most = std::max(most, share_of_model(scene, box, color));
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
  std::vector<Category> shown;
  for (const SceneBox& box : scene.boxes)
    if (box.metrics.counts() && box.kind != BoxKind::kStub) shown.push_back(box.category);
  for (const ColorGroup& group : groups_of(shown)) add(group.color, kCategoryWhite, group.name);
  return entries;
}

}  // namespace opscope
