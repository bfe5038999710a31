// Tokens a second over the batch, a line for each context, as far as the memory reaches; memory where no
// device is named.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/llm/llm.h"
#include "report/plot/frame.h"

namespace opscope {
namespace {

constexpr double kWidth = 960, kHeight = 520;
constexpr Box kPlot{96, 78, 640, 372};
constexpr Font kText{.size = 11}, kSmall{.size = 10};

struct Picture {
  const LlmAnswer& answer;
  const LlmDevice* device = answer.devices.empty() ? nullptr : &answer.devices.front();
  Svg svg{kWidth, kHeight, answer.model.name + ": " + title()};
  std::vector<std::int64_t> contexts{};
  Axis x_axis{}, y_axis{};

  std::string title() const { return device ? "tokens per second" : "memory"; }
  double value(const LlmPoint& point) const {
    return device ? point.rate : static_cast<double>(point.memory);
  }

  std::string draw() {
    for (const LlmPoint& point : answer.points)
      if (contexts.empty() || contexts.back() != point.context) contexts.push_back(point.context);
    scale();
    draw_title(svg, answer.model.name + ": " + title() + " over batch", subtitle());
    draw_x_axis(svg, x_axis, kPlot, "batch (sequences)");
    draw_y_axis(svg, y_axis, kPlot, device ? "tokens per second, all users" : "memory");
    svg.begin_group({.clip = svg.clip(kPlot.inset(-6))});
    for (std::size_t i = 0; i < contexts.size(); ++i) draw_line(i);
    svg.end_group();
    legend();
    return svg.document();
  }

  std::string subtitle() const {
    std::string text = answer.model.source + " · " + answer.model.weight_dtypes + " weights";
    if (device)
      text += " · " + (device->devices > 1 ? format_exact(Count{device->devices}) + " x " : "") +
              device->device().name + " · predicted, " + std::string(name(device->options.mode));
    return text;
  }

  void scale() {
    double right = 1, low = 1e300, high = 0;
    for (const LlmPoint& point : answer.points) {
      if (!point.fits) continue;
      right = std::max(right, static_cast<double>(point.batch));
      low = std::min(low, value(point)), high = std::max(high, value(point));
    }
    if (!(low > 0) || !(high > low)) low = 1, high = std::max(high, 2.0);
    const Unit unit = device ? Unit::kCount : Unit::kBytes;
    x_axis = log_axis(1, std::max(right, 2.0), kPlot.x, kPlot.right(), Unit::kPlain);
    x_axis.by_two = true;
    y_axis = log_axis(low, high, kPlot.bottom(), kPlot.y, unit);
    y_axis.few_decades = 2.6;
  }

  std::string color(std::size_t line) const {
    return sequential_color(contexts.size() < 2 ? 1.0
                                                : 0.4 + 0.6 * static_cast<double>(line) /
                                                            static_cast<double>(contexts.size() - 1));
  }

  std::string tip(const LlmPoint& point) const {
    std::string text = fmt::format("batch {}, context {}: ", point.batch, point.context);
    if (device) text += fmt::format("{:.0f} tokens/s, {:.1f} for each user, ", point.rate, point.user_rate);
    return text + format_bytes(point.memory);
  }

  bool ends(std::size_t index) const {
    return std::ranges::any_of(answer.points, [&](const LlmPoint& point) {
      return point.context == contexts[index] && !point.fits;
    });
  }

  void draw_line(std::size_t index) {
    const std::string ink = color(index);
    std::vector<Point> places;
    std::vector<const LlmPoint*> points;
    for (const LlmPoint& point : answer.points)
      if (point.context == contexts[index] && point.fits) {
        places.push_back({x_axis.at(static_cast<double>(point.batch)), y_axis.at(value(point))});
        points.push_back(&point);
      }
    svg.polyline(places, {.stroke = ink, .stroke_width = 2});
    for (std::size_t i = 0; i < places.size(); ++i) {
      const bool is_last = i + 1 == places.size() && ends(index);
      svg.circle(places[i], is_last ? 4.4 : 3.2,
                 {.fill = is_last ? kPaper : std::string_view(ink), .stroke = ink, .stroke_width = 1.6},
                 tip(*points[i]));
    }
  }

  void legend() {
    const double x = kPlot.right() + 24;
    double y = kPlot.y + 6;
    svg.text({x, y}, "context", {.font = kSmall, .color = kQuietInk, .centred = true});
    y += 19;
    for (std::size_t i = 0; i < contexts.size(); ++i, y += 19) {
      svg.line({x, y}, {x + 18, y}, {.stroke = color(i), .stroke_width = 2.5});
      svg.text({x + 25, y}, format_exact(Count{contexts[i]}) + " tokens", {.font = kText, .centred = true});
    }
    const bool cut = std::ranges::any_of(answer.points, [](const LlmPoint& point) { return !point.fits; });
    if (!cut) return;
    y += 6;
    svg.circle({x + 9, y}, 4.4, {.fill = kPaper, .stroke = kQuietInk, .stroke_width = 1.6});
    svg.text({x + 25, y}, "the next size does not fit", {.font = kText, .centred = true});
  }
};

}  // namespace

std::string llm_svg(const LlmAnswer& answer) { return Picture{answer}.draw(); }

}  // namespace opscope
