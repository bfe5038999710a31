// SVG elements as text.
#include "report/svg/svg.h"

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

constexpr std::string_view kAnchors[] = {"start", "middle", "end"};

bool fits_xml(const Utf8Character& character) {
  const char32_t c = character.code;
  if (!character.valid || c == 0xfffe || c == 0xffff) return false;
  return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
}

std::string_view entity(char32_t code) {
  switch (code) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string points_text(std::span<const Point> points) {
  std::string text;
  for (const Point& point : points) {
    if (!text.empty()) text += ' ';
    text += svg_number(point.x) + ',' + svg_number(point.y);
  }
  return text;
}

std::string title_element(std::string_view title) {
  return title.empty() ? "" : "<title>" + svg_escaped(title) + "</title>";
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
  std::string result;
  while (!text.empty()) {
    const auto character = decode_utf8(text);
    if (const auto name = entity(character.code); !name.empty()) {
      result += name;
    } else {
      result += fits_xml(character) ? text.substr(0, character.bytes) : "\xef\xbf\xbd";
    }
    text.remove_prefix(character.bytes);
  }
  return result;
}

Box text_box(Point at, std::string_view text, const TextStyle& style) {
  const double width = text_width(text, style.font), size = style.font.size;
  const double left = style.anchor == Anchor::kStart    ? 0
                      : style.anchor == Anchor::kMiddle ? width / 2
                                                        : width;
  const double baseline = at.y + (style.baseline == Baseline::kMiddle ? kHalfLetter * size : 0);
  return {at.x - left, baseline - kAscent * size, width, (kAscent + kDescent) * size};
}

Svg::Svg(double width, double height, std::string_view title)
    : width_(width), height_(height), title_(title) {}

void Svg::open(std::string_view element) { (body_ += '<') += element; }

void Svg::attribute(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  ((body_ += ' ') += name) += "=\"";
  (body_ += svg_escaped(value)) += '"';
}

void Svg::attribute(std::string_view name, double value) { attribute(name, svg_number(value)); }

void Svg::paint(const Paint& paint) {
  attribute("fill", paint.fill.empty() ? "none" : paint.fill);
  if (!paint.stroke.empty()) {
    attribute("stroke", paint.stroke);
    if (paint.stroke_width != 1) attribute("stroke-width", paint.stroke_width);
    attribute("stroke-dasharray", paint.dash);
  }
  if (paint.opacity != 1) attribute("opacity", paint.opacity);
}

void Svg::close(std::string_view element, std::string_view title) {
  if (title.empty()) {
    body_ += "/>\n";
  } else {
    (((body_ += '>') += title_element(title)) += "</") += element;
    body_ += ">\n";
  }
}

void Svg::rect(const Box& box, const Paint& look, double radius, std::string_view title) {
  open("rect");
  attribute("x", box.x), attribute("y", box.y);
  attribute("width", std::max(box.width, 0.0)), attribute("height", std::max(box.height, 0.0));
  if (radius > 0) attribute("rx", radius);
  paint(look);
  close("rect", title);
}

void Svg::line(Point from, Point to, const Paint& look) {
  open("line");
  attribute("x1", from.x), attribute("y1", from.y), attribute("x2", to.x), attribute("y2", to.y);
  paint(look);
  close("line", {});
}

void Svg::polyline(std::span<const Point> points, const Paint& look) {
  open("polyline");
  attribute("points", points_text(points));
  paint(look);
  attribute("stroke-linejoin", "round");
  close("polyline", {});
}

void Svg::polygon(std::span<const Point> points, const Paint& look, std::string_view title) {
  open("polygon");
  attribute("points", points_text(points));
  paint(look);
  close("polygon", title);
}

void Svg::path(std::string_view commands, const Paint& look, std::string_view title) {
  open("path");
  attribute("d", commands);
  paint(look);
  close("path", title);
}

void Svg::circle(Point center, double radius, const Paint& look, std::string_view title) {
  open("circle");
  attribute("cx", center.x), attribute("cy", center.y), attribute("r", radius);
  paint(look);
  close("circle", title);
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  // Not dominant-baseline, which not every renderer knows.
  const double drop = style.baseline == Baseline::kMiddle ? kHalfLetter * style.font.size : 0;
  open("text");
  attribute("x", at.x), attribute("y", at.y + drop);
  attribute("font-size", style.font.size);
  if (style.font.bold) attribute("font-weight", "bold");
  if (style.font.italic) attribute("font-style", "italic");
  attribute("fill", style.color.empty() ? kInk : style.color);
  if (style.anchor != Anchor::kStart) attribute("text-anchor", kAnchors[static_cast<int>(style.anchor)]);
  if (style.rotation != 0)
    attribute("transform",
              "rotate(" + svg_number(style.rotation) + " " + svg_number(at.x) + " " + svg_number(at.y) + ")");
  if (!style.halo.empty()) {
    attribute("stroke", style.halo), attribute("stroke-width", 3), attribute("stroke-linejoin", "round");
    attribute("paint-order", "stroke");
  }
  ((body_ += '>') += svg_escaped(text)) += "</text>\n";
}

void Svg::begin_group(const GroupOptions& options) {
  ++groups_;
  open("g");
  attribute("id", options.id), attribute("class", options.css_class),
      attribute("transform", options.transform);
  if (!options.clip.empty()) attribute("clip-path", "url(#" + std::string(options.clip) + ")");
  for (const auto& [name, value] : options.attributes) attribute(name, value);
  ((body_ += '>') += title_element(options.title)) += '\n';
}

void Svg::end_group() {
  OPSCOPE_CHECK(groups_ > 0);
  --groups_;
  body_ += "</g>\n";
}

std::string Svg::clip(const Box& box) {
  const std::string id = "clip" + std::to_string(++clips_);
  definitions_ += "<clipPath id=\"" + id + "\"><rect x=\"" + svg_number(box.x) + "\" y=\"" +
                  svg_number(box.y) + "\" width=\"" + svg_number(box.width) + "\" height=\"" +
                  svg_number(box.height) + "\"/></clipPath>\n";
  return id;
}

std::string Svg::gradient(std::span<const std::string_view> colors) {
  const std::string id = "gradient" + std::to_string(++gradients_);
  definitions_ += "<linearGradient id=\"" + id + "\">";
  for (std::size_t i = 0; i < colors.size(); ++i) {
    const double at = colors.size() < 2 ? 0 : static_cast<double>(i) / static_cast<double>(colors.size() - 1);
    definitions_ += "<stop offset=\"" + svg_number(at) + "\" stop-color=\"" + svg_escaped(colors[i]) + "\"/>";
  }
  definitions_ += "</linearGradient>\n";
  return "url(#" + id + ")";
}

std::string Svg::document() const {
  OPSCOPE_CHECK(groups_ == 0);
  const std::string width = svg_number(width_), height = svg_number(height_);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
                    "\" viewBox=\"0 0 " + width + " " + height + "\" font-family=\"" +
                    std::string(kFontFamily) + "\">\n";
  if (!title_.empty()) out += title_element(title_) + "\n";
  if (!definitions_.empty()) out += "<defs>\n" + definitions_ + "</defs>\n";
  out += "<rect width=\"" + width + "\" height=\"" + height + "\" fill=\"" + std::string(kPaper) + "\"/>\n";
  return out + body_ + "</svg>\n";
}

}  // namespace opscope
