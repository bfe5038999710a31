// SVG elements as text, and the widths of letters, so that text can be fitted without a font library.
#include "report/svg/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
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
double drop(const TextStyle& style) { return style.centred ? kHalfLetter * style.font.size : 0; }

// Advance widths of DejaVu Sans. It is a wide font: a label that fits in it fits in Helvetica and Arial too.
constexpr double kUnitsPerEm = 2048;
constexpr double kDefaultAdvance = 1300;  // of letters in other alphabets
constexpr double kWideAdvance = 2048;     // of what takes two columns in a terminal: a full em

// U+0020 to U+007E.
constexpr std::array<std::uint16_t, 95> kRegular{
    651,  821,  942,  1716, 1303, 1946, 1597, 563,  799,  799,  1024, 1716, 651,  739,  651,  690,
    1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 690,  690,  1716, 1716, 1716, 1087,
    2048, 1401, 1405, 1430, 1577, 1294, 1178, 1587, 1540, 604,  604,  1343, 1141, 1767, 1532, 1612,
    1235, 1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403, 799,  690,  799,  1716, 1024,
    1024, 1255, 1300, 1126, 1300, 1260, 721,  1300, 1298, 569,  569,  1186, 569,  1995, 1298, 1253,
    1300, 1300, 842,  1067, 803,  1298, 1212, 1675, 1212, 1212, 1075, 1303, 690,  1303, 1716};
constexpr std::array<std::uint16_t, 95> kBold{
    713,  934,  1067, 1716, 1425, 2052, 1786, 627,  936,  936,  1071, 1716, 778,  850,  778,  748,
    1425, 1425, 1425, 1425, 1425, 1425, 1425, 1425, 1425, 1425, 819,  819,  1716, 1716, 1716, 1188,
    2048, 1585, 1561, 1503, 1700, 1399, 1399, 1681, 1714, 762,  762,  1587, 1305, 2038, 1714, 1741,
    1501, 1741, 1577, 1475, 1397, 1663, 1585, 2259, 1579, 1483, 1485, 936,  748,  936,  1716, 1024,
    1024, 1382, 1466, 1214, 1466, 1389, 891,  1466, 1458, 702,  702,  1362, 702,  2134, 1458, 1407,
    1466, 1466, 1010, 1219, 979,  1458, 1335, 1892, 1321, 1335, 1192, 1458, 748,  1458, 1716};
// U+00A0 to U+017F: the character of these that is as wide, an accented letter as its letter; "*" where none
// is.
constexpr std::string_view kAlike =
    " !$$*$/__@**#-@__#**_**,_******?AAAAAA*CEEEEIIII*NOOOOO#OUUUUY**aaaaaa*ceeeeiiiionooooo#ouuuuybyAaAa"
    "AaCcCcCcCcDd*bEeEeEeEeEeGgGgGgGgHh**IiIiIiIiIi**JjKkkLlLlL*L***NnNnNn*NhOoOoOo**RrRrRrSsSsSsSsTtTtTt"
    "UuUuUuUuUuUuWwYyYZzZzZzf";

struct Sign {
  char32_t code;
  std::uint16_t regular, bold;
};
// Those that no other is as wide as; dashes, quotes, arrows and comparisons.
constexpr std::array kSigns{
    Sign{0x00a4, 1303, 1303}, Sign{0x00aa, 965, 1155},  Sign{0x00ab, 1253, 1323}, Sign{0x00b2, 821, 897},
    Sign{0x00b3, 821, 897},   Sign{0x00b5, 1303, 1507}, Sign{0x00b6, 1303, 1303}, Sign{0x00b9, 821, 897},
    Sign{0x00ba, 965, 1155},  Sign{0x00bb, 1253, 1323}, Sign{0x00bc, 1985, 2120}, Sign{0x00bd, 1985, 2120},
    Sign{0x00be, 1985, 2120}, Sign{0x00c6, 1995, 2222}, Sign{0x00d0, 1587, 1716}, Sign{0x00de, 1239, 1511},
    Sign{0x00df, 1290, 1473}, Sign{0x00e6, 2011, 2146}, Sign{0x0110, 1587, 1716}, Sign{0x0126, 1876, 1994},
    Sign{0x0127, 1423, 1618}, Sign{0x0132, 1208, 1524}, Sign{0x0133, 1138, 1404}, Sign{0x013e, 768, 982},
    Sign{0x0140, 700, 1140},  Sign{0x0141, 1151, 1315}, Sign{0x0142, 582, 760},   Sign{0x0149, 1666, 2013},
    Sign{0x0152, 2191, 2390}, Sign{0x0153, 2095, 2241}, Sign{0x2013, 1024, 1024}, Sign{0x2014, 2048, 2048},
    Sign{0x2018, 651, 778},   Sign{0x2019, 651, 778},   Sign{0x201c, 1061, 1346}, Sign{0x201d, 1061, 1346},
    Sign{0x2022, 1208, 1309}, Sign{0x2026, 2048, 2048}, Sign{0x2190, 1716, 1716}, Sign{0x2191, 1716, 1716},
    Sign{0x2192, 1716, 1716}, Sign{0x2193, 1716, 1716}, Sign{0x2212, 1716, 1716}, Sign{0x2248, 1716, 1716},
    Sign{0x2260, 1716, 1716}, Sign{0x2264, 1716, 1716}, Sign{0x2265, 1716, 1716}};

// Of the character at `at`, which it steps over.
double advance(std::string_view text, std::size_t& at, bool bold) {
  const auto [code, bytes, valid] = decode_utf8(text.substr(at));
  const auto character = text.substr(std::exchange(at, at + bytes), bytes);
  const auto& table = bold ? kBold : kRegular;
  if (code >= 0x20 && code <= 0x7e) return table[code - 0x20];
  const auto sign = std::ranges::find(kSigns, code, &Sign::code);
  if (sign != kSigns.end()) return bold ? sign->bold : sign->regular;
  if (code >= 0xa0 && code <= 0x17f) return table[static_cast<std::size_t>(kAlike[code - 0xa0] - ' ')];
  const int columns = display_width(character);
  return columns == 0 ? 0 : columns == 2 ? kWideAdvance : kDefaultAdvance;
}

constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

// Bytes of `text` that fit in `width`, from the front.
std::size_t bytes_within(std::string_view text, double width, const Font& font) {
  std::size_t kept = 0;
  double used = 0;
  for (std::size_t at = 0; at < text.size(); kept = at) {
    used += advance(text, at, font.bold) * font.size / kUnitsPerEm;
    if (used > width) break;
  }
  return kept;
}

// Where the longest end of `text` that fits in `width` begins.
std::size_t tail_within(std::string_view text, double width, const Font& font) {
  double over = text_width(text, font) - width;
  std::size_t at = 0;
  while (at < text.size() && over > 0) over -= advance(text, at, font.bold) * font.size / kUnitsPerEm;
  return at;
}

}  // namespace

std::string repeat_text(std::uint32_t repeat) { return repeat > 1 ? " \u00d7" + std::to_string(repeat) : ""; }

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
  const auto& [font, color, anchor, centred, rotation, halo] = style;
  open("text", {{"x", at.x},
                {"y", at.y + drop(style)},
                {"font-size", font.size},
                {"font-weight", font.bold ? "bold" : ""},
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

double text_width(std::string_view text, const Font& font) {
  double units = 0;
  for (std::size_t at = 0; at < text.size();) units += advance(text, at, font.bold);
  return units * font.size / kUnitsPerEm;
}

std::string fitted(std::string_view text, double width, const Font& font) {
  if (text_width(text, font) <= width) return std::string(text);
  const auto kept = bytes_within(text, width - text_width(kEllipsis, font), font);
  return kept == 0 ? "" : std::string(text.substr(0, kept)).append(kEllipsis);
}

std::string fitted_middle(std::string_view text, double width, const Font& font) {
  if (text_width(text, font) <= width) return std::string(text);
  const double room = width - text_width(kEllipsis, font);
  const auto kept = bytes_within(text, room / 2, font);
  if (kept == 0) return "";
  const auto head = text.substr(0, kept);
  const auto tail = tail_within(text, room - text_width(head, font), font);
  return std::string(head).append(kEllipsis).append(text.substr(std::max(tail, kept)));
}

std::vector<std::string> wrapped(std::string_view text, double width, const Font& font) {
  return wrapped_lines(text, width, [&](std::string_view line) { return text_width(line, font); });
}

}  // namespace opscope
