// The scene as DOT, for one's own Graphviz: complete by itself, with the same texts and colours.
#include <fmt/format.h>

#include "report/draw/svg.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out + "\"";
}

// Lines of a label: \n is Graphviz's own.
std::string label_of(std::initializer_list<std::string_view> lines) {
  std::string out;
  for (const std::string_view line : lines) {
    if (line.empty()) continue;
    const std::string text = quoted(line);
    out += (out.empty() ? "" : "\\n") + text.substr(1, text.size() - 2);
  }
  return "\"" + out + "\"";
}

class DotWriter {
 public:
  DotWriter(const Scene& scene, const Look& look, ColorBy color)
      : scene_(scene), look_(look), color_(color) {}

  std::string run() {
    const PageTexts texts = page_texts(scene_, color_);
    std::string totals;
    for (const auto& [what, value] : texts.totals)
      totals += (totals.empty() ? "" : "   ") + what + " " + value;
    out_ = "digraph " + quoted(texts.title) + " {\n";
    out_ +=
        "  graph [fontname=\"DejaVu Sans\" fontsize=11 labelloc=t labeljust=l nodesep=0.2 ranksep=0.3 "
        "label=" +
        label_of({texts.title, texts.subtitle, totals}) + "]\n";
    out_ +=
        "  node [shape=box style=\"rounded,filled\" fontname=\"DejaVu Sans\" fontsize=9 "
        "margin=\"0.1,0.05\"]\n";
    out_ += fmt::format(
        "  edge [color=\"#6b7280\" fontcolor=\"{}\" fontname=\"DejaVu Sans\" fontsize=8 arrowsize=0.6]\n",
        kQuietInk);
    write_cluster(kNone, 1);
    for (std::size_t e = 0; e < scene_.edges.size(); ++e) write_edge(e);
    return std::move(out_) + "}\n";
  }

 private:
  void indent(int levels) { out_.append(static_cast<std::size_t>(2 * levels), ' '); }

  void write_cluster(std::uint32_t cluster, int levels) {
    for (std::size_t b = 0; b < scene_.boxes.size(); ++b)
      if (scene_.boxes[b].cluster == cluster) indent(levels), write_box(b);
    for (std::uint32_t c = 0; c < scene_.clusters.size(); ++c) {
      if (scene_.clusters[c].parent != cluster) continue;
      indent(levels);
      out_ += fmt::format("subgraph cluster_{} {{\n", c);
      indent(levels + 1);
      out_ += "label=" + quoted(look_.clusters[c] + "  " + scene_.clusters[c].type) +
              fmt::format(" style=\"rounded,filled\" color=\"#c3c8d0\" fillcolor=\"{}\"\n",
                          levels % 2 ? kPanel : kPaper);
      write_cluster(c, levels + 1);
      indent(levels);
      out_ += "}\n";
    }
  }

  void write_box(std::size_t b) {
    const SceneBox& box = scene_.boxes[b];
    const BoxLook& look = look_.boxes[b];
    out_ += fmt::format("n{} [label={} fillcolor=\"{}\" color=\"{}\" fontcolor=\"{}\" tooltip={}", b,
                        label_of({look.name, look.type, look.cost}), look.fill, look.edge, look.ink,
                        quoted(box.path));
    if (box.repeat > 1) out_ += " peripheries=2";
    if (look.bottleneck) out_ += " penwidth=2";
    if (box.kind == BoxKind::kStub) out_ += " style=\"rounded,dashed\"";
    out_ += "]\n";
  }

  void write_edge(std::size_t e) {
    const SceneEdge& edge = scene_.edges[e];
    out_ += fmt::format("  n{} -> n{}", edge.from, edge.to);
    if (!look_.edges[e].empty()) out_ += " [label=" + quoted(look_.edges[e]) + "]";
    out_ += "\n";
  }

  const Scene& scene_;
  const Look& look_;
  ColorBy color_;
  std::string out_;
};

}  // namespace

std::string scene_dot(const Scene& scene, const Look& look, ColorBy color) {
  return DotWriter(scene, look, color).run();
}

}  // namespace opscope
