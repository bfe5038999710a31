// Title blocks, legends and labels of plots.
#include "report/plot/frame.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <ranges>

#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr Font kLegendFont{.size = 10.5};
constexpr double kSwatch = 10, kLegendLine = 18;

// A swatch and its name, `gap` apart; gives their width.
double draw_entry(Svg& svg, Point at, const ColorGroup& group, double gap) {
  svg.rect({at.x, at.y, kSwatch, kSwatch}, {.fill = group.color}, 2);
  svg.text({at.x + kSwatch + gap, at.y + kSwatch / 2}, group.name, {.font = kLegendFont, .centred = true});
  return kSwatch + gap + text_width(group.name, kLegendFont);
}

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.right(), b.right()) - std::max(a.x, b.x);
  const double height = std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y);
  return width > 0 && height > 0 ? width * height : 0;
}

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kDirections = 16;  // from a dot, the first to its right

// The label whose near side or corner is `gap` away from the dot.
LabelPlacer::Place beside(Point center, double radius, double gap, int direction, double width,
                          double height) {
  const double angle = 2 * std::numbers::pi * direction / kDirections;
  const Point along{std::cos(angle), std::sin(angle)};
  const Point near = center + along * (radius + gap);
  const double x = along.x > 0.1 ? near.x : along.x < -0.1 ? near.x - width : near.x - width / 2;
  const double y = along.y > 0.1 ? near.y : along.y < -0.1 ? near.y - height : near.y - height / 2;
  return {{x, y, width, height}, near, center + along * radius};
}

// Small boxes along a line, its ends left out.
std::vector<Box> steps(Point from, Point to) {
  const int count = static_cast<int>(distance(from, to) / 4);
  std::vector<Box> boxes;
  for (int i = 1; i < count; ++i)
    boxes.push_back(Box::around(from + (to - from) * (static_cast<double>(i) / count), 2, 2));
  return boxes;
}

}  // namespace

void draw_title(Svg& svg, std::string_view title, std::string_view subtitle) {
  const Font strong{.size = 16, .bold = true}, quiet{.size = 11};
  const double room = svg.width() - 2 * kMargin;
  svg.text({kMargin, 27}, fitted(title, room, strong), {.font = strong});
  svg.text({kMargin, 45}, fitted(subtitle, room, quiet), {.font = quiet, .color = kQuietInk});
}

std::string model_line(const Profile& profile) {
  const std::vector<Cell> cells = model_cells(*profile.graph);  // the model's name first
  return join(cells | std::views::drop(1) | std::views::transform(text_of), " \u00b7 ");
}

std::string value_text(const Metric& metric, Count value) {
  return text(metric, amount_in(metric.unit, value));
}

std::string amount_text(const Metric& metric, Count value) {
  if (metric.unit == Unit::kSeconds) return value_text(metric, value);
  return value_text(metric, value) + " " +
         (metric.key == "memory_bytes" ? "moved" : std::string(metric.words));
}

std::vector<TypeBar> bars_of(const TypesPlot& plot) {
  std::vector<TypeBar> bars;
  for (const TypeRow& row : plot.rows) bars.push_back({row.type, &row, row.metrics});
  if (plot.others) bars.push_back({plural(plot.others, "other type"), nullptr, plot.rest});
  return bars;
}

RooflineAxes roofline_axes(const RooflinePlot& plot, const Box& box, double above) {
  double low_x = plot.roof.ridge, high_x = plot.roof.ridge, low_y = 1e300, high_y = 0;
  for (const RooflinePoint& point : plot.points) {
    if (point.intensity == 0) continue;
    const auto flops = static_cast<double>(point.flops);
    low_x = std::min(low_x, point.intensity), high_x = std::max(high_x, point.intensity);
    low_y = std::min(low_y, flops), high_y = std::max(high_y, flops);
  }
  if (high_y == 0) low_y = high_y = 1;
  return {log_axis(low_x, high_x, box.x, box.right(), Unit::kPlain),
          log_axis(low_y, above * high_y, box.bottom(), box.y, Unit::kCount)};
}

std::vector<ColorGroup> groups_of(std::span<const Category> categories) {
  std::vector<ColorGroup> groups;
  for (const ColorGroup& group : color_groups())
    if (std::ranges::any_of(categories, [&](Category c) { return color_of(c) == group.color; }))
      groups.push_back(group);
  return groups;
}

double draw_legend(Svg& svg, Point at, std::string_view title, std::span<const ColorGroup> groups) {
  svg.text({at.x, at.y + 9}, title, {.font = {.size = 10.5, .bold = true}});
  for (const ColorGroup& group : groups) draw_entry(svg, {at.x, at.y += kLegendLine}, group, 6);
  return at.y + kLegendLine;
}

void draw_legend_row(Svg& svg, Point at, std::span<const ColorGroup> groups) {
  for (const ColorGroup& group : groups) at.x += draw_entry(svg, at, group, 5) + 18;
}

double draw_paragraph(Svg& svg, Point at, double width, std::string_view text, const TextStyle& style) {
  for (const std::string& line : wrapped(text, width, style.font)) {
    svg.text({at.x, at.y + style.font.size}, line, style);
    at.y += style.font.size * 1.4;
  }
  return at.y;
}

bool LabelPlacer::Place::is_far() const { return distance(near, edge) > 5; }

bool LabelPlacer::is_blocked(const Box& box) const {
  return std::ranges::any_of(blocked_, [&](const Box& b) { return b.overlaps(box); });
}

double LabelPlacer::covered(const Box& box) const {
  double area = 0;
  for (const Box& other : avoided_) area += overlap(other, box);
  return area;
}

double LabelPlacer::badness(const Place& place) const {
  if (!bounds_.contains(place.box) || is_blocked(place.box)) return kNever;
  double bad = 4 * covered(place.box) + distance(place.near, place.edge);
  if (!place.is_far()) return bad;
  for (const Box& step : steps(place.edge, place.near)) {
    if (is_blocked(step)) return kNever;
    bad += 4 * covered(step);
  }
  return bad;
}

bool LabelPlacer::take(const Box& box) {
  if (!bounds_.contains(box) || is_blocked(box)) return false;
  blocked_.push_back(box);
  return true;
}

std::optional<LabelPlacer::Place> LabelPlacer::place(Point center, double radius, double width,
                                                     double height) {
  std::optional<Place> best;
  double least = kNever;
  for (const double gap : {3.0, 12.0, 24.0, 38.0, 54.0, 72.0, 92.0, 116.0, 142.0})
    for (int direction = 0; direction < kDirections; ++direction) {
      const Place place = beside(center, radius, gap, direction, width, height);
      if (const double bad = badness(place); bad < least) least = bad, best = place;
    }
  if (!best) return best;
  blocked_.push_back(best->box);
  if (best->is_far()) std::ranges::copy(steps(best->edge, best->near), std::back_inserter(blocked_));
  return best;
}

}  // namespace opscope
