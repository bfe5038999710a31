// The roofline: intensity across, FLOPs up, so that lines of equal time at the roof have a roof's shape.
// Without a device their height is a share of the whole's time; with one it is seconds as well.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

constexpr Font kSmallFont{.size = 9.5}, kNoteFont{.size = 10}, kHeadFont{.size = 10.5, .bold = true};
constexpr double kRoofRoom = 40, kSideWidth = 236;  // right of the plot: the roofs' labels, the legends
constexpr double kTop = 98, kBottom = 90, kLeft = 76;
constexpr double kLargestDot = 38;  // radius of a dot that takes all of the time
constexpr double kSmallestDot = 2.2;
constexpr double kKeyLine = 16;
constexpr double kNumberHeight = 11;

double radius_of(double share) { return std::max(kSmallestDot, kLargestDot * std::sqrt(share)); }
bool on_axes(const RooflinePoint& point) { return point.intensity > 0; }

// The points that get a number: a dot that takes next to no time needs none.
std::vector<const RooflinePoint*> named_points(const RooflinePlot& plot, std::size_t most) {
  constexpr double kLeastNamed = 0.001;  // of the time
  std::vector<const RooflinePoint*> named;
  for (const RooflinePoint& point : plot.points)
    if (on_axes(point) && point.time_share >= kLeastNamed && named.size() < most) named.push_back(&point);
  return named;
}

std::vector<ColorGroup> groups_of_points(const RooflinePlot& plot) {
  std::vector<Category> categories;
  for (const RooflinePoint& point : plot.points)
    if (on_axes(point)) categories.push_back(point.category);
  return groups_of(categories);
}

// What the legends beside the plot need; the plot is at least as high.
double height_for(const RooflinePlot& plot, std::size_t named) {
  const auto lines = static_cast<double>(groups_of_points(plot).size());
  const double needed = kTop + 18 * (lines + 1) + 70 + kKeyLine * static_cast<double>(named + 1) + kBottom;
  return std::max(kPlotHeight, needed);
}

struct RooflineDrawing {
  const Profile& profile;
  const RooflinePlot& plot;
  std::vector<const RooflinePoint*> named;
  Svg svg{kPlotWidth, height_for(plot, named.size()), model_name(*profile.graph) + ": roofline"};
  Box box{kLeft, kTop, kPlotWidth - kLeft - kRoofRoom - kSideWidth - kMargin, svg.height() - kTop - kBottom};
  RooflineAxes axes = roofline_axes(plot, box, 2);  // room for names above
  LabelPlacer placer{box.inset(2)};

  std::string draw() {
    draw_title(svg, fmt::format("{}: roofline by {}", model_name(*profile.graph), name(plot.level)),
               model_line(profile));
    draw_sides();
    draw_x_axis(svg, axes.x, box, "arithmetic intensity (FLOPs per byte)");
    draw_y_axis(svg, axes.y, box, "FLOPs of each " + std::string(name(plot.level)));
    draw_roofs();
    draw_ridge();
    draw_dots();
    draw_numbers();
    draw_legends();
    draw_notes();
    return svg.document();
  }

  Point at(const RooflinePoint& point) const {
    return {axes.x.at(point.intensity), axes.y.at(static_cast<double>(point.flops))};
  }
  Box box_of(const RooflinePoint& point) const {
    const double size_across = 2 * radius_of(point.time_share);
    return Box::around(at(point), size_across, size_across);
  }

  void draw_sides() {
    const double ridge = axes.x.at(plot.roof.ridge);
    svg.rect({box.x, box.y, ridge - box.x, box.height}, {.fill = tinted(kMemoryBoundColor, 0.93)});
    svg.rect({ridge, box.y, box.right() - ridge, box.height}, {.fill = tinted(kComputeBoundColor, 0.93)});
    draw_side(plot.memory_bound, "memory-bound", kMemoryBoundColor, Anchor::kStart, box.x);
    draw_side(plot.compute_bound, "compute-bound", kComputeBoundColor, Anchor::kEnd, box.right());
  }

  void draw_side(const RooflineSide& side, std::string_view title, std::string_view color, Anchor anchor,
                 double x) {
    const std::string shares = fmt::format(
        "{}, {} of FLOPs, {} of bytes, {} of time", plural(side.nodes, name(plot.level)),
        format_percent(side.flops, plot.flops), format_percent(side.memory_bytes, plot.memory_bytes),
        format_percent(side.time_share, 1.0));
    const Font strong{.size = 11, .bold = true};
    svg.text({x, 75}, title, {.font = strong, .color = color, .anchor = anchor});
    svg.text({x, 90}, fitted(shares, box.width / 2 - 4, kSmallFont), {.font = kSmallFont, .anchor = anchor});
  }

  void draw_ridge() {
    const double x = axes.x.at(plot.roof.ridge);
    svg.line({x, box.y}, {x, box.bottom()}, {.stroke = kInk, .stroke_width = 1.2});
    const TextStyle style{.font = kNoteFont, .rotation = -90};
    const std::string text = "ridge: " + svg_number(plot.roof.ridge) + " FLOPs per byte";
    svg.text({x - 5, box.bottom() - 8}, text, style);
    const double length = text_width(text, kNoteFont);
    placer.avoid({x - 1, box.y, 2, box.height});
    placer.block({x - 16, box.bottom() - 10 - length, 18, length + 4});
  }

  // Lines of equal time: bytes are equal up to the ridge, FLOPs from there on.
  void draw_roofs() {
    const std::string clip = svg.clip(box);
    for (const double share : {1.0, 0.1, 0.01, 0.001, 0.0001}) {
      const double cost = share * plot.total_cost;
      const double top = axes.y.at(cost * plot.roof.ridge), ridge = axes.x.at(plot.roof.ridge);
      const std::array<Point, 3> line{Point{box.x, axes.y.at(cost * axes.x.low)}, Point{ridge, top},
                                      Point{box.right(), top}};
      svg.begin_group({.clip = clip});
      svg.polyline(line, {.stroke = kAxis, .stroke_width = 0.8, .dash = "5 3"});
      svg.end_group();
      placer.avoid({ridge, top - 1, box.right() - ridge, 2});
      if (top < box.y || top > box.bottom()) continue;
      const auto seconds = plot.roof.seconds(cost);
      svg.text({box.right() + 6, top}, seconds ? format_seconds(*seconds) : tick_label(share, Unit::kShare),
               {.font = kSmallFont, .color = kQuietInk, .centred = true});
    }
    // Below them: above is what is bound by what.
    svg.text({box.right() + 6, box.bottom() + 12}, "time", {.font = kSmallFont, .color = kQuietInk});
  }

  void draw_dots() {
    for (const RooflinePoint& point : plot.points) {
      if (!on_axes(point)) continue;
      svg.circle(at(point), radius_of(point.time_share),
                 {.fill = color_of(point.category), .stroke = kPaper, .stroke_width = 0.7, .opacity = 0.88},
                 tooltip(point));
      placer.avoid(box_of(point));
    }
  }

  static std::string tooltip(const RooflinePoint& point) {
    return fmt::format("{} ({}){}\n{} FLOPs, {}{}\n{} FLOPs per byte, {} of time", point.name, point.type,
                       repeat_text(point.count), format_count(point.flops), format_bytes(point.memory_bytes),
                       point.count > 1 ? " each" : "", format_ratio(point.intensity),
                       format_percent(point.time_share, 1.0));
  }

  // Inside the dot where there is room that no later dot lies on, else beside it.
  void draw_numbers() {
    for (std::size_t i = 0; i < named.size(); ++i) {
      const RooflinePoint& point = *named[i];
      const std::string text = std::to_string(i + 1);
      const double width = text_width(text, kHeadFont) + 2, radius = radius_of(point.time_share);
      TextStyle style{.font = {.size = 9.5, .bold = true}, .anchor = Anchor::kMiddle, .centred = true};
      if (const auto inside = place_inside(point, width)) {
        style.color = ink_on(color_of(point.category));
        svg.text(inside->center(), text, style);
      } else if (const auto place = placer.place(at(point), radius, width, kNumberHeight)) {
        if (place->is_far()) svg.line(place->edge, place->near, {.stroke = kAxis, .stroke_width = 0.8});
        svg.text(place->box.center(), text, style);
      }
    }
  }

  std::optional<Box> place_inside(const RooflinePoint& point, double width) {
    const double room = radius_of(point.time_share) - 0.75 * width;
    if (room < 0) return std::nullopt;
    constexpr std::array<Point, 5> kSteps{{{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
    for (const Point& step : kSteps) {
      const Box place = Box::around(at(point) + step * room, width, kNumberHeight);
      const auto covers = [&](const RooflinePoint& later) {
        return &later > &point && on_axes(later) && place.overlaps(box_of(later));
      };
      if (std::ranges::none_of(plot.points, covers) && placer.take(place)) return place;
    }
    return std::nullopt;
  }

  void draw_legends() {
    const double x = box.right() + kRoofRoom + 16;
    double y = draw_legend(svg, {x, box.y}, "Costliest op", groups_of_points(plot)) + 10;
    y = draw_areas({x, y}) + 14;
    svg.text({x, y + 9}, "Most time", {.font = kHeadFont});
    for (std::size_t i = 0; i < named.size(); ++i)
      draw_key(*named[i], std::to_string(i + 1), {x, y + kKeyLine * static_cast<double>(i) + 14});
  }

  double draw_areas(Point corner) {
    svg.text({corner.x, corner.y + 9}, "Area: share of time", {.font = kHeadFont});
    double x = corner.x;
    const double y = corner.y + 18 + radius_of(0.1);
    for (const double share : {0.1, 0.03, 0.01}) {
      const double radius = radius_of(share);
      const std::string text = tick_label(share, Unit::kShare);
      svg.circle({x + radius, y}, radius, {.fill = kGrid, .stroke = kAxis, .stroke_width = 0.8});
      svg.text({x + 2 * radius + 5, y}, text, {.font = kNoteFont, .centred = true});
      x += 2 * radius + 5 + text_width(text, kNoteFont) + 16;
    }
    return y + radius_of(0.1);
  }

  void draw_key(const RooflinePoint& point, const std::string& number, Point corner) {
    const double y = corner.y + kKeyLine / 2, right = svg.width() - kMargin;
    const std::string share = format_percent(point.time_share, 1.0);
    const std::string count = repeat_text(point.count);
    std::string label = point.name;
    if (label.ends_with('*')) label.append(" ").append(point.type);  // what they have in common
    const double room = right - corner.x - 20 - 46 - text_width(count, kSmallFont);
    svg.text({corner.x + 14, y}, number,
             {.font = {.size = 9.5, .bold = true}, .anchor = Anchor::kEnd, .centred = true});
    svg.text({corner.x + 20, y}, fitted_middle(label, room, kSmallFont) + count,
             {.font = kSmallFont, .centred = true});
    svg.text({right, y}, share,
             {.font = kSmallFont, .color = kQuietInk, .anchor = Anchor::kEnd, .centred = true});
  }

  void draw_notes() {
    std::string text =
        "Time: everything one after the other at the roof of a device with this ridge. Dashed: where each "
        "takes that share of it. \u00d7n: n equal ones in one dot.";
    if (const RooflineSide& side = plot.without_flops; side.nodes)
      text += fmt::format(" Not on the axes: {} without FLOPs, {} moved, {} of time.",
                          plural(side.nodes, name(plot.level)), format_bytes(side.memory_bytes),
                          format_percent(side.time_share, 1.0));
    draw_paragraph(svg, {box.x, box.bottom() + 48}, svg.width() - kMargin - box.x, text,
                   {.font = kSmallFont, .color = kQuietInk});
  }
};

}  // namespace

std::string roofline_svg(const Profile& profile, const RooflinePlot& plot, std::size_t labels) {
  return RooflineDrawing{profile, plot, named_points(plot, labels)}.draw();
}

}  // namespace opscope
