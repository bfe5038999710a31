// The scene as DOT, for one's own Graphviz: complete by itself, with the same texts and colours.
#include <fmt/format.h>

#include "report/draw/layout.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

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
