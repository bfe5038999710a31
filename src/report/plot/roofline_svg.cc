// The roofline: intensity across, FLOPs up, so that lines of equal time at the roof have a roof's shape.
// Without a device their height is a share of the whole's time; with one it is seconds as well.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"
#include "report/svg/axis.h"

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
bool on_axes(const RooflinePoint& point) { return point.flops && point.memory_bytes; }

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
double height_for(const RooflinePlot& plot, std::size_t named, double least) {
  const auto lines = static_cast<double>(groups_of_points(plot).size());
  return std::max(least, kTop + 18 * (lines + 1) + 70 + kKeyLine * static_cast<double>(named + 1) + kBottom);
}

std::string nodes_text(const RooflinePlot& plot, std::uint64_t count) {
  return plural(count, name(plot.level));
}

class RooflineDrawing {
 public:
  RooflineDrawing(const Profile& profile, const RooflinePlot& plot, std::size_t labels, const PlotSize& size)
      : plot_(plot),
        named_(named_points(plot, labels)),
        svg_(size.width, height_for(plot, named_.size(), size.height),
             model_name(*profile.graph) + ": roofline"),
        box_{kLeft, kTop, size.width - kLeft - kRoofRoom - kSideWidth - kMargin,
             svg_.height() - kTop - kBottom},
        placer_(box_.inset(2)) {
    make_axes();
    draw_title(svg_, model_name(*profile.graph) + ": roofline by " + std::string(name(plot.level)),
               model_line(profile));
  }

  std::string draw() {
    draw_sides();
    draw_x_axis(svg_, x_, box_, "arithmetic intensity (FLOPs per byte)");
    draw_y_axis(svg_, y_, box_, "FLOPs of each " + std::string(name(plot_.level)));
    draw_roofs();
    draw_ridge();
    draw_dots();
    draw_numbers();
    draw_legends();
    draw_notes();
    return svg_.document();
  }

 private:
  Point at(const RooflinePoint& point) const {
    return {x_.at(point.intensity), y_.at(static_cast<double>(point.flops))};
  }

  void make_axes() {
    double low_x = plot_.roof.ridge, high_x = plot_.roof.ridge, low_y = 1e300, high_y = 0;
    for (const RooflinePoint& point : plot_.points) {
      if (!on_axes(point)) continue;
      const auto flops = static_cast<double>(point.flops);
      low_x = std::min(low_x, point.intensity), high_x = std::max(high_x, point.intensity);
      low_y = std::min(low_y, flops), high_y = std::max(high_y, flops);
    }
    if (high_y == 0) low_y = high_y = 1;
    x_ = log_axis(low_x, high_x, box_.x, box_.right(), Unit::kPlain);
    y_ = log_axis(low_y, 2 * high_y, box_.bottom(), box_.y, Unit::kCount);  // room for names above
  }

  void draw_sides() {
    const double ridge = x_.at(plot_.roof.ridge);
    svg_.rect({box_.x, box_.y, ridge - box_.x, box_.height}, {.fill = tinted(kMemoryBoundColor, 0.93)});
    svg_.rect({ridge, box_.y, box_.right() - ridge, box_.height}, {.fill = tinted(kComputeBoundColor, 0.93)});
    draw_side(plot_.memory_bound, "memory-bound", kMemoryBoundColor, Anchor::kStart, box_.x);
    draw_side(plot_.compute_bound, "compute-bound", kComputeBoundColor, Anchor::kEnd, box_.right());
  }

  void draw_side(const RooflineSide& side, std::string_view title, std::string_view color, Anchor anchor,
                 double x) {
    const std::string shares = nodes_text(plot_, side.nodes) + ", " +
                               format_percent(side.flops, plot_.flops) + " of FLOPs, " +
                               format_percent(side.memory_bytes, plot_.memory_bytes) + " of bytes, " +
                               format_percent(side.time_share, 1.0) + " of time";
    const Font strong{.size = 11, .bold = true};
    svg_.text({x, 75}, title, {.font = strong, .color = color, .anchor = anchor});
    svg_.text({x, 90}, fitted(shares, box_.width / 2 - 4, kSmallFont),
              {.font = kSmallFont, .anchor = anchor});
  }

  void draw_ridge() {
    const double x = x_.at(plot_.roof.ridge);
    svg_.line({x, box_.y}, {x, box_.bottom()}, {.stroke = kInk, .stroke_width = 1.2});
    const TextStyle style{.font = kNoteFont, .rotation = -90};
    const std::string text = "ridge: " + svg_number(plot_.roof.ridge) + " FLOPs per byte";
    svg_.text({x - 5, box_.bottom() - 8}, text, style);
    const double length = text_width(text, kNoteFont);
    placer_.avoid({x - 1, box_.y, 2, box_.height});
    placer_.block({x - 16, box_.bottom() - 10 - length, 18, length + 4});
  }

  // Lines of equal time: bytes are equal up to the ridge, FLOPs from there on.
  void draw_roofs() {
    const std::string clip = svg_.clip(box_);
    for (const double share : {1.0, 0.1, 0.01, 0.001, 0.0001}) {
      const double cost = share * plot_.total_cost;
      const double top = y_.at(cost * plot_.roof.ridge), ridge = x_.at(plot_.roof.ridge);
      const std::array<Point, 3> line{Point{box_.x, y_.at(cost * x_.low)}, Point{ridge, top},
                                      Point{box_.right(), top}};
      svg_.begin_group({.clip = clip});
      svg_.polyline(line, {.stroke = kAxis, .stroke_width = 0.8, .dash = "5 3"});
      svg_.end_group();
      placer_.avoid({ridge, top - 1, box_.right() - ridge, 2});
      if (top >= box_.y && top <= box_.bottom()) draw_roof_label(share, cost, top);
    }
    // Below them: above is what is bound by what.
    svg_.text({box_.right() + 6, box_.bottom() + 12}, "time", {.font = kSmallFont, .color = kQuietInk});
  }

  void draw_roof_label(double share, double cost, double y) {
    const TextStyle style{.font = kSmallFont, .color = kQuietInk, .baseline = Baseline::kMiddle};
    const auto seconds = plot_.roof.seconds(cost);
    svg_.text({box_.right() + 6, y}, seconds ? format_seconds(*seconds) : tick_label(share, Unit::kShare),
              style);
  }

  void draw_dots() {
    for (const RooflinePoint& point : plot_.points) {
      if (!on_axes(point)) continue;
      const double radius = radius_of(point.time_share);
      svg_.circle(at(point), radius,
                  {.fill = color_of(point.category), .stroke = kPaper, .stroke_width = 0.7, .opacity = 0.88},
                  tooltip(point));
      const Point center = at(point);
      placer_.avoid({center.x - radius, center.y - radius, 2 * radius, 2 * radius});
    }
  }

  static std::string tooltip(const RooflinePoint& point) {
    std::string text = point.name + " (" + std::string(point.type) + ")";
    if (point.count > 1) text += " \xc3\x97" + std::to_string(point.count);
    return text + "\n" + format_count(point.flops) + " FLOPs, " + format_bytes(point.memory_bytes) +
           (point.count > 1 ? " each" : "") + "\n" + format_ratio(point.intensity) + " FLOPs per byte, " +
           format_percent(point.time_share, 1.0) + " of time";
  }

  // Inside the dot where there is room that no later dot lies on, else beside it.
  void draw_numbers() {
    for (std::size_t i = 0; i < named_.size(); ++i) {
      const RooflinePoint& point = *named_[i];
      const std::string text = std::to_string(i + 1);
      const double width = text_width(text, kHeadFont) + 2, radius = radius_of(point.time_share);
      TextStyle style{
          .font = {.size = 9.5, .bold = true}, .anchor = Anchor::kMiddle, .baseline = Baseline::kMiddle};
      if (const auto inside = place_inside(point, width)) {
        style.color = ink_on(color_of(point.category));
        svg_.text(inside->center(), text, style);
      } else if (const auto place = placer_.place(at(point), radius, width, kNumberHeight)) {
        if (place->is_far()) svg_.line(place->edge, place->near, {.stroke = kAxis, .stroke_width = 0.8});
        svg_.text(place->box.center(), text, style);
      }
    }
  }

  std::optional<Box> place_inside(const RooflinePoint& point, double width) {
    const Point center = at(point);
    const double radius = radius_of(point.time_share), room = radius - 0.75 * width;
    if (room < 0) return std::nullopt;
    constexpr std::array<Point, 5> kSteps{{{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
    for (const Point& step : kSteps) {
      const Point middle{center.x + step.x * room, center.y + step.y * room};
      const Box box{middle.x - width / 2, middle.y - kNumberHeight / 2, width, kNumberHeight};
      if (is_free(point, box) && placer_.take(box)) return box;
    }
    return std::nullopt;
  }

  bool is_free(const RooflinePoint& point, const Box& box) const {
    return std::ranges::none_of(plot_.points, [&](const RooflinePoint& other) {
      if (&other <= &point || !on_axes(other)) return false;  // drawn before it
      const Point center = at(other);
      const double radius = radius_of(other.time_share);
      return box.overlaps({center.x - radius, center.y - radius, 2 * radius, 2 * radius});
    });
  }

  void draw_legends() {
    const double x = box_.right() + kRoofRoom + 16;
    double y = draw_legend(svg_, {x, box_.y}, "Costliest op", groups_of_points(plot_)) + 10;
    y = draw_areas({x, y}) + 14;
    svg_.text({x, y + 9}, "Most time", {.font = kHeadFont});
    for (std::size_t i = 0; i < named_.size(); ++i)
      draw_key(*named_[i], std::to_string(i + 1), {x, y + kKeyLine * static_cast<double>(i) + 14});
  }

  double draw_areas(Point corner) {
    svg_.text({corner.x, corner.y + 9}, "Area: share of time", {.font = kHeadFont});
    double x = corner.x;
    const double y = corner.y + 18 + radius_of(0.1);
    for (const double share : {0.1, 0.03, 0.01}) {
      const double radius = radius_of(share);
      const std::string text = tick_label(share, Unit::kShare);
      svg_.circle({x + radius, y}, radius, {.fill = kGrid, .stroke = kAxis, .stroke_width = 0.8});
      svg_.text({x + 2 * radius + 5, y}, text, {.font = kNoteFont, .baseline = Baseline::kMiddle});
      x += 2 * radius + 5 + text_width(text, kNoteFont) + 16;
    }
    return y + radius_of(0.1);
  }

  void draw_key(const RooflinePoint& point, const std::string& number, Point corner) {
    const double y = corner.y + kKeyLine / 2, right = svg_.width() - kMargin;
    const std::string share = format_percent(point.time_share, 1.0);
    std::string count = point.count > 1 ? " \xc3\x97" + std::to_string(point.count) : "";
    std::string label = point.name;
    if (label.ends_with('*')) label.append(" ").append(point.type);  // what they have in common
    const double room = right - corner.x - 20 - 46 - text_width(count, kSmallFont);
    svg_.text({corner.x + 14, y}, number,
              {.font = {.size = 9.5, .bold = true}, .anchor = Anchor::kEnd, .baseline = Baseline::kMiddle});
    svg_.text({corner.x + 20, y}, fitted_middle(label, room, kSmallFont) + count,
              {.font = kSmallFont, .baseline = Baseline::kMiddle});
    svg_.text(
        {right, y}, share,
        {.font = kSmallFont, .color = kQuietInk, .anchor = Anchor::kEnd, .baseline = Baseline::kMiddle});
  }

  void draw_notes() {
    std::string text =
        "Time: everything one after the other at the roof of a device with this ridge. Dashed: where each "
        "takes "
        "that share of it. \xc3\x97n: n equal ones in one dot.";
    if (const RooflineSide& side = plot_.without_flops; side.nodes)
      text += " Not on the axes: " + nodes_text(plot_, side.nodes) + " without FLOPs, " +
              format_bytes(side.memory_bytes) + " moved, " + format_percent(side.time_share, 1.0) +
              " of time.";
    draw_paragraph(svg_, {box_.x, box_.bottom() + 48}, svg_.width() - kMargin - box_.x, text,
                   {.font = kSmallFont, .color = kQuietInk});
  }

  const RooflinePlot& plot_;
  std::vector<const RooflinePoint*> named_;
  Svg svg_;
  Box box_;
  LabelPlacer placer_;
  Axis x_, y_;
};

}  // namespace

std::string roofline_svg(const Profile& profile, const RooflinePlot& plot, std::size_t labels,
                         const PlotSize& size) {
  return RooflineDrawing(profile, plot, labels, size).draw();
}

}  // namespace opscope
