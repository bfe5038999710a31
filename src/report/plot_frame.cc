// Title blocks, legends and labels of plots.
#include "report/plot_frame.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "report/document.h"

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

// Directions from a dot, the most natural to read first.
constexpr std::array<Point, 8> kDirections{
    {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {0.7, -0.7}, {0.7, 0.7}, {-0.7, -0.7}, {-0.7, 0.7}}};

// The box whose near side or corner is at `distance` from the center.
Box beside(Point center, Point direction, double distance, double width, double height) {
  const Point anchor{center.x + direction.x * distance, center.y + direction.y * distance};
  const double x = direction.x > 0.1    ? anchor.x
                   : direction.x < -0.1 ? anchor.x - width
                                        : anchor.x - width / 2;
  const bool level = std::abs(direction.y) < 0.1;
  const double y = level ? anchor.y - height / 2 : direction.y > 0 ? anchor.y : anchor.y - height;
  return {x, y, width, height};
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
    if (!cells[i].text.empty()) line.append(line.empty() ? "" : "   ").append(cells[i].text);
  return line;
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

void LabelPlacer::add_dot(Point center, double radius) {
  dots_.push_back({center.x - radius, center.y - radius, 2 * radius, 2 * radius});
}

double LabelPlacer::badness(const Box& box) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (!bounds_.contains(box)) return kNever;
  if (std::ranges::any_of(blocked_, [&](const Box& b) { return b.overlaps(box); })) return kNever;
  double covered = 0;
  for (const Box& dot : dots_) covered += overlap(dot, box);
  return covered;
}

std::optional<LabelPlacer::Place> LabelPlacer::place(Point center, double radius, double width,
                                                     double height) {
  std::optional<Place> best;
  double least = std::numeric_limits<double>::infinity();
  for (const double distance : {3.0, 12.0, 24.0, 38.0, 54.0, 72.0, 92.0})
    for (const Point& direction : kDirections) {
      const Box box = beside(center, direction, radius + distance, width, height);
      const double bad = badness(box) + 1.5 * distance;
      if (bad < least) least = bad, best = Place{box, distance > 3};
    }
  if (best) blocked_.push_back(best->box);
  return best;
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
