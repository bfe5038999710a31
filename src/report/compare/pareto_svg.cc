// Many models in one picture: two quantities on logarithmic axes, memory as the dots' area, and the front:
// those of which no other has less of both.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "report/compare/report.h"
#include "report/plot/frame.h"
#include "report/svg/axis.h"

namespace opscope {
namespace {

constexpr Font kNameFont{.size = 10.5}, kStrongFont{.size = 10.5, .bold = true}, kNoteFont{.size = 9.5};
constexpr std::string_view kFrontColor = kComputeBoundColor, kOtherColor = kAxis;
constexpr double kWidth = 900, kHeight = 620;
constexpr Box kPlot{84, 66, 646, 462};
constexpr double kLargestDot = 26, kSmallestDot = 3;
constexpr double kNameHeight = 12;

struct ParetoDrawing {
  const ModelComparison& comparison;
  const std::vector<ParetoPoint>& points;
  const ParetoOptions& options;
  Svg svg{kWidth, kHeight, picture_title()};
  LabelPlacer placer{kPlot.inset(2)};
  Axis x_axis{}, y_axis{};
  double largest = 0;  // bytes of a model
  std::size_t unnamed = 0;

  std::string draw() {
    for (const ParetoPoint& point : points) largest = std::max(largest, bytes(point));
    make_axes();
    draw_title(svg, picture_title(), subtitle());
    svg.rect(kPlot, {.fill = kPaper, .stroke = kGrid});
    const std::vector<Point> front = front_line();
    shade(front);
    draw_x_axis(svg, x_axis, kPlot, heading(*options.x));
    draw_y_axis(svg, y_axis, kPlot, heading(*options.y));
    draw_front(front);
    draw_dots();
    draw_names();
    draw_legend();
    draw_notes();
    return svg.document();
  }

  std::string picture_title() const {
    return heading(*options.y) + " against " + std::string(options.x->words) + " of " +
           plural(comparison.models.size(), "model");
  }
  std::string subtitle() const {
    const Figures& first = comparison.models.front().figures;
    const bool same = std::ranges::all_of(
        comparison.models, [&](const ComparedModel& m) { return m.figures.inputs == first.inputs; });
    return same ? first.inputs : "not all on the same inputs";
  }

  double bytes(const ParetoPoint& point) const {
    return static_cast<double>(comparison.models[point.model].figures.totals.memory_bytes());
  }
  double radius(double bytes) const {
    return largest > 0 ? std::max(kSmallestDot, kLargestDot * std::sqrt(bytes / largest)) : kSmallestDot;
  }
  Point at(const ParetoPoint& point) const { return {x_axis.at(point.x), y_axis.at(point.y)}; }

  // Room for whole dots, and for names beside them.
  void make_axes() {
    constexpr double kRoom = 1.35;
    const auto x = std::ranges::minmax(points, {}, &ParetoPoint::x);
    const auto y = std::ranges::minmax(points, {}, &ParetoPoint::y);
    x_axis = log_axis(x.min.x / kRoom, x.max.x * kRoom, kPlot.x, kPlot.right(), options.x->unit);
    y_axis = log_axis(y.min.y / kRoom, y.max.y * kRoom, kPlot.bottom(), kPlot.y, options.y->unit);
  }

  // A staircase: what is above and to the right of it costs more of both than a model on it.
  std::vector<Point> front_line() const {
    std::vector<Point> line;
    for (const ParetoPoint& point : points) {
      if (!point.is_front) continue;
      const Point here = at(point);
      if (line.empty()) line.push_back({here.x, kPlot.y});
      if (line.size() > 1) line.push_back({here.x, line.back().y});
      line.push_back(here);
    }
    line.push_back({kPlot.right(), line.back().y});
    return line;
  }
  void shade(std::vector<Point> area) {
    area.push_back({kPlot.right(), kPlot.y});
    svg.polygon(area, {.fill = tinted(kFrontColor, 0.94)});
  }
  void draw_front(const std::vector<Point>& line) {
    svg.polyline(line, {.stroke = kFrontColor, .stroke_width = 1.4, .dash = "6 3"});
    for (std::size_t i = 1; i < line.size(); ++i) {
      const Point from = line[i - 1], to = line[i];
      placer.avoid({std::min(from.x, to.x) - 1, std::min(from.y, to.y) - 1, std::abs(to.x - from.x) + 2,
                    std::abs(to.y - from.y) + 2});
    }
  }

  // Large ones first, so that none is hidden.
  void draw_dots() {
    std::vector<ParetoPoint> order = points;
    std::ranges::stable_sort(order, std::greater(), [&](const ParetoPoint& p) { return bytes(p); });
    for (const ParetoPoint& point : order) {
      const double r = radius(bytes(point));
      const Point center = at(point);
      const std::string_view fill = point.is_front ? kFrontColor : kOtherColor;
      svg.circle(center, r, {.fill = fill, .stroke = kPaper, .stroke_width = 0.9, .opacity = 0.75},
                 tooltip(point));
      placer.avoid({center.x - r, center.y - r, 2 * r, 2 * r});
    }
  }
  std::string tooltip(const ParetoPoint& point) const {
    const ComparedModel& model = comparison.models[point.model];
    const auto text = [&](const Metric& metric) {
      const auto amount = amount_in(model.figures, metric);
      return std::string(metric.words) + " " + (amount ? opscope::text(metric, *amount) : "?");
    };
    return model.label + "\n" + text(*options.x) + ", " + text(*options.y) + "\n" +
           text(metric_at("memory_bytes"));
  }

  // The front first: a name that finds no place is in the tooltip alone, and said below.
  void draw_names() {
    std::vector<ParetoPoint> order = points;
    std::ranges::stable_partition(order, &ParetoPoint::is_front);
    for (const ParetoPoint& point : order) {
      const std::string& label = comparison.models[point.model].label;
      const Font& font = point.is_front ? kStrongFont : kNameFont;
      const std::string text = fitted_middle(label, 150, font);
      const auto place =
          placer.place(at(point), radius(bytes(point)), text_width(text, font) + 2, kNameHeight);
      if (!place) {
        ++unnamed;
        continue;
      }
      if (place->is_far()) svg.line(place->edge, place->near, {.stroke = kAxis, .stroke_width = 0.8});
      svg.text(place->box.center(), text,
               {.font = font, .anchor = Anchor::kMiddle, .centred = true, .halo = kPaper});
    }
  }

  void draw_legend() {
    const double left = kPlot.right() + 22;
    double y = kPlot.y + 4;
    const auto key = [&](std::string_view fill, std::string_view text) {
      svg.circle({left + 6, y + 6}, 6, {.fill = fill, .opacity = 0.75});
      svg.text({left + 20, y + 6}, text, {.font = kNameFont, .centred = true});
      y += 20;
    };
    key(kFrontColor, "Pareto front");
    if (std::ranges::any_of(points, [](const ParetoPoint& p) { return !p.is_front; }))
      key(kOtherColor, "beaten in both");
    y += 14;
    svg.text({left, y + 9}, "Area: bytes moved", {.font = kStrongFont});
    y += 22;
    for (const double share : {1.0, 0.25, 0.05}) {
      const double r = radius(share * largest);
      svg.circle({left + kLargestDot, y + r}, r, {.fill = kGrid, .stroke = kAxis, .stroke_width = 0.8});
      svg.text({left + 2 * kLargestDot + 8, y + r}, format_bytes(static_cast<std::uint64_t>(share * largest)),
               {.font = kNoteFont, .centred = true});
      y += 2 * r + 8;
    }
  }

  void draw_notes() {
    std::string text =
        "Not on the Pareto front: another model here is no worse in both metrics and better in one. Accuracy "
        "is not in this picture.";
    if (unnamed > 0) text += " " + plural(unnamed, "model") + " without room for a name.";
    const std::size_t left_out = comparison.models.size() - points.size();
    if (left_out > 0)
      text += " " + plural(left_out, "model") +
              " left out: one of the two is not known of it, or none of it there.";
    draw_paragraph(svg, {kPlot.x, kPlot.bottom() + 50}, svg.width() - kMargin - kPlot.x, text,
                   {.font = kNoteFont, .color = kQuietInk});
  }
};

}  // namespace

std::string pareto_svg(const ModelComparison& comparison, const ParetoOptions& options) {
  if (options.x == options.y)
    throw Error("both axes show " + std::string(options.x->key), "--x", "choose another for one of them");
  std::vector<ParetoPoint> points = pareto_points(comparison, *options.x, *options.y);
  std::erase_if(points,
                [](const ParetoPoint& p) { return !(p.x > 0 && p.y > 0); });  // the axes are logarithmic
  if (points.size() < 2)
    throw Error("fewer than two of these models have " + std::string(options.x->key) + " and " +
                    std::string(options.y->key),
                "--x", "--hardware NAME gives all a predicted_seconds; time_seconds is of measured captures");
  return ParetoDrawing{comparison, points, options}.draw();
}

}  // namespace opscope
