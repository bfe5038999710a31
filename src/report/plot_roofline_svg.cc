// The roofline: intensity across, FLOPs up, so that lines of equal time at the roof have a roof's shape.
// Without a device their height is a share of the whole's time; with one it is seconds as well.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/document.h"
#include "report/plot.h"
#include "report/plot_frame.h"
#include "report/svg_axis.h"

namespace opscope {
namespace {

constexpr Font kLabelFont{.size = 9.5}, kNoteFont{.size = 10};
constexpr double kLegendWidth = 168;
constexpr double kLargestDot = 44;  // radius of a dot that takes all of the time
constexpr double kSmallestDot = 2.2;

double radius_of(double share) { return std::max(kSmallestDot, kLargestDot * std::sqrt(share)); }

std::string nodes_text(const RooflinePlot& plot, std::uint64_t count) {
  return plural(count, name(plot.level));
}

class RooflineDrawing {
 public:
  RooflineDrawing(const Profile& profile, const RooflinePlot& plot, const PlotSize& size)
      : plot_(plot),
        svg_(size.width, size.height, model_name(*profile.graph) + ": roofline"),
        box_{76, 98, size.width - 76 - kLegendWidth - kMargin, size.height - 98 - 78},
        placer_(box_.inset(2)) {
    make_axes();
    draw_title(svg_, model_name(*profile.graph) + ": roofline by " + std::string(name(plot.level)),
               model_line(profile));
  }

  std::string draw(std::size_t labels) {
    draw_sides();
    draw_x_axis(svg_, x_, box_, "arithmetic intensity (FLOPs per byte)");
    draw_y_axis(svg_, y_, box_, "FLOPs of each " + std::string(name(plot_.level)));
    draw_roofs();
    draw_ridge();
    draw_dots();
    draw_labels(labels);
    draw_side_notes();
    return svg_.document();
  }

 private:
  bool on_axes(const RooflinePoint& point) const { return point.flops && point.memory_bytes; }
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
    y_ = log_axis(low_y, high_y, box_.bottom(), box_.y, Unit::kCount);
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
    svg_.text({x, 90}, fitted(shares, box_.width / 2 - 6, kNoteFont), {.font = kNoteFont, .anchor = anchor});
  }

  void draw_ridge() {
    const double x = x_.at(plot_.roof.ridge);
    svg_.line({x, box_.y}, {x, box_.bottom()}, {.stroke = kInk, .stroke_width = 1.2});
    const TextStyle style{.font = kNoteFont, .rotation = -90};
    const std::string text = "ridge: " + svg_number(plot_.roof.ridge) + " FLOPs per byte";
    svg_.text({x - 5, box_.bottom() - 8}, text, style);
    const double length = text_width(text, kNoteFont);
    placer_.block({x - 16, box_.bottom() - 10 - length, 18, length + 4});
  }

  // Lines of equal time: bytes are equal up to the ridge, FLOPs from there on.
  void draw_roofs() {
    const std::string clip = svg_.clip(box_);
    for (const double share : {1.0, 0.1, 0.01, 0.001, 0.0001, 0.00001}) {
      const double cost = share * plot_.total_cost;
      const double top = y_.at(cost * plot_.roof.ridge), ridge = x_.at(plot_.roof.ridge);
      const std::array<Point, 3> line{Point{box_.x, y_.at(cost * x_.low)}, Point{ridge, top},
                                      Point{box_.right(), top}};
      svg_.begin_group({.clip = clip});
      svg_.polyline(line, {.stroke = kAxis, .stroke_width = 0.8, .dash = "5 3"});
      svg_.end_group();
      if (top < box_.y + 14 || top > box_.bottom() - 2) continue;
      std::string text = format_percent(share, 1.0) + " of time";
      if (const auto seconds = plot_.roof.seconds(cost)) text += ", " + format_seconds(*seconds);
      const TextStyle style{
          .font = {.size = 9}, .color = kQuietInk, .anchor = Anchor::kEnd, .halo = tinted_paper_};
      svg_.text({box_.right() - 5, top - 4}, text, style);
      placer_.block(text_box({box_.right() - 5, top - 4}, text, style));
    }
  }

  void draw_dots() {
    for (const RooflinePoint& point : plot_.points) {
      if (!on_axes(point)) continue;
      const double radius = radius_of(point.time_share);
      svg_.circle(at(point), radius,
                  {.fill = color_of(point.category), .stroke = kPaper, .stroke_width = 0.7, .opacity = 0.88},
                  tooltip(point));
      placer_.add_dot(at(point), radius);
    }
  }

  static std::string tooltip(const RooflinePoint& point) {
    std::string text = point.name + " (" + std::string(point.type) + ")";
    if (point.count > 1) text += " \xc3\x97" + std::to_string(point.count);
    return text + "\n" + format_count(point.flops) + " FLOPs, " + format_bytes(point.memory_bytes) +
           (point.count > 1 ? " each" : "") + "\n" + format_ratio(point.intensity) + " FLOPs per byte, " +
           format_percent(point.time_share, 1.0) + " of time";
  }

  void draw_labels(std::size_t labels) {
    for (std::size_t i = 0, named = 0; i < plot_.points.size() && named < labels; ++i) {
      const RooflinePoint& point = plot_.points[i];
      if (!on_axes(point)) continue;
      ++named;
      std::string text = fitted_middle(point.name, 170, kLabelFont);
      if (point.count > 1) text += " \xc3\x97" + std::to_string(point.count);
      text += ", " + format_percent(point.time_share, 1.0);
      draw_label(at(point), radius_of(point.time_share), text);
    }
  }

  void draw_label(Point center, double radius, const std::string& text) {
    const double width = text_width(text, kLabelFont) + 4, height = 13;
    const auto place = placer_.place(center, radius, width, height);
    if (!place) return;
    const Box& box = place->box;
    if (place->far) {
      const Point near{std::clamp(center.x, box.x, box.right()), std::clamp(center.y, box.y, box.bottom())};
      const double dx = near.x - center.x, dy = near.y - center.y, length = std::hypot(dx, dy);
      const Point edge{center.x + dx / length * radius, center.y + dy / length * radius};
      svg_.line(edge, near, {.stroke = kAxis, .stroke_width = 0.8});
    }
    svg_.text({box.x + 2, box.center().y}, text,
              {.font = kLabelFont, .baseline = Baseline::kMiddle, .halo = tinted_paper_});
  }

  void draw_side_notes() {
    std::vector<Category> categories;
    for (const RooflinePoint& point : plot_.points)
      if (on_axes(point)) categories.push_back(point.category);
    const double x = box_.right() + 20, width = kLegendWidth - 20;
    double y = draw_legend(svg_, {x, box_.y}, "Dominant work", groups_of(categories)) + 10;
    svg_.text({x, y + 9}, "Area: share of time", {.font = {.size = 10.5, .bold = true}});
    y += 22;
    for (const double share : {0.1, 0.01}) {
      const double radius = radius_of(share);
      svg_.circle({x + radius_of(0.1), y + radius}, radius,
                  {.fill = kGrid, .stroke = kAxis, .stroke_width = 0.8});
      svg_.text({x + 2 * radius_of(0.1) + 8, y + radius}, format_percent(share, 1.0),
                {.font = {.size = 10.5}, .baseline = Baseline::kMiddle});
      y += 2 * radius + 8;
    }
    const TextStyle quiet{.font = {.size = 9.5}, .color = kQuietInk};
    draw_paragraph(
        svg_, {x, y + 6}, width,
        "Dashed: equal time at the roof of a device with this ridge, everything one after the other.", quiet);
    if (plot_.without_flops.nodes) svg_.text({box_.x, svg_.height() - 14}, without_flops_text(), quiet);
  }

  std::string without_flops_text() const {
    const RooflineSide& side = plot_.without_flops;
    return "Not on the axes: " + nodes_text(plot_, side.nodes) + " without FLOPs, " +
           format_bytes(side.memory_bytes) + " moved, " + format_percent(side.time_share, 1.0) + " of time.";
  }

  const RooflinePlot& plot_;
  Svg svg_;
  Box box_;
  LabelPlacer placer_;
  Axis x_, y_;
  std::string_view tinted_paper_ = "#fbfaf9";  // behind labels: as good as both sides' tints
};

}  // namespace

std::string roofline_svg(const Profile& profile, const RooflinePlot& plot, std::size_t labels,
                         const PlotSize& size) {
  return RooflineDrawing(profile, plot, size).draw(labels);
}

}  // namespace opscope
