// SVG elements as text.
#include "report/svg/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

// DejaVu Sans: letters reach 0.73 em above their line, ascenders 0.76, descenders 0.24 below.
constexpr double kAscent = 0.76, kDescent = 0.24, kHalfLetter = 0.36;

constexpr std::string_view kAnchors[] = {"", "middle", "end"};  // "start" is what there is without one

bool fits_xml(const Utf8Character& character) {
  const char32_t c = character.code;
  if (!character.valid || c == 0xfffe || c == 0xffff) return false;
  return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
}

std::string points_text(std::span<const Point> points) {
  std::string text;
  for (const Point& point : points)
    text += (text.empty() ? "" : " ") + svg_number(point.x) + ',' + svg_number(point.y);
  return text;
}

std::string title_element(std::string_view title) {
  return title.empty() ? "" : "<title>" + svg_escaped(title) + "</title>";
}

std::string unless(double usual, double number) { return number == usual ? "" : svg_number(number); }

// Not dominant-baseline, which not every renderer knows.
double drop(const TextStyle& style) {
  return style.baseline == Baseline::kMiddle ? kHalfLetter * style.font.size : 0;
}

}  // namespace

std::string svg_number(double number) {
  OPSCOPE_CHECK(std::isfinite(number) && std::abs(number) < 1e15);
  std::array<char, 32> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed, 2);
  std::string_view text(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
  while (text.ends_with('0')) text.remove_suffix(1);
  if (text.ends_with('.')) text.remove_suffix(1);
  return text == "-0" ? "0" : std::string(text);
}

std::string svg_escaped(std::string_view text) {
  constexpr std::u32string_view kSpecial = U"&<>\"'";
  constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string result;
  while (!text.empty()) {
    const auto character = decode_utf8(text);
    if (const auto special = kSpecial.find(character.code); special != kSpecial.npos)
      result += kEntities[special];
    else
      result += fits_xml(character) ? text.substr(0, character.bytes) : "\xef\xbf\xbd";
    text.remove_prefix(character.bytes);
  }
  return result;
}

Box text_box(Point at, std::string_view text, const TextStyle& style) {
  const double width = text_width(text, style.font), size = style.font.size;
  const double left = width * static_cast<int>(style.anchor) / 2;
  return {at.x - left, at.y + drop(style) - kAscent * size, width, (kAscent + kDescent) * size};
}

Attribute::Attribute(std::string_view what, double number) : name(what), value(svg_number(number)) {}

Svg::Svg(double width, double height, std::string_view title)
    : width_(width), height_(height), title_(title) {}

void Svg::open(std::string_view element, std::initializer_list<Attribute> attributes) {
  (body_ += '<') += element;
  add(attributes);
}

void Svg::add(std::initializer_list<Attribute> attributes) {
  for (const auto& [name, value] : attributes)
    if (!value.empty()) body_.append(" ").append(name).append("=\"").append(svg_escaped(value)).append("\"");
}

void Svg::paint(const Paint& paint) {
  add({{"fill", paint.fill.empty() ? "none" : paint.fill}});
  if (!paint.stroke.empty())
    add({{"stroke", paint.stroke},
         {"stroke-width", unless(1, paint.stroke_width)},
         {"stroke-dasharray", paint.dash}});
  add({{"opacity", unless(1, paint.opacity)}});
}

void Svg::close(std::string_view element, std::string_view title) {
  body_ += title.empty() ? "/>\n" : fmt::format(">{}</{}>\n", title_element(title), element);
}

void Svg::shape(std::string_view element, std::initializer_list<Attribute> attributes, const Paint& look,
                std::string_view title) {
  open(element, attributes);
  paint(look);
  close(element, title);
}

void Svg::rect(const Box& box, const Paint& look, double radius, std::string_view title) {
  shape("rect",
        {{"x", box.x},
         {"y", box.y},
         {"width", std::max(box.width, 0.0)},
         {"height", std::max(box.height, 0.0)},
         {"rx", unless(0, std::max(radius, 0.0))}},
        look, title);
}

void Svg::line(Point from, Point to, const Paint& look) {
  shape("line", {{"x1", from.x}, {"y1", from.y}, {"x2", to.x}, {"y2", to.y}}, look);
}

void Svg::polyline(std::span<const Point> points, const Paint& look) {
  open("polyline", {{"points", points_text(points)}});
  paint(look);
  add({{"stroke-linejoin", "round"}});
  close("polyline", {});
}

void Svg::polygon(std::span<const Point> points, const Paint& look) {
  shape("polygon", {{"points", points_text(points)}}, look);
}

void Svg::path(std::string_view commands, const Paint& look, std::string_view title) {
  shape("path", {{"d", commands}}, look, title);
}

void Svg::circle(Point center, double radius, const Paint& look, std::string_view title) {
  shape("circle", {{"cx", center.x}, {"cy", center.y}, {"r", radius}}, look, title);
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  const auto& [font, color, anchor, baseline, rotation, halo] = style;
  open("text", {{"x", at.x},
                {"y", at.y + drop(style)},
                {"font-size", font.size},
                {"font-weight", font.bold ? "bold" : ""},
                {"font-style", font.italic ? "italic" : ""},
                {"fill", color.empty() ? kInk : color},
                {"text-anchor", kAnchors[static_cast<int>(anchor)]}});
  if (rotation != 0)
    add({{"transform",
          fmt::format("rotate({} {} {})", svg_number(rotation), svg_number(at.x), svg_number(at.y))}});
  if (!halo.empty())
    add({{"stroke", halo}, {"stroke-width", 3}, {"stroke-linejoin", "round"}, {"paint-order", "stroke"}});
  body_ += ">" + svg_escaped(text) + "</text>\n";
}

void Svg::begin_group(const GroupOptions& options) {
  ++groups_;
  open("g", {{"id", options.id},
             {"class", options.css_class},
             {"transform", options.transform},
             {"clip-path", options.clip.empty() ? "" : fmt::format("url(#{})", options.clip)}});
  for (const Attribute& attribute : options.attributes) add({attribute});
  body_ += ">" + title_element(options.title) + "\n";
}

void Svg::end_group() {
  OPSCOPE_CHECK(groups_ > 0);
  --groups_;
  body_ += "</g>\n";
}

std::string Svg::clip(const Box& box) {
  const std::string id = "clip" + std::to_string(++clips_);
  definitions_ +=
      fmt::format("<clipPath id=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n", id,
                  svg_number(box.x), svg_number(box.y), svg_number(box.width), svg_number(box.height));
  return id;
}

std::string Svg::gradient(std::span<const std::string_view> colors) {
  const std::string id = "gradient" + std::to_string(++gradients_);
  definitions_ += "<linearGradient id=\"" + id + "\">";
  const double last = std::max(1.0, static_cast<double>(colors.size()) - 1);
  for (std::size_t i = 0; i < colors.size(); ++i)
    definitions_ += fmt::format("<stop offset=\"{}\" stop-color=\"{}\"/>",
                                svg_number(static_cast<double>(i) / last), svg_escaped(colors[i]));
  definitions_ += "</linearGradient>\n";
  return "url(#" + id + ")";
}

std::string Svg::document() const {
  OPSCOPE_CHECK(groups_ == 0);
  const std::string width = svg_number(width_), height = svg_number(height_);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"{2}\">\n",
      width, height, kFontFamily);
  if (!title_.empty()) out += title_element(title_) + "\n";
  if (!definitions_.empty()) out += "<defs>\n" + definitions_ + "</defs>\n";
  out += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", width, height, kPaper);
  return out + body_ + "</svg>\n";
}

}  // namespace opscope
