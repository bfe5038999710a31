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

struct Picture {
  const SweepReport& report;
  const SweepResult& result = *report.result;
  const Metric& metric = *report.metrics.front();
  Svg svg{kWidth, kHeight, result.model + ": " + std::string(metric.title)};
  std::size_t axis = main_axis();
  std::vector<Line> lines{};
  std::size_t left_out = 0;
  Axis x_axis{}, y_axis{};

  std::string draw() {
    collect();
    scale();
    draw_title(svg, result.model + ": " + std::string(metric.words) + " over " + result.axes[axis].name,
               subtitle());
    draw_x_axis(svg, x_axis, kPlot, result.axes[axis].name);
    draw_y_axis(svg, y_axis, kPlot, std::string(metric.words));
    threshold();
    svg.begin_group({.clip = svg.clip(kPlot.inset(-6))});
    for (std::size_t i = 0; i < lines.size(); ++i) draw_line(i);
    svg.end_group();
    legend();
    return svg.document();
  }

  // The numeric axis with the most values.
  std::size_t main_axis() const {
    const auto weight = [](const SweepAxis& of) { return of.size() * (of.numeric ? 2 : 1); };
    const auto best = std::ranges::max_element(result.axes, {}, weight);
    return static_cast<std::size_t>(best - result.axes.begin());
  }

  std::string subtitle() const {
    std::string text = result.source;
    if (!result.inputs.empty()) text += (text.empty() ? "from " : " · from ") + result.inputs;
    for (std::size_t i = 0; i < result.devices(); ++i)
      text += (i == 0 ? " · " : " and ") + result.device(i).name;
    return text;
  }

  void collect() {
    const bool several = metric.key == "predicted_seconds" && result.devices() > 1;
    for (std::size_t device = 0; device < (several ? result.devices() : 1); ++device)
      collect(device, several);
    std::erase_if(lines, [](const Line& line) { return line.points.empty(); });
    left_out = lines.size() > kMostLines ? lines.size() - kMostLines : 0;
    if (left_out > 0) thin_out();
    for (Line& line : lines) std::ranges::sort(line.points, {}, &Point::x);
  }

  // A line for each value of the other axes; with several devices, for each of them.
  void collect(std::size_t device, bool several) {
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      const SweepPoint& point = result.points[i];
      auto value = point.has_figures() ? amount_in(point.figures, metric) : std::nullopt;
      if (several && device < point.figures.times.size())
        value = timed(point.figures.times[device].metrics.predicted_time);
      const SweepPlace place = result.place(i);
      std::string name = several ? result.device(device).id : "";
      for (std::size_t a = 0; a < place.size(); ++a)
        if (a != axis && result.axes[a].size() > 1)
          name += (name.empty() ? "" : ", ") + result.axes[a].name + " " + result.text_of(place, a);
      auto found = std::ranges::find(lines, name, &Line::name);
      if (found == lines.end()) found = lines.insert(lines.end(), {name, {}});
      if (value) found->points.push_back({static_cast<double>(place[axis]), value->real});
    }
  }

  // Spread over all, the first and the last among them.
  void thin_out() {
    std::vector<Line> kept;
    for (std::size_t i = 0; i < kMostLines; ++i)
      kept.push_back(std::move(lines[i * (lines.size() - 1) / (kMostLines - 1)]));
    lines = std::move(kept);
  }

  std::optional<double> limit() const {
    if (metric.key == "peak_memory_bytes" && report.memory) return static_cast<double>(*report.memory);
    return metric.key == "arithmetic_intensity" ? ridge_of(result) : std::nullopt;
  }

  void scale() {
    double left = 1e300, right = -1e300, low = 1e300, high = -1e300;
    for (const Line& line : lines)
      for (const Point& point : line.points) {
        left = std::min(left, point.x), right = std::max(right, point.x);
        low = std::min(low, point.y), high = std::max(high, point.y);
      }
    if (const auto across = limit()) low = std::min(low, *across), high = std::max(high, *across);
    if (lines.empty()) left = 0, right = 1, low = 0, high = 1;
    const bool log_x = left > 0 && right / left >= 8;
    const bool log_y = metric.unit != Unit::kShare && low > 0 && high / low >= 8;
    x_axis = log_x ? log_axis(left, right, kPlot.x, kPlot.right(), Unit::kPlain)
                   : Axis{.low = left == right ? left - 1 : left - (right - left) * 0.04,
                          .high = left == right ? right + 1 : right + (right - left) * 0.04,
                          .from = kPlot.x,
                          .to = kPlot.right(),
                          .unit = Unit::kPlain};
    const double top = high > 0 ? high : 1;
    y_axis = log_y ? log_axis(low, high, kPlot.bottom(), kPlot.y, metric.unit)
                   : linear_axis(top, kPlot.bottom(), kPlot.y, metric.unit);
  }

  void threshold() {
    const auto across = limit();
    if (!across) return;
    const double y = y_axis.at(*across);
    svg.line({kPlot.x, y}, {kPlot.right(), y},
             {.stroke = kMemoryBoundColor, .stroke_width = 1.5, .dash = "6 4"});
    const bool is_memory = report.memory && metric.key == "peak_memory_bytes";
    const std::string text = is_memory ? report.memory_text : "ridge " + format_ratio(*across);
    svg.text({kPlot.x + 6, y - 5}, text, {.font = kSmall, .color = kMemoryBoundColor, .halo = kPaper});
  }

  std::string color(std::size_t line) const {
    if (lines.size() == 1) return std::string(kComputeBoundColor);
    return sequential_color(0.3 + 0.7 * static_cast<double>(line) / static_cast<double>(lines.size() - 1));
  }

  void draw_line(std::size_t index) {
    const Line& line = lines[index];
    const std::string ink = color(index);
    std::vector<Point> points;
    for (const Point& point : line.points) points.push_back({x_axis.at(point.x), y_axis.at(point.y)});
    svg.polyline(points, {.stroke = ink, .stroke_width = 1.8});
    if (points.size() > 64) return;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::string title = (line.name.empty() ? "" : line.name + ", ") + result.axes[axis].name + " " +
                                svg_number(line.points[i].x) + ": " +
                                tick_label(line.points[i].y, metric.unit);
      svg.circle(points[i], 3, {.fill = ink, .stroke = kPaper, .stroke_width = 1}, title);
    }
  }

  void legend() {
    if (lines.size() < 2) return;
    const double x = kPlot.right() + 24;
    double y = kPlot.y + 6;
    for (std::size_t i = lines.size(); i-- > 0;) {
      svg.line({x, y}, {x + 18, y}, {.stroke = color(i), .stroke_width = 2.5});
      svg.text({x + 25, y}, fitted(lines[i].name, kWidth - x - 25 - kMargin, kText),
               {.font = kText, .centred = true});
      y += 19;
    }
    if (left_out > 0)
      svg.text({x, y + 4}, "and " + plural(left_out, "line") + " between",
               {.font = kSmall, .color = kQuietInk});
  }
};

}  // namespace

std::string sweep_svg(const SweepReport& report) { return Picture{report}.draw(); }

}  // namespace opscope
