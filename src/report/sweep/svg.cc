// A sweep as a picture: the first metric over one axis, a line for each value of the others, logarithmic
// where the values spread, with the ridge or the memory limit across.
#include <algorithm>

#include "base/text.h"
#include "report/plot/frame.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

constexpr double kWidth = 960, kHeight = 520;
constexpr Box kPlot{96, 78, 664, 372};
constexpr std::size_t kMostLines = 16;
constexpr Font kText{.size = 11}, kSmall{.size = 10};

struct Line {
  std::string name;
  std::vector<Point> points;  // in the values' own units
};

class Picture {
 public:
  explicit Picture(const SweepReport& report)
      : report_(report),
        result_(*report.result),
        metric_(*report.metrics.front()),
        svg_(kWidth, kHeight, result_.model + ": " + std::string(metric_.title)),
        axis_(main_axis()) {
    collect();
    scale();
  }

  std::string draw() {
    draw_title(svg_, result_.model + ": " + std::string(metric_.words) + " over " + result_.axes[axis_].name,
               subtitle());
    draw_x_axis(svg_, x_, kPlot, result_.axes[axis_].name);
    draw_y_axis(svg_, y_, kPlot, std::string(metric_.words));
    threshold();
    svg_.begin_group({.clip = svg_.clip(kPlot.inset(-6))});
    for (std::size_t i = 0; i < lines_.size(); ++i) draw_line(i);
    svg_.end_group();
    legend();
    return svg_.document();
  }

 private:
  // The numeric axis with the most values.
  std::size_t main_axis() const {
    const auto weight = [](const SweepAxis& axis) { return axis.size() * (axis.numeric ? 2 : 1); };
    const auto best = std::ranges::max_element(result_.axes, {}, weight);
    return static_cast<std::size_t>(best - result_.axes.begin());
  }

  std::string subtitle() const {
    std::string text = result_.source;
    if (!result_.inputs.empty()) text += (text.empty() ? "from " : " · from ") + result_.inputs;
    if (const auto& device = result_.options.profile.hardware) text += " · " + device->name;
    return text;
  }

  void collect() {
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      const SweepPoint& point = result_.points[i];
      const auto value = point.has_figures() ? amount_in(point.figures, metric_) : std::nullopt;
      const SweepPlace place = result_.place(i);
      std::string name;
      for (std::size_t a = 0; a < place.size(); ++a)
        if (a != axis_ && result_.axes[a].size() > 1)
          name += (name.empty() ? "" : ", ") + result_.axes[a].name + " " + result_.text_of(place, a);
      auto found = std::ranges::find(lines_, name, &Line::name);
      if (found == lines_.end()) found = lines_.insert(lines_.end(), {name, {}});
      if (value) found->points.push_back({static_cast<double>(place[axis_]), value->real});
    }
    std::erase_if(lines_, [](const Line& line) { return line.points.empty(); });
    left_out_ = lines_.size() > kMostLines ? lines_.size() - kMostLines : 0;
    if (left_out_ > 0) thin_out();
    for (Line& line : lines_) std::ranges::sort(line.points, {}, &Point::x);
  }

  // Spread over all, the first and the last among them.
  void thin_out() {
    std::vector<Line> kept;
    for (std::size_t i = 0; i < kMostLines; ++i)
      kept.push_back(std::move(lines_[i * (lines_.size() - 1) / (kMostLines - 1)]));
    lines_ = std::move(kept);
  }

  std::optional<double> limit() const {
    if (metric_.key == "peak_memory_bytes" && report_.memory) return static_cast<double>(*report_.memory);
    return metric_.key == "arithmetic_intensity" ? ridge_of(result_) : std::nullopt;
  }

  void scale() {
    double left = 1e300, right = -1e300, low = 1e300, high = -1e300;
    for (const Line& line : lines_)
      for (const Point& point : line.points) {
        left = std::min(left, point.x), right = std::max(right, point.x);
        low = std::min(low, point.y), high = std::max(high, point.y);
      }
    if (const auto across = limit()) low = std::min(low, *across), high = std::max(high, *across);
    if (lines_.empty()) left = 0, right = 1, low = 0, high = 1;
    const bool log_x = left > 0 && right / left >= 8;
    const bool log_y = metric_.unit != Unit::kShare && low > 0 && high / low >= 8;
    x_ = log_x ? log_axis(left, right, kPlot.x, kPlot.right(), Unit::kPlain)
               : Axis{.low = left == right ? left - 1 : left - (right - left) * 0.04,
                      .high = left == right ? right + 1 : right + (right - left) * 0.04,
                      .from = kPlot.x,
                      .to = kPlot.right(),
                      .unit = Unit::kPlain};
    const double top = high > 0 ? high : 1;
    y_ = log_y ? log_axis(low, high, kPlot.bottom(), kPlot.y, metric_.unit)
               : linear_axis(top, kPlot.bottom(), kPlot.y, metric_.unit);
  }

  void threshold() {
    const auto across = limit();
    if (!across) return;
    const double y = y_.at(*across);
    svg_.line({kPlot.x, y}, {kPlot.right(), y},
              {.stroke = kMemoryBoundColor, .stroke_width = 1.5, .dash = "6 4"});
    const bool is_memory = report_.memory && metric_.key == "peak_memory_bytes";
    const std::string text = is_memory ? report_.memory_text : "ridge " + format_ratio(*across);
    svg_.text({kPlot.x + 6, y - 5}, text, {.font = kSmall, .color = kMemoryBoundColor, .halo = kPaper});
  }

  std::string color(std::size_t line) const {
    if (lines_.size() == 1) return std::string(kComputeBoundColor);
    return sequential_color(0.3 + 0.7 * static_cast<double>(line) / static_cast<double>(lines_.size() - 1));
  }

  void draw_line(std::size_t index) {
    const Line& line = lines_[index];
    const std::string ink = color(index);
    std::vector<Point> points;
    for (const Point& point : line.points) points.push_back({x_.at(point.x), y_.at(point.y)});
    svg_.polyline(points, {.stroke = ink, .stroke_width = 1.8});
    if (points.size() > 64) return;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::string title = (line.name.empty() ? "" : line.name + ", ") + result_.axes[axis_].name + " " +
                                svg_number(line.points[i].x) + ": " +
                                tick_label(line.points[i].y, metric_.unit);
      svg_.circle(points[i], 3, {.fill = ink, .stroke = kPaper, .stroke_width = 1}, title);
    }
  }

  void legend() {
    if (lines_.size() < 2) return;
    const double x = kPlot.right() + 24;
    double y = kPlot.y + 6;
    for (std::size_t i = lines_.size(); i-- > 0;) {
      svg_.line({x, y}, {x + 18, y}, {.stroke = color(i), .stroke_width = 2.5});
      svg_.text({x + 25, y}, fitted(lines_[i].name, kWidth - x - 25 - kMargin, kText),
                {.font = kText, .centred = true});
      y += 19;
    }
    if (left_out_ > 0)
      svg_.text({x, y + 4}, "and " + plural(left_out_, "line") + " between",
                {.font = kSmall, .color = kQuietInk});
  }

  const SweepReport& report_;
  const SweepResult& result_;
  const Metric& metric_;
  Svg svg_;
  std::size_t axis_;
  std::vector<Line> lines_;
  std::size_t left_out_ = 0;
  Axis x_, y_;
};

}  // namespace

std::string sweep_svg(const SweepReport& report) { return Picture(report).draw(); }

}  // namespace opscope
