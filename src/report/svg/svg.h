// A small SVG writer: shapes and text in user units, escaped, with the same bytes for the same picture.
// Knows nothing of plots and graphs; the house's colours are in colors.h, axes in axis.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {

struct Point {
  double x = 0, y = 0;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(Point a, double by) { return {a.x * by, a.y * by}; }
  friend double distance(Point a, Point b) { return std::hypot(b.x - a.x, b.y - a.y); }
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  Point center() const { return {x + width / 2, y + height / 2}; }
  bool overlaps(const Box& o) const {
    return x < o.right() && o.x < right() && y < o.bottom() && o.y < bottom();
  }
  bool contains(const Box& o) const {
    return o.x >= x && o.y >= y && o.right() <= right() && o.bottom() <= bottom();
  }
  static Box around(Point center, double width, double height) {
    return {center.x - width / 2, center.y - height / 2, width, height};
  }
  Box inset(double by) const { return {x + by, y + by, width - 2 * by, height - 2 * by}; }
};

// "" leaves a part away: no fill, no line.
struct Paint {
  std::string_view fill{};
  std::string_view stroke{};
  double stroke_width = 1;
  double opacity = 1;
  std::string_view dash{};  // "4 3"
};

struct Font {
  double size = 11;
  bool bold = false;
};

enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };  // where the text lies from its point

struct TextStyle {
  Font font{};
  std::string_view color{};  // "": the house's ink
  Anchor anchor = Anchor::kStart;
  bool centred = false;     // its point is at half the height of the letters in place of their baseline
  double rotation = 0;      // degrees clockwise around the point
  std::string_view halo{};  // a colour drawn around the letters, where lines run below them
};

// Of an element; left out where it is empty.
struct Attribute {
  Attribute(std::string_view what, std::string_view text) : name(what), value(text) {}
  Attribute(std::string_view what, double number);

  std::string_view name;
  std::string value;
};

struct GroupOptions {
  std::string_view id{}, css_class{};
  std::string_view title{};             // what a browser shows over it
  std::string_view transform{};         // "translate(10 20)"
  std::string_view clip{};              // the id that clip() gave
  std::vector<Attribute> attributes{};  // "data-op": "12"
};

class Svg {
 public:
  // White, with a title for readers of the screen where there is one.
  Svg(double width, double height, std::string_view title = {});

  void rect(const Box& box, const Paint& paint, double radius = 0, std::string_view title = {});
  void line(Point from, Point to, const Paint& paint);
  void polyline(std::span<const Point> points, const Paint& paint);
  void polygon(std::span<const Point> points, const Paint& paint);
  // `commands`: of the d attribute; svg_number writes its numbers.
  void path(std::string_view commands, const Paint& paint, std::string_view title = {});
  void circle(Point center, double radius, const Paint& paint, std::string_view title = {});
  void text(Point at, std::string_view text, const TextStyle& style = {});

  void begin_group(const GroupOptions& options = {});
  void end_group();
  // What is in a group with this clip is drawn inside the box alone.
  std::string clip(const Box& box);
  // From left to right through colours at equal distances; "url(#...)" for Paint::fill.
  std::string gradient(std::span<const std::string_view> colors);

  double width() const { return width_; }
  double height() const { return height_; }
  std::string document() const;  // the whole file

 private:
  void open(std::string_view element, std::initializer_list<Attribute> attributes);
  void add(std::initializer_list<Attribute> attributes);
  void paint(const Paint& paint);
  void close(std::string_view element, std::string_view title);
  void shape(std::string_view element, std::initializer_list<Attribute> attributes, const Paint& paint,
             std::string_view title = {});

  double width_, height_;
  std::string title_, body_, definitions_;
  int groups_ = 0, clips_ = 0, gradients_ = 0;
};

std::string repeat_text(std::uint32_t repeat);  // " ×3", "" for once
// At most two decimals and no zeros at the end: "12", "0.5", "-3.25".
std::string svg_number(double number);
// For text and attributes: what XML cannot hold (control characters, broken UTF-8) becomes U+FFFD.
std::string svg_escaped(std::string_view text);

inline constexpr std::string_view kFontFamily = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";
// As DejaVu Sans is.
double text_width(std::string_view text, const Font& font);
// Cut with an ellipsis to what fits; "" where not even one letter does. The middle form keeps both ends.
std::string fitted(std::string_view text, double width, const Font& font);
std::string fitted_middle(std::string_view text, double width, const Font& font);
// The words in lines of at most `width`.
std::vector<std::string> wrapped(std::string_view text, double width, const Font& font);
// Where text() will draw, rotated text aside: for keeping labels apart.
Box text_box(Point at, std::string_view text, const TextStyle& style);

}  // namespace opscope
