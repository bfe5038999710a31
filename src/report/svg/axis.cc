// Ticks at 1, 2 and 5 times powers of ten, and axes drawn from them.
#include "report/svg/axis.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr Font kTickFont{.size = 10}, kTitleFont{.size = 11};
constexpr double kTickGap = 5, kLabelGap = 6;

// The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is at least `step`.
double nice_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

// "2.50G" -> "2.5G", "1.00MB" -> "1MB"
std::string without_zeros(std::string text) {
  const auto dot = text.find('.');
  if (dot == std::string::npos) return text;
  auto end = dot + 1;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  auto keep = end;
  while (text[keep - 1] == '0') --keep;
  if (keep == dot + 1) keep = dot;
  return text.erase(keep, end - keep);
}

std::string small_number(double value) {
  if (value != 0 && std::abs(value) < 0.01) {
    const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
    return svg_number(value / std::pow(10, power)) + "e" + std::to_string(power);
  }
  return svg_number(value);
}

std::vector<Tick> linear_ticks(const Axis& axis, int about) {
  const double step = nice_step((axis.high - axis.low) / std::max(about, 1));
  std::vector<Tick> ticks;
  const double first = std::ceil(axis.low / step - 1e-9);
  for (int i = 0; (first + i) * step <= axis.high + step * 1e-9; ++i) {
    const double value = (first + i) * step;
    ticks.push_back({value, tick_label(value, axis.unit)});
  }
  return ticks;
}

// Every power of two, labelled as often as there is room.
std::vector<Tick> ticks_by_two(const Axis& axis, int about) {
  const int first = static_cast<int>(std::ceil(std::log2(axis.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(axis.high) + 1e-9));
  const int stride = std::max(1, (last - first + about) / std::max(about, 1));
  std::vector<Tick> ticks;
  for (int power = first; power <= last; ++power) {
    const double value = std::pow(2, power);
    ticks.push_back({value, value >= 1 && power % stride == 0 ? tick_label(value, axis.unit) : ""});
  }
  return ticks;
}

// Every decade, or every n-th where there are many; small ticks between decades where there are few. 2 and 5
// are labelled as well where there are very few.
std::vector<Tick> log_ticks(const Axis& axis, int about) {
  const double low = std::log10(axis.low), high = std::log10(axis.high);
  const int stride = std::max(1, static_cast<int>(std::ceil((high - low) / (about + 2))));
  const bool few = high - low < axis.few_decades;
  std::vector<Tick> ticks;
  for (int power = static_cast<int>(std::floor(low)); power <= static_cast<int>(std::floor(high)); ++power)
    for (int factor = 1; factor < 10; ++factor) {
      const double value = factor * std::pow(10, power);
      if (value < axis.low * (1 - 1e-9) || value > axis.high * (1 + 1e-9)) continue;
      const bool decade = factor == 1 && power % stride == 0;
      if (decade || (few && (factor == 2 || factor == 5))) {
        ticks.push_back({value, tick_label(value, axis.unit)});
      } else if (factor == 1 || high - low <= 4) {
        ticks.push_back({value, ""});
      }
    }
  return ticks;
}

}  // namespace

std::string tick_label(double value, Unit unit) {
  const auto whole = [&] { return Count{std::llround(std::min(value, 9.2e18))}; };
  switch (unit) {
    case Unit::kCount:
    case Unit::kParams:
    case Unit::kWhole:
      return value < 1 ? small_number(value) : without_zeros(format_count(whole()));
    case Unit::kBytes:
      return value < 1 ? small_number(value) + "B" : without_zeros(format_bytes(whole()));
    case Unit::kSeconds:
      return without_zeros(format_time(value));
    case Unit::kShare:
      return svg_number(100 * value) + "%";
    case Unit::kFlopRate:
    case Unit::kBandwidth:
      return without_zeros(text(unit, value));
    default:
      return value >= 1000 ? without_zeros(format_count(whole())) : small_number(value);
  }
}

double Axis::at(double value) const {
  if (!(high > low)) return from;
  const auto scaled = [&](double x) { return logarithmic ? std::log(std::max(x, 1e-300)) : x; };
  return from + (scaled(value) - scaled(low)) / (scaled(high) - scaled(low)) * (to - from);
}

std::vector<Tick> Axis::ticks(int about) const {
  if (!(high > low)) return {};
  if (!logarithmic) return linear_ticks(*this, about);
  return by_two ? ticks_by_two(*this, about) : log_ticks(*this, about);
}

Axis linear_axis(double most, double from, double to, Unit unit, int ticks) {
  OPSCOPE_CHECK(std::isfinite(most));
  if (!(most > 0)) most = 1;
  const double step = nice_step(most / ticks);
  return {.low = 0, .high = step * std::ceil(most / step - 1e-9), .from = from, .to = to, .unit = unit};
}

Axis log_axis(double low, double high, double from, double to, Unit unit) {
  OPSCOPE_CHECK(low > 0 && high >= low && std::isfinite(high));
  const double room = std::max(0.05 * std::log10(high / low), 0.3);  // in decades
  return {.low = low / std::pow(10, room),
          .high = high * std::pow(10, room),
          .from = from,
          .to = to,
          .logarithmic = true,
          .unit = unit};
}

void draw_x_axis(Svg& svg, const Axis& axis, const Box& plot, std::string_view title) {
  const auto ticks = axis.ticks(std::max(2, static_cast<int>(plot.width / 80)));
  for (const Tick& tick : ticks) {
    const double x = axis.at(tick.value);
    const bool small = tick.label.empty();
    if (!small) svg.line({x, plot.y}, {x, plot.bottom()}, {.stroke = kGrid});
    svg.line({x, plot.bottom()}, {x, plot.bottom() + (small ? 3 : kTickGap)}, {.stroke = kAxis});
    svg.text({x, plot.bottom() + kTickGap + kLabelGap + 8}, tick.label,
             {.font = kTickFont, .color = kQuietInk, .anchor = Anchor::kMiddle});
  }
  svg.line({plot.x, plot.bottom()}, {plot.right(), plot.bottom()}, {.stroke = kAxis});
  svg.text({plot.center().x, plot.bottom() + 38}, title, {.font = kTitleFont, .anchor = Anchor::kMiddle});
}

void draw_y_axis(Svg& svg, const Axis& axis, const Box& plot, std::string_view title) {
  const auto ticks = axis.ticks(std::max(2, static_cast<int>(plot.height / 50)));
  double widest = 0;
  for (const Tick& tick : ticks) {
    const double y = axis.at(tick.value);
    const bool small = tick.label.empty();
    if (!small) svg.line({plot.x, y}, {plot.right(), y}, {.stroke = kGrid});
    svg.line({plot.x - (small ? 3 : kTickGap), y}, {plot.x, y}, {.stroke = kAxis});
    svg.text({plot.x - kTickGap - kLabelGap, y}, tick.label,
             {.font = kTickFont, .color = kQuietInk, .anchor = Anchor::kEnd, .centred = true});
    widest = std::max(widest, text_width(tick.label, kTickFont));
  }
  svg.line({plot.x, plot.y}, {plot.x, plot.bottom()}, {.stroke = kAxis});
  svg.text({plot.x - kTickGap - kLabelGap - widest - 10, plot.center().y}, title,
           {.font = kTitleFont, .anchor = Anchor::kMiddle, .rotation = -90});
}

}  // namespace opscope
