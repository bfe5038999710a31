// A laid out scene as one SVG page: title and totals, the graph, the legend.
#include "report/draw/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr double kMargin = 22, kNarrowestPage = 560, kWidestTotal = 104, kSmallLine = 13;
constexpr std::string_view kLineColor = "#6b7280", kFrameColor = "#c3c8d0", kMark = "#b3202e";
constexpr Font kTitleFont{17, true, false}, kSmall{9, false, false}, kValue{11.5, true, false};

std::string at(Point p) { return svg_number(p.x) + " " + svg_number(p.y); }

std::string curve_path(const std::vector<Point>& points) {
  std::string d = "M" + at(points[0]);
  for (std::size_t i = 1; i + 2 < points.size(); i += 3)
    d += "C" + at(points[i]) + " " + at(points[i + 1]) + " " + at(points[i + 2]);
  return d;
}

Point towards(Point from, Point to, double by) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length < 1e-9) return from;
  const double t = std::min(by / length, 0.5);
  return {from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t};
}

std::string cornered_path(const std::vector<Point>& points) {
  std::string d = "M" + at(points[0]);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    d += "L" + at(towards(points[i], points[i - 1], 5));
    d += "Q" + at(points[i]) + " " + at(towards(points[i], points[i + 1], 5));
  }
  return d + "L" + at(points.back());
}

std::array<Point, 3> arrow_head(const std::vector<Point>& points) {
  const Point tip = points.back();
  Point before = points[points.size() - 2];
  for (std::size_t i = points.size() - 1; i-- > 0 && std::hypot(tip.x - before.x, tip.y - before.y) < 1;)
    before = points[i];
  const double length = std::max(std::hypot(tip.x - before.x, tip.y - before.y), 1e-9);
  const double ux = (tip.x - before.x) / length, uy = (tip.y - before.y) / length;
  return {tip, Point{tip.x - 6 * ux - 2.6 * uy, tip.y - 6 * uy + 2.6 * ux},
          Point{tip.x - 6 * ux + 2.6 * uy, tip.y - 6 * uy - 2.6 * ux}};
}

class Page {
 public:
  Page(const Scene& scene, const Look& look, const Layout& layout, ColorBy color, PageTexts texts,
       std::vector<LegendEntry> entries)
      : scene_(scene),
        look_(look),
        layout_(layout),
        color_(color),
        texts_(std::move(texts)),
        entries_(std::move(entries)),
        width_(std::max(layout.width + 2 * kMargin, kNarrowestPage)),
        head_(head_height()),
        svg_(width_, head_ + layout.height + foot_height(), texts_.title) {}

  std::string run() {
    write_head();
    origin_ = {(width_ - layout_.width) / 2, head_};
    svg_.begin_group({.id = "graph", .transform = "translate(" + at(origin_) + ")"});
    for (const ClusterFrame& frame : layout_.frames) write_frame(frame);
    for (const EdgePiece& piece : layout_.pieces) write_piece(piece);
    for (const ClusterFrame& frame : layout_.frames) write_frame_title(frame);
    for (std::size_t b = 0; b < scene_.boxes.size(); ++b) write_box(b);
    for (std::size_t e = 0; e < scene_.edges.size(); ++e) write_label(e);
    svg_.end_group();
    write_foot();
    return svg_.document();
  }

 private:
  std::size_t totals_in_row() const { return width_ < 700 ? 4 : 8; }
  double total_width() const {
    return std::min(kWidestTotal, (width_ - 2 * kMargin) / static_cast<double>(totals_in_row()));
  }
  double head_height() const {
    const std::size_t rows = (texts_.totals.size() + totals_in_row() - 1) / totals_in_row();
    return kMargin + 40 + 32 * static_cast<double>(rows) + 16 + subtitle_rest();
  }

  void write_head() {
    svg_.begin_group({.id = "head"});
    const double room = width_ - 2 * kMargin;
    svg_.text({kMargin, kMargin + 14}, fitted(texts_.title, room, kTitleFont), {.font = kTitleFont});
    double y = kMargin + 30;
    for (const std::string& line : wrapped(texts_.subtitle)) {
      svg_.text({kMargin, y}, fitted(line, room, kSmall), {.font = kSmall, .color = kQuietInk});
      y += kSmallLine;
    }
    for (std::size_t i = 0; i < texts_.totals.size(); ++i) {
      const double x = kMargin + total_width() * static_cast<double>(i % totals_in_row());
      const std::size_t row = i / totals_in_row();
      const double top = kMargin + 50 + subtitle_rest() + 32 * static_cast<double>(row);
      svg_.text({x, top}, texts_.totals[i].first, {.font = kSmall, .color = kQuietInk});
      svg_.text({x, top + 14}, texts_.totals[i].second, {.font = kValue});
    }
    svg_.line({kMargin, head_ - 12}, {width_ - kMargin, head_ - 12}, {.stroke = kGrid});
    svg_.end_group();
  }

  void write_frame(const ClusterFrame& frame) {
    const SceneCluster& cluster = scene_.clusters[frame.cluster];
    const Box& box = frame.box;
    if (cluster.repeat > 1)
      svg_.rect({box.x + kStackOffset, box.y + kStackOffset, box.width, box.height},
                {.fill = kPaper, .stroke = kFrameColor}, 5);
    svg_.rect(box, {.fill = frame_color(frame.cluster), .stroke = kFrameColor}, 5);
  }
  std::string_view frame_color(std::uint32_t cluster) const {
    int depth = 0;
    for (std::uint32_t c = scene_.clusters[cluster].parent; c != kNone; c = scene_.clusters[c].parent)
      ++depth;
    return depth % 2 ? kPaper : kPanel;
  }

  // Above the lines that come in from above.
  void write_frame_title(const ClusterFrame& frame) {
    const SceneCluster& cluster = scene_.clusters[frame.cluster];
    const Box& box = frame.box;
    const std::string_view halo = frame_color(frame.cluster);
    const std::string& title = look_.clusters[frame.cluster];
    svg_.text({box.x + 8, box.y + 14}, title, {.font = kClusterFont, .halo = halo});
    const double after = box.x + 8 + text_width(title, kClusterFont) + 7;
    const std::string type = cluster.type + (frame.continued ? std::string(kContinued) : "");
    svg_.text({after, box.y + 14}, fitted(type, box.right() - after - 4, kEdgeFont),
              {.font = kEdgeFont, .color = kQuietInk, .halo = halo});
  }

  void write_piece(const EdgePiece& piece) {
    if (piece.points.size() < 2) return;
    const SceneEdge& edge = scene_.edges[piece.edge];
    const bool faded = is_stub(edge.from) || is_stub(edge.to);
    svg_.begin_group(
        {.css_class = "edge",
         .attributes = {{"data-from", std::to_string(edge.from)}, {"data-to", std::to_string(edge.to)}}});
    const std::string_view color = faded ? kFrameColor : kLineColor;
    svg_.path(piece.is_curve ? curve_path(piece.points) : cornered_path(piece.points),
              {.stroke = color, .stroke_width = 1.1});
    if (piece.arrow) svg_.polygon(arrow_head(piece.points), {.fill = color});
    svg_.end_group();
  }
  bool is_stub(std::uint32_t box) const { return scene_.boxes[box].kind == BoxKind::kStub; }

  void write_label(std::size_t e) {
    const Box& label = layout_.labels[e];
    if (label.width <= 0) return;
    std::string_view below = kPaper;
    for (const ClusterFrame& frame : layout_.frames)
      if (frame.box.contains(label)) below = frame_color(frame.cluster);
    svg_.text(label.center(), look_.edges[e],
              {.font = kEdgeFont,
               .color = kQuietInk,
               .anchor = Anchor::kMiddle,
               .baseline = Baseline::kMiddle,
               .halo = below});
  }

  void write_box(std::size_t b) {
    const SceneBox& box = scene_.boxes[b];
    const BoxLook& look = look_.boxes[b];
    const Box& place = layout_.boxes[b];
    const bool is_end = box.kind == BoxKind::kInput || box.kind == BoxKind::kOutput;
    const double radius = is_end ? place.height / 2 : 4;
    const std::string id = "b" + std::to_string(b);
    svg_.begin_group({.id = id, .css_class = "box", .title = box.path});
    if (box.repeat > 1)
      svg_.rect({place.x + kStackOffset, place.y + kStackOffset, place.width, place.height},
                {.fill = look.fill, .stroke = look.edge}, radius);
    svg_.rect(place,
              {.fill = look.fill,
               .stroke = look.bottleneck ? kMark : std::string_view(look.edge),
               .stroke_width = look.bottleneck ? 1.9 : 1,
               .dash = box.kind == BoxKind::kStub ? "3 2" : ""},
              radius);
    write_lines(look, place);
    write_bar(look, place);
    svg_.end_group();
  }

  void write_lines(const BoxLook& look, const Box& place) {
    const int lines = 1 + !look.type.empty() + !look.cost.empty();
    double y = place.y + (place.height - kLine * lines) / 2 + 10 - (look.bar > 0 ? 1.5 : 0);
    const auto write = [&](const std::string& text, const Font& font, std::string_view color) {
      if (text.empty()) return;
      svg_.text({place.center().x, y}, text, {.font = font, .color = color, .anchor = Anchor::kMiddle});
      y += kLine;
    };
    write(look.name, kNameFont, look.ink);
    write(look.type, kTypeFont, look.ink);
    write(look.cost, kCostFont, look.ink == kInk ? kQuietInk : std::string_view(look.ink));
  }

  // At the foot of the box, as long as its share of the costliest box.
  void write_bar(const BoxLook& look, const Box& place) {
    if (look.bar <= 0.004) return;
    const double room = place.width - 10;
    svg_.rect({place.x + 5, place.bottom() - 4.5, room * look.bar, 2.5}, {.fill = look.ink, .opacity = 0.55},
              1);
  }

  double entry_width(const LegendEntry& entry) const { return 30 + text_width(entry.text, kSmall); }
  // Rows that the legend takes, drawn where there is something to draw on.
  template <class Draw>
  int legend_rows(Draw&& draw) const {
    double x = kMargin;
    int row = 0;
    for (const LegendEntry& entry : entries_) {
      if (x > kMargin && x + entry_width(entry) > width_ - kMargin) x = kMargin, ++row;
      draw(entry, x, row);
      x += entry_width(entry);
    }
    return entries_.empty() ? (color_ == ColorBy::kCost ? 1 : 0) : row + 1;
  }
  double foot_height() const {
    const int rows = legend_rows([](const LegendEntry&, double, int) {});
    return 24 + 16 * rows + kSmallLine * static_cast<double>(wrapped_remarks().size()) + kMargin;
  }
  std::vector<std::string> wrapped_remarks() const {
    std::vector<std::string> lines;
    for (const std::string& remark : texts_.remarks)
      for (std::string& line : wrapped(remark)) lines.push_back(std::move(line));
    return lines;
  }

  // A text in lines as wide as the page.
  std::vector<std::string> wrapped(const std::string& text) const {
    std::vector<std::string> lines(1);
    for (std::size_t at_word = 0; at_word < text.size();) {
      const auto end = std::min(text.find(' ', at_word), text.size());
      const std::string word = text.substr(at_word, end - at_word);
      if (!lines.back().empty() && text_width(lines.back() + " " + word, kSmall) > width_ - 2 * kMargin)
        lines.emplace_back();
      lines.back() += (lines.back().empty() ? "" : " ") + word;
      at_word = end + 1;
    }
    return lines;
  }
  // Height of the subtitle's lines after the first.
  double subtitle_rest() const {
    return kSmallLine * static_cast<double>(wrapped(texts_.subtitle).size() - 1);
  }

  void write_foot() {
    svg_.begin_group({.id = "foot"});
    double y = head_ + layout_.height + 14;
    svg_.line({kMargin, y - 6}, {width_ - kMargin, y - 6}, {.stroke = kGrid});
    const int rows = legend_rows([&](const LegendEntry& entry, double x, int row) {
      const double top = y + 4 + 16 * row;
      svg_.rect({x, top, 14, 10}, {.fill = entry.color, .stroke = entry.edge}, 2);
      svg_.text({x + 19, top + 8.5}, entry.text, {.font = kSmall});
    });
    if (color_ == ColorBy::kCost) {
      svg_.text({kMargin, y + 12.5}, "0%", {.font = kSmall});
      svg_.rect({kMargin + 20, y + 4, 110, 10}, {.fill = svg_.gradient(sequential_stops()), .stroke = kAxis},
                2);
      svg_.text({kMargin + 136, y + 12.5}, "share of FLOPs of the costliest box (root scale)",
                {.font = kSmall});
    }
    y += 16 * rows + 14;
    for (const std::string& line : wrapped_remarks()) {
      svg_.text({kMargin, y}, line, {.font = kSmall, .color = kQuietInk});
      y += kSmallLine;
    }
    svg_.end_group();
  }

  const Scene& scene_;
  const Look& look_;
  const Layout& layout_;
  ColorBy color_;
  PageTexts texts_;
  std::vector<LegendEntry> entries_;
  double width_, head_;
  Point origin_{};
  Svg svg_;
};

}  // namespace

std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, ColorBy color) {
  return Page(scene, look, layout, color, page_texts(scene, color), legend(scene, color)).run();
}

std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, PageTexts texts,
                     std::vector<LegendEntry> entries) {
  return Page(scene, look, layout, ColorBy::kCategory, std::move(texts), std::move(entries)).run();
}

}  // namespace opscope
