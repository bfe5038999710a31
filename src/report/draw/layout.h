// Where everything of a drawing goes. Graphviz lays out each column of a page by itself; what runs from one
// column to the next leaves at its foot, goes up between the columns and comes in from above.
#pragma once

#include <vector>

#include "analyse/tree/scene.h"
#include "report/draw/look.h"
#include "report/svg/pictures.h"

namespace opscope {

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

// Puts the labels of edges beside them, where neither boxes nor other labels are.
void place_labels(const Look& look, Layout& layout);

// By box: its column, so that the page is about as high as it is wide or a little higher.
std::vector<std::uint32_t> choose_columns(const Scene& scene, const Look& look);

}  // namespace opscope
