// From a profile to a picture's bytes, the words around the graph, and the scene as DOT for one's own
// Graphviz.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/draw/draw.h"
#include "report/draw/layout.h"
#include "report/profile/sections.h"
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

using Totals = std::vector<std::pair<std::string, std::string>>;

Totals cost_totals(const Parameters& parameters, const Metrics& metrics) {
  return {{"Parameters", format_params(parameters.total)},
          {"FLOPs", flops_text(metrics)},
          {"MACs", format_count(metrics.work.macs)},
          {"Bytes moved", format_bytes(metrics.memory_bytes())}};
}

Totals model_totals(const Profile& profile) {
  Totals totals = cost_totals(profile.parameters, profile.totals);
  totals.insert(totals.end(), {{"Peak memory", format_bytes(profile.memory().peak_memory_bytes())},
                               {"FLOPs per byte", format_ratio(profile.totals.arithmetic_intensity())},
                               {"Ops", format_exact(Count{profile.totals.ops})},
                               {"Subgraphs", format_exact(Count{profile.partition().subgraphs.size()})}});
  return totals;
}

// Of the module in focus, so that the boxes add up to them.
Totals focus_totals(const Scene& scene) {
  const Profile& profile = *scene.view->profile;
  Metrics metrics;
  double share = 0;
  for (const SceneBox& box : scene.boxes)
    if (box.kind != BoxKind::kStub) metrics += box.all_metrics, share += share_of_model(scene, box);
  Parameters parameters;
  for (const ModuleRow& row : profile.modules())
    if (profile.graph->path(profile.graph->modules[row.module]) == scene.focus) parameters = row.parameters;
  Totals totals = cost_totals(parameters, metrics);
  totals.insert(totals.end(), {{"FLOPs per byte", format_ratio(metrics.arithmetic_intensity())},
                               {"Ops", format_exact(Count{metrics.ops})},
                               {"Model's FLOPs", format_percent(share, 1.0)}});
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

std::string quoted(std::string_view text) { return "\"" + escaped(text) + "\""; }

// Lines of a label: \n is Graphviz's own.
std::string label_of(std::initializer_list<std::string_view> lines) {
  std::string out;
  for (const std::string_view line : lines)
    if (!line.empty()) out += (out.empty() ? "" : "\\n") + escaped(line);
  return "\"" + out + "\"";
}

std::string box_line(std::size_t b, const SceneBox& box, const BoxLook& look) {
  return fmt::format("n{} [label={} fillcolor=\"{}\" color=\"{}\" fontcolor=\"{}\" tooltip={}{}{}{}]\n", b,
                     label_of({look.name, look.type, look.cost}), look.fill, look.edge, look.ink,
                     quoted(box.path), box.repeat > 1 ? " peripheries=2" : "",
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
        indent, c, quoted(look.clusters[c] + "  " + scene.clusters[c].type), levels % 2 ? kPanel : kPaper);
    write_cluster(scene, look, c, levels + 1, out);
    out += indent + "}\n";
  }
}

}  // namespace

PageTexts page_texts(const Scene& scene, ColorBy color) {
  const Profile& profile = *scene.view->profile;
  PageTexts texts;
  const std::string model = model_name(*profile.graph);
  texts.title = scene.focus.empty() ? model : model + " \u00b7 " + scene.focus;
  std::vector<std::string> parts;
  for (const Cell& cell : model_cells(*profile.graph)) parts.push_back(text_of(cell));
  std::erase(parts, model);
  parts.push_back(level_words(scene));
  texts.subtitle = fmt::format("{}", fmt::join(parts, " \u00b7 "));
  texts.totals = scene.focus.empty() ? model_totals(profile) : focus_totals(scene);
  if (any_repeats(scene))
    texts.remarks.push_back("\u00d7N: N equal blocks in a row, drawn once; FLOPs of one, percent of all.");
  if (color == ColorBy::kBound) texts.remarks.push_back(bottleneck_legend(profile.options.ridge) + ".");
  texts.remarks.push_back(
      "Bar and height: share of FLOPs. Red outline: the costliest by roofline time. Labels on edges: "
      "shapes.");
  for (const std::string& note : scene.notes) texts.remarks.push_back(note + ".");
  return texts;
}

Picture draw(const Profile& profile, PictureFormat format, const DrawOptions& options) {
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
      quoted(texts.title), label_of({texts.title, texts.subtitle, totals}), kQuietInk);
  write_cluster(scene, look, kNone, 1, out);
  for (std::size_t e = 0; e < scene.edges.size(); ++e)
    out += fmt::format("  n{} -> n{}{}\n", scene.edges[e].from, scene.edges[e].to,
                       look.edges[e].empty() ? "" : " [label=" + quoted(look.edges[e]) + "]");
  return out + "}\n";
}

}  // namespace opscope
