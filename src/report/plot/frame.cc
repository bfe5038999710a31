// Title blocks, legends and labels of plots.
#include "report/plot/frame.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "base/text.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr Font kLegendFont{.size = 10.5};
constexpr double kSwatch = 10, kLegendLine = 18;

int xterm_color(std::string_view color) {
  int code = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    int part = 0;
    std::from_chars(color.data() + 1 + 2 * i, color.data() + 3 + 2 * i, part, 16);
    // The levels of the cube: 0, 95, 135, 175, 215, 255.
    code = code * 6 + (part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40);
  }
  return 16 + code;
}

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.right(), b.right()) - std::max(a.x, b.x);
  const double height = std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y);
  return width > 0 && height > 0 ? width * height : 0;
}

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kDirections = 16;  // from a dot, the first to its right

double distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

// The label whose near side or corner is `gap` away from the dot.
LabelPlacer::Place beside(Point center, double radius, double gap, int direction, double width,
                          double height) {
  const double angle = 2 * std::numbers::pi * direction / kDirections;
  const Point along{std::cos(angle), std::sin(angle)};
  const Point near{center.x + along.x * (radius + gap), center.y + along.y * (radius + gap)};
  const double x = along.x > 0.1 ? near.x : along.x < -0.1 ? near.x - width : near.x - width / 2;
  const double y = along.y > 0.1 ? near.y : along.y < -0.1 ? near.y - height : near.y - height / 2;
  return {{x, y, width, height}, near, {center.x + along.x * radius, center.y + along.y * radius}};
}

// Small boxes along a line, its ends left out.
std::vector<Box> steps(Point from, Point to) {
  const int count = static_cast<int>(distance(from, to) / 4);
  std::vector<Box> boxes;
  for (int i = 1; i < count; ++i) {
    const double t = static_cast<double>(i) / count;
    boxes.push_back({from.x + t * (to.x - from.x) - 1, from.y + t * (to.y - from.y) - 1, 2, 2});
  }
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
  std::string line;
  const auto cells = model_cells(*profile.graph);
  for (std::size_t i = 1; i < cells.size(); ++i)
    if (!is_empty(cells[i])) line.append(line.empty() ? "" : " \xc2\xb7 ").append(text_of(cells[i]));
  return line;
}

std::string value_text(const Metric& metric, Count value) {
  return text(metric, amount_in(metric.unit, value));
}

std::string amount_text(const Metric& metric, Count value) {
  if (metric.unit == Unit::kSeconds) return value_text(metric, value);
  return value_text(metric, value) + " " +
         (metric.key == "memory_bytes" ? "moved" : std::string(metric.words));
}

std::string slice_tooltip(const IciclePlot& plot, const IcicleSlice& slice) {
  const std::string path = slice.path.empty() ? slice.name : slice.path;
  std::string text = path + (slice.type == slice.name ? "" : " (" + std::string(slice.type) + ")") + "\n" +
                     amount_text(*plot.metric, slice.value) + ", " + format_percent(slice.share, 1.0);
  if (slice.repeat > 1) text += "\n" + std::to_string(slice.repeat) + " equal blocks together";
  return text;
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
  double y = at.y + kLegendLine;
  for (const ColorGroup& group : groups) {
    svg.rect({at.x, y, kSwatch, kSwatch}, {.fill = group.color}, 2);
    svg.text({at.x + kSwatch + 6, y + kSwatch / 2}, group.name,
             {.font = kLegendFont, .baseline = Baseline::kMiddle});
    y += kLegendLine;
  }
  return y;
}

void draw_legend_row(Svg& svg, Point at, std::span<const ColorGroup> groups) {
  for (const ColorGroup& group : groups) {
    svg.rect({at.x, at.y, kSwatch, kSwatch}, {.fill = group.color}, 2);
    svg.text({at.x + kSwatch + 5, at.y + kSwatch / 2}, group.name,
             {.font = kLegendFont, .baseline = Baseline::kMiddle});
    at.x += kSwatch + 5 + text_width(group.name, kLegendFont) + 18;
  }
}

double draw_paragraph(Svg& svg, Point at, double width, std::string_view text, const TextStyle& style) {
  const double line_height = style.font.size * 1.4;
  std::string line;
  const auto flush = [&] {
    svg.text({at.x, at.y + style.font.size}, line, style);
    at.y += line_height;
    line.clear();
  };
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string longer =
        line.empty() ? std::string(text.substr(0, end)) : line + " " + std::string(text.substr(0, end));
    if (!line.empty() && text_width(longer, style.font) > width) {
      flush();
    } else {
      line = longer;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  if (!line.empty()) flush();
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

std::string text_head(const Profile& profile, const std::string& title, const TextOptions& options) {
  std::string out = paint(truncate(title, options.width), Style::kStrong, options.color) + "\n";
  if (const std::string model = model_line(profile); !model.empty())
    out += paint(truncate(model, options.width), Style::kQuiet, options.color) + "\n";
  for (const std::string& note : note_lines(profile, options))
    out += paint(indented(note, options.width, 0), Style::kQuiet, options.color) + "\n";
  return out + "\n";
}

std::string painted(std::string_view text, std::string_view color, bool enabled) {
  if (!enabled) return std::string(text);
  return "\x1b[38;5;" + std::to_string(xterm_color(color)) + "m" + std::string(text) + "\x1b[0m";
}

std::string painted_behind(std::string_view text, std::string_view color, bool enabled) {
  if (!enabled) return std::string(text);
  const std::string ink = ink_on(color) == kPaper ? "97" : "30";
  return "\x1b[" + ink + ";48;5;" + std::to_string(xterm_color(color)) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace opscope
