// What plots have in common: the title block, the legend, and names beside dots that keep out of each other's
// way.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/plot/plot.h"
#include "report/svg/axis.h"
#include "report/svg/colors.h"

namespace opscope {

// In units of a pixel at 96 dpi. Bars and slices take the height that they need.
inline constexpr double kPlotWidth = 1000, kPlotHeight = 600, kMargin = 20;
inline constexpr double kTitleBottom = 52;  // where the title block ends

void draw_title(Svg& svg, std::string_view title, std::string_view subtitle);
// "torchvision 0.28.0 · x: 1x3x224x224 float32"
std::string model_line(const Profile& profile);

// The colour groups of these categories, each once, in the order of the house.
std::vector<ColorGroup> groups_of(std::span<const Category> categories);
// A column of swatches; gives the y below it.
double draw_legend(Svg& svg, Point at, std::string_view title, std::span<const ColorGroup> groups);
// The same in a row.
void draw_legend_row(Svg& svg, Point at, std::span<const ColorGroup> groups);
// Lines of at most `width`; gives the y below them.
double draw_paragraph(Svg& svg, Point at, double width, std::string_view text, const TextStyle& style);

// Finds free places for names beside round dots.
class LabelPlacer {
 public:
  explicit LabelPlacer(const Box& bounds) : bounds_(bounds) {}
  void block(const Box& box) { blocked_.push_back(box); }  // nothing may cover it
  void avoid(const Box& box) { avoided_.push_back(box); }  // nor this, where there is another place

  struct Place {
    Box box;
    Point near, edge;  // a line joins the label and its dot where they are apart
    bool is_far() const;
  };
  // Takes this place, if nothing is there that must not be covered.
  bool take(const Box& box);
  // Takes the best place beside a dot; nullopt where there is none nearby.
  std::optional<Place> place(Point center, double radius, double width, double height);

 private:
  double badness(const Place& place) const;  // infinite where it must not be
  bool is_blocked(const Box& box) const;
  double covered(const Box& box) const;

  Box bounds_;
  std::vector<Box> blocked_, avoided_;
};

// "3.64G", "47.7MB", "1.24 ms"; with its unit: "3.64G FLOPs", "47.7MB moved", "1.24 ms".
std::string value_text(const Metric& metric, Count value);
std::string amount_text(const Metric& metric, Count value);

// A type, or at the end all the others together.
struct TypeBar {
  std::string label;
  const TypeRow* row;  // nullptr: the others
  const Metrics& metrics;
};
std::vector<TypeBar> bars_of(const TypesPlot& plot);

// Intensity across and FLOPs up, over all points that have both and the ridge, up to `above` times the most.
struct RooflineAxes {
  Axis x, y;
};
RooflineAxes roofline_axes(const RooflinePlot& plot, const Box& box, double above);

}  // namespace opscope
