// Drawings: nothing overlaps, text fits, every edge is there, the same bytes each time.
#include "report/draw/draw.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/small_models.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/random_graph.h"
#include "report/core/document.h"
#include "report/draw/layout.h"

namespace opscope {
namespace {

struct Laid {
  explicit Laid(Graph g, Level level = Level::kLayer, const CollapseOptions& options = {})
      : graph(std::move(g)),
        profile(make_profile(graph)),
        view(make_view(profile, level)),
        scene(make_scene(view, options)),
        look(make_look(scene, ColorBy::kCategory)),
        layout(make_layout(scene, look)) {}
  Graph graph;
  Profile profile;
  GraphView view;
  Scene scene;
  Look look;
  Layout layout;
};

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

void check_boxes(const Laid& laid) {
  const auto& boxes = laid.layout.boxes;
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    EXPECT_TRUE((Box{-1, -1, laid.layout.width + 2, laid.layout.height + 2}.contains(boxes[a])));
    for (std::size_t b = a + 1; b < boxes.size(); ++b)
      EXPECT_FALSE(boxes[a].overlaps(boxes[b]))
          << laid.scene.boxes[a].path << " " << laid.scene.boxes[b].path;
  }
}

double title_width(const Laid& laid, const ClusterFrame& frame) {
  return 8 + text_width(laid.look.clusters[frame.cluster], kClusterFont) + 7 +
         text_width(laid.scene.clusters[frame.cluster].type, kEdgeFont) +
         (frame.continued ? text_width(kContinued, kEdgeFont) : 0);
}

void check_labels(const Laid& laid) {
  const auto& labels = laid.layout.labels;
  for (std::size_t a = 0; a < labels.size(); ++a) {
    if (labels[a].width <= 0) continue;
    for (const Box& box : laid.layout.boxes) EXPECT_FALSE(box.overlaps(labels[a]));
    for (const ClusterFrame& frame : laid.layout.frames)
      EXPECT_FALSE((Box{frame.box.x, frame.box.y, title_width(laid, frame), 16}.overlaps(labels[a])));
    for (std::size_t b = a + 1; b < labels.size(); ++b)
      EXPECT_FALSE(labels[b].width > 0 && labels[a].overlaps(labels[b]));
  }
}

void check_text(const Laid& laid) {
  for (const BoxLook& box : laid.look.boxes) {
    EXPECT_LE(text_width(box.name, kNameFont), box.width - 4);
    EXPECT_LE(text_width(box.type, kTypeFont), box.width - 4);
    EXPECT_LE(text_width(box.cost, kCostFont), box.width - 4);
    EXPECT_GE(box.height, kLine * (1 + !box.type.empty() + !box.cost.empty()));
  }
}

// Clusters hold their boxes, and only those.
void check_frames(const Laid& laid) {
  for (const ClusterFrame& frame : laid.layout.frames)
    for (std::size_t b = 0; b < laid.scene.boxes.size(); ++b) {
      bool inside = false;
      for (std::uint32_t c = laid.scene.boxes[b].cluster; c != kNone; c = laid.scene.clusters[c].parent)
        inside = inside || c == frame.cluster;
      EXPECT_FALSE(!inside && frame.box.overlaps(laid.layout.boxes[b]));
    }
}

void check_edges(const Laid& laid) {
  std::vector<int> arrows(laid.scene.edges.size(), 0);
  for (const EdgePiece& piece : laid.layout.pieces) {
    EXPECT_GE(piece.points.size(), 2U);
    if (piece.arrow) ++arrows[piece.edge];
  }
  EXPECT_TRUE(std::ranges::all_of(arrows, [](int n) { return n == 1; }));
}

void check(const Laid& laid) {
  check_boxes(laid), check_labels(laid), check_text(laid), check_frames(laid), check_edges(laid);
}

TEST(Layout, NothingOverlapsOnResNet) {
  check(Laid(test::ResNet18::make()));
  check(Laid(test::ResNet18::make(), Level::kOp, {.max_boxes = 120, .fold = false, .focus = {}}));
  check(Laid(test::ResNet18::make(), Level::kSubgraph));
  check(Laid(test::ResNet18::make(), Level::kLayer, {.focus = "layer3"}));
}

TEST(Layout, NothingOverlapsOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(std::to_string(seed));
    check(Laid(test::RandomGraph(seed).make(10 + seed * 3), seed % 2 ? Level::kOp : Level::kLayer,
               {.max_boxes = 30, .focus = {}}));
  }
}

TEST(Layout, LongGraphsAreColumns) {
  const Laid laid(test::ResNet18::make());
  const auto columns = choose_columns(laid.scene, laid.look);
  EXPECT_GT(std::ranges::max(columns), 0U);
  EXPECT_LT(laid.layout.height / laid.layout.width, 2.5);
}

TEST(Draw, EveryFormatIsWhatItSays) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  const auto bytes = [&](PictureFormat format) { return draw(profile, format).bytes; };
  EXPECT_TRUE(bytes(PictureFormat::kPng).starts_with("\x89PNG\r\n"));
  EXPECT_TRUE(bytes(PictureFormat::kPdf).starts_with("%PDF-"));
  EXPECT_NE(bytes(PictureFormat::kSvg).find("<svg"), std::string::npos);
  EXPECT_TRUE(bytes(PictureFormat::kDot).starts_with("digraph \"resnet18\" {"));
  EXPECT_TRUE(bytes(PictureFormat::kHtml).starts_with("<!doctype html>"));
}

TEST(Draw, SameBytesEachTime) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const PictureFormat format : {PictureFormat::kPng, PictureFormat::kPdf, PictureFormat::kSvg,
                                     PictureFormat::kDot, PictureFormat::kHtml})
    EXPECT_EQ(draw(profile, format).bytes, draw(profile, format).bytes);
}

TEST(Draw, SvgHasEveryBoxAndEdge) {
  const Laid laid(test::ResNet18::make());
  const std::string svg = page_svg(laid.scene, laid.look, laid.layout, ColorBy::kCategory);
  EXPECT_EQ(count(svg, "class=\"box\""), laid.scene.boxes.size());
  EXPECT_EQ(count(svg, "class=\"edge\""), laid.layout.pieces.size());
  for (const char* total : {"Parameters", "11.69M", "FLOPs", "MACs", "Peak memory", "Subgraphs"})
    EXPECT_NE(svg.find(total), std::string::npos) << total;
}

TEST(Draw, DotHasEveryBoxAndEdge) {
  const Laid laid(test::ResNet18::make());
  const std::string dot = scene_dot(laid.scene, laid.look, ColorBy::kCategory);
  EXPECT_EQ(count(dot, " -> "), laid.scene.edges.size());
  EXPECT_EQ(count(dot, "fillcolor"), laid.scene.boxes.size() + laid.scene.clusters.size());
  EXPECT_EQ(place(dot).nodes.size(), laid.scene.boxes.size());  // Graphviz reads it
}

TEST(Draw, HtmlIsOneFile) {
  const Graph graph = test::RandomGraph(3).make(40);  // with a name that must be escaped
  const std::string html = draw(make_profile(graph), PictureFormat::kHtml).bytes;
  EXPECT_EQ(count(html, "</script>"), 2U);
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("@import"), std::string::npos);
}

TEST(Draw, ColoursByBoundAndCost) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  const auto svg = [&](ColorBy color) { return draw(profile, PictureFormat::kSvg, {.color = color}).bytes; };
  EXPECT_NE(svg(ColorBy::kBound).find("memory-bound"), std::string::npos);
  EXPECT_NE(svg(ColorBy::kCost).find("linearGradient"), std::string::npos);
  EXPECT_THROW(color_by_from_name("mood"), Error);
}

TEST(Draw, SaysWhatItDrew) {
  const Graph graph = test::ResNet18::make();
  const Picture picture = draw(make_profile(graph), PictureFormat::kDot);
  EXPECT_EQ(picture_line("r.dot", PictureFormat::kDot, picture),
            "r.dot  DOT, 71 nodes, " + std::to_string(picture.edges) + " edges in 30 boxes");
}

// A module's picture has the module's totals.
TEST(Draw, FocusHasItsOwnTotals) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  DrawOptions options;
  options.collapse.focus = "layer2.0";
  const Picture picture = draw(profile, PictureFormat::kSvg, options);
  EXPECT_LT(picture.nodes, 71U);
  const auto row = std::ranges::find_if(profile.modules(), [&](const ModuleRow& r) {
    return graph.path(graph.modules[r.module]) == "layer2.0";
  });
  for (const std::string& text : {flops_text(row->metrics), format_params(row->parameters.total)})
    EXPECT_NE(picture.bytes.find(">" + text + "<"), std::string::npos) << text;
  EXPECT_EQ(picture.bytes.find(">" + flops_text(profile.totals) + "<"), std::string::npos);
}

// What a narrow page has no room for goes on the next line.
TEST(Draw, SubtitleIsWhole) {
  Graph graph = test::ResNet18::make();
  DrawOptions options;
  options.collapse.focus = "layer2.0";
  graph.capture.source = "a library whose name and version are so long that no page has room for them 1.0";
  const Picture picture = draw(make_profile(graph), PictureFormat::kSvg, options);
  EXPECT_EQ(picture.bytes.find("\u2026"), std::string::npos);
  EXPECT_NE(picture.bytes.find("boxes<"), std::string::npos);
}

TEST(Draw, RefusesFormatsThatItDoesNotKnow) {
  EXPECT_EQ(picture_format_from_extension("a/b.PNG"), PictureFormat::kPng);
  for (const char* path : {"a.jpg", "a", "png", ""})
    EXPECT_THROW(picture_format_from_extension(path), Error) << path;
  EXPECT_THROW(picture_format_from_name("jpg"), Error);
}

// Graphviz by itself crashes in a process that has laid out a few hundred graphs with clusters.
TEST(Place, ManyGraphsInOneProcess) {
  const std::string dot =
      "digraph g { subgraph cluster_0 { { rank=source; n0; } n1; { rank=sink; n2; } } n0 -> n1 -> n2; }";
  for (int i = 0; i < 400; ++i) ASSERT_EQ(place(dot).nodes.size(), 3u) << i;
}

TEST(Place, SaysWhatGraphvizSays) { EXPECT_THROW(place("digraph g { n0 -> "), Error); }

}  // namespace
}  // namespace opscope
