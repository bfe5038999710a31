// The parts of a drawing, whatever it is written as: how a scene looks, where everything goes, and what
// stands around it. Graphviz lays out each column of a page by itself; what runs from one column to the next
// leaves at its foot, goes up between the columns and comes in from above.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyse/tree/scene.h"
#include "report/draw/draw.h"
#include "report/svg/pictures.h"

namespace opscope {

inline constexpr Font kNameFont{10.5, true}, kTypeFont{9.5}, kCostFont{9};
inline constexpr Font kEdgeFont{8.5}, kClusterFont{10, true};
inline constexpr double kLine = 13;          // from one line of a box to the next
inline constexpr double kStackOffset = 3;    // of the second sheet behind a box that repeats
inline constexpr double kClusterTitle = 18;  // height of a cluster's title
inline constexpr std::string_view kContinued = " (continued)";  // after a cluster's title in a later column

struct BoxLook {
  std::string name, type, cost;  // the lines of text; "" for none
  double width = 0, height = 0;
  std::string fill, edge, ink;
  double bar = 0;  // share of the costliest box, for the bar at its foot
  bool bottleneck = false;

  int lines() const { return 1 + !type.empty() + !cost.empty(); }
  // As wide as its lines, up to `widest`, and as high.
  void fit_lines(double widest);
};

struct Look {
  std::vector<BoxLook> boxes;         // by box
  std::vector<std::string> edges;     // by edge: its label, "" where another edge says the same
  std::vector<std::string> clusters;  // by cluster: title
};
Look make_look(const Scene& scene, ColorBy color);

inline bool is_end(const SceneBox& box) {
  return box.kind == BoxKind::kInput || box.kind == BoxKind::kOutput;
}
bool any_repeats(const Scene& scene);
// The clusters that a box is in, the innermost first.
std::vector<std::uint32_t> clusters_of(const Scene& scene, const SceneBox& box);
bool is_by_share(ColorBy color);              // a scale of shares, not of kinds
std::string_view share_words(ColorBy color);  // "FLOPs": whose
// Of all runs, in the model's FLOPs, or in its predicted time.
double share_of_model(const Scene& scene, const SceneBox& box, ColorBy color = ColorBy::kCategory);
std::string joined_types(const SceneBox& box, std::size_t most);
std::vector<std::string> cluster_titles(const Scene& scene);

struct LegendEntry {
  std::string color, edge, text;
};
// Colours that are in the picture and what they mean.
std::vector<LegendEntry> legend(const Scene& scene, ColorBy color);

struct ClusterFrame {
  std::uint32_t cluster = 0;
  Box box{};
  bool continued = false;  // it began in an earlier column
  double title_width = 0;
};

// A piece of an edge: a Bezier curve as Graphviz gives it, or a line with corners to be rounded.
struct EdgePiece {
  std::uint32_t edge = 0;
  std::vector<Point> points;
  bool is_curve = true;
  bool arrow = true;  // it ends at its box
};

struct Layout {
  double width = 0, height = 0;
  std::vector<Box> boxes;            // by box
  std::vector<ClusterFrame> frames;  // outer ones first
  std::vector<EdgePiece> pieces;
  std::vector<Box> labels;  // by edge; without width where there is none
};
Layout make_layout(const Scene& scene, const Look& look);
// By box: its column, so that the page is about as high as it is wide or a little higher.
std::vector<std::uint32_t> choose_columns(const Scene& scene, const Look& look);

using TextPairs = std::vector<std::pair<std::string, std::string>>;  // "FLOPs", "3.64G"
// What stands above and below the graph.
struct PageTexts {
  std::string title, subtitle;
  TextPairs totals;
  std::vector<std::string> remarks;
};
PageTexts page_texts(const Scene& scene, ColorBy color);

// A whole page. Boxes are groups of class "box" with id "b7", edges of class "edge" with data-from and
// data-to.
std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, ColorBy color);
// With other words and colours than a model's own.
std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, PageTexts texts,
                     std::vector<LegendEntry> entries);
std::string scene_dot(const Scene& scene, const Look& look, ColorBy color);
std::string page_html(const Scene& scene, const Look& look, const Layout& layout, ColorBy color);

}  // namespace opscope
