// A laid out scene as one SVG page: title and totals, the graph, the legend.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/draw/layout.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr double kMargin = 22, kNarrowestPage = 560, kWidestTotal = 104, kSmallLine = 13;
constexpr std::string_view kLineColor = "#6b7280", kFrameColor = "#c3c8d0", kMark = "#b3202e";
constexpr Font kTitleFont{17, true}, kSmall{9}, kValue{11.5, true};

std::string at(Point p) { return svg_number(p.x) + " " + svg_number(p.y); }

std::string curve_path(const std::vector<Point>& points) {
  std::string d = "M" + at(points[0]);
  for (std::size_t i = 1; i + 2 < points.size(); i += 3)
    d += "C" + at(points[i]) + " " + at(points[i + 1]) + " " + at(points[i + 2]);
  return d;
}

Point towards(Point from, Point to, double by) {
  const double length = distance(from, to);
  return length < 1e-9 ? from : from + (to - from) * std::min(by / length, 0.5);
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
  for (std::size_t i = points.size() - 1; i-- > 0 && distance(before, tip) < 1;) before = points[i];
  const double length = std::max(distance(before, tip), 1e-9);
  const Point along{(tip.x - before.x) / length, (tip.y - before.y) / length}, across{-along.y, along.x};
  return {tip, tip - along * 6 + across * 2.6, tip - along * 6 - across * 2.6};
}

struct Page {
  const Scene& scene;
  const Look& look;
  const Layout& layout;
  ColorBy color;
  PageTexts texts;
  std::vector<LegendEntry> entries;
  double width = std::max(layout.width + 2 * kMargin, kNarrowestPage), room = width - 2 * kMargin;
  std::vector<std::string> subtitle = wrapped(texts.subtitle, room, kSmall);
  std::vector<std::string> remarks = wrapped_remarks();
  double head = head_height();
  Svg svg{width, head + layout.height + foot_height(), texts.title};

  std::string run() {
    write_head();
    const Point origin{(width - layout.width) / 2, head};
    svg.begin_group({.id = "graph", .transform = "translate(" + at(origin) + ")"});
    for (const ClusterFrame& frame : layout.frames) write_frame(frame);
    for (const EdgePiece& piece : layout.pieces) write_piece(piece);
    for (const ClusterFrame& frame : layout.frames) write_frame_title(frame);
    for (std::size_t b = 0; b < scene.boxes.size(); ++b) write_box(b);
    for (std::size_t e = 0; e < scene.edges.size(); ++e) write_label(e);
    svg.end_group();
    write_foot();
    return svg.document();
  }

  std::size_t totals_in_row() const { return width < 700 ? 4 : 8; }
  double totals_top() const { return kMargin + 37 + kSmallLine * static_cast<double>(subtitle.size()); }
  double head_height() const {
    const std::size_t rows = (texts.totals.size() + totals_in_row() - 1) / totals_in_row();
    return totals_top() + 32 * static_cast<double>(rows) + 6;
  }

  void write_head() {
    svg.begin_group({.id = "head"});
    svg.text({kMargin, kMargin + 14}, fitted(texts.title, room, kTitleFont), {.font = kTitleFont});
    for (std::string& line : subtitle) line = fitted(line, room, kSmall);
    write_quiet(subtitle, kMargin + 30);
    const double column = std::min(kWidestTotal, room / static_cast<double>(totals_in_row()));
    for (std::size_t i = 0; i < texts.totals.size(); ++i) {
      const std::size_t line = i / totals_in_row();
      const double x = kMargin + column * static_cast<double>(i % totals_in_row());
      const double top = totals_top() + 32 * static_cast<double>(line);
      svg.text({x, top}, texts.totals[i].first, {.font = kSmall, .color = kQuietInk});
      svg.text({x, top + 14}, texts.totals[i].second, {.font = kValue});
    }
    svg.line({kMargin, head - 12}, {width - kMargin, head - 12}, {.stroke = kGrid});
    svg.end_group();
  }
  void write_quiet(const std::vector<std::string>& lines, double y) {
    for (const std::string& line : lines) {
      svg.text({kMargin, y}, line, {.font = kSmall, .color = kQuietInk});
      y += kSmallLine;
    }
  }

  void write_frame(const ClusterFrame& frame) {
    const SceneCluster& cluster = scene.clusters[frame.cluster];
    write_sheets(frame.box, cluster.repeat, {.fill = kPaper, .stroke = kFrameColor},
                 {.fill = frame_color(frame.cluster), .stroke = kFrameColor}, 5);
  }
  std::string_view frame_color(std::uint32_t cluster) const {
    bool outer = true;
    for (std::uint32_t c = scene.clusters[cluster].parent; c != kNone; c = scene.clusters[c].parent)
      outer = !outer;
    return outer ? kPanel : kPaper;
  }

  // Above the lines that come in from above.
  void write_frame_title(const ClusterFrame& frame) {
    const SceneCluster& cluster = scene.clusters[frame.cluster];
    const Box& box = frame.box;
    const std::string_view halo = frame_color(frame.cluster);
    const std::string& title = look.clusters[frame.cluster];
    svg.text({box.x + 8, box.y + 14}, title, {.font = kClusterFont, .halo = halo});
    const double after = box.x + 8 + text_width(title, kClusterFont) + 7;
    const std::string type = cluster.type + (frame.continued ? std::string(kContinued) : "");
    svg.text({after, box.y + 14}, fitted(type, box.right() - after - 4, kEdgeFont),
             {.font = kEdgeFont, .color = kQuietInk, .halo = halo});
  }

  void write_piece(const EdgePiece& piece) {
    if (piece.points.size() < 2) return;
    const SceneEdge& edge = scene.edges[piece.edge];
    const bool faded = is_stub(edge.from) || is_stub(edge.to);
    svg.begin_group(
        {.css_class = "edge",
         .attributes = {{"data-from", std::to_string(edge.from)}, {"data-to", std::to_string(edge.to)}}});
    const std::string_view ink = faded ? kFrameColor : kLineColor;
    svg.path(piece.is_curve ? curve_path(piece.points) : cornered_path(piece.points),
             {.stroke = ink, .stroke_width = 1.1});
    if (piece.arrow) svg.polygon(arrow_head(piece.points), {.fill = ink});
    svg.end_group();
  }
  bool is_stub(std::uint32_t box) const { return scene.boxes[box].kind == BoxKind::kStub; }

  void write_label(std::size_t e) {
    const Box& label = layout.labels[e];
    if (label.width <= 0) return;
    std::string_view below = kPaper;
    for (const ClusterFrame& frame : layout.frames)
      if (frame.box.contains(label)) below = frame_color(frame.cluster);
    svg.text(
        label.center(), look.edges[e],
        {.font = kEdgeFont, .color = kQuietInk, .anchor = Anchor::kMiddle, .centred = true, .halo = below});
  }

  // With a second sheet behind what repeats.
  void write_sheets(const Box& box, std::uint32_t repeat, const Paint& behind, const Paint& paint,
                    double radius) {
    if (repeat > 1)
      svg.rect({box.x + kStackOffset, box.y + kStackOffset, box.width, box.height}, behind, radius);
    svg.rect(box, paint, radius);
  }

  void write_box(std::size_t b) {
    const SceneBox& box = scene.boxes[b];
    const BoxLook& its = look.boxes[b];
    const Box& place = layout.boxes[b];
    const std::string id = "b" + std::to_string(b);
    svg.begin_group({.id = id, .css_class = "box", .title = box.path});
    write_sheets(place, box.repeat, {.fill = its.fill, .stroke = its.edge},
                 {.fill = its.fill,
                  .stroke = its.bottleneck ? kMark : std::string_view(its.edge),
                  .stroke_width = its.bottleneck ? 1.9 : 1,
                  .dash = box.kind == BoxKind::kStub ? "3 2" : ""},
                 is_end(box) ? place.height / 2 : 4);
    double y = place.y + (place.height - kLine * its.lines()) / 2 + 10 - (its.bar > 0 ? 1.5 : 0);
    const auto write = [&](const std::string& text, const Font& font, std::string_view ink) {
      if (text.empty()) return;
      svg.text({place.center().x, y}, text, {.font = font, .color = ink, .anchor = Anchor::kMiddle});
      y += kLine;
    };
    write(its.name, kNameFont, its.ink);
    write(its.type, kTypeFont, its.ink);
    write(its.cost, kCostFont, its.ink == kInk ? kQuietInk : std::string_view(its.ink));
    // At the foot of the box, as long as its share of the costliest box.
    if (its.bar > 0.004)
      svg.rect({place.x + 5, place.bottom() - 4.5, (place.width - 10) * its.bar, 2.5},
               {.fill = its.ink, .opacity = 0.55}, 1);
    svg.end_group();
  }

  double entry_width(const LegendEntry& entry) const { return 30 + text_width(entry.text, kSmall); }
  // Rows that the legend takes, drawn where there is something to draw on.
  template <class Draw>
  int legend_rows(Draw&& draw) const {
    double x = kMargin;
    int row = 0;
    for (const LegendEntry& entry : entries) {
      if (x > kMargin && x + entry_width(entry) > width - kMargin) x = kMargin, ++row;
      draw(entry, x, row);
      x += entry_width(entry);
    }
    return entries.empty() ? (is_by_share(color) ? 1 : 0) : row + 1;
  }
  double foot_height() const {
    const int rows = legend_rows([](const LegendEntry&, double, int) {});
    return 24 + 16 * rows + kSmallLine * static_cast<double>(remarks.size()) + kMargin;
  }
  std::vector<std::string> wrapped_remarks() const {
    std::vector<std::string> lines;
    for (const std::string& remark : texts.remarks)
      std::ranges::move(wrapped(remark, room, kSmall), std::back_inserter(lines));
    return lines;
  }

  void write_foot() {
    svg.begin_group({.id = "foot"});
    const double y = head + layout.height + 14;
    svg.line({kMargin, y - 6}, {width - kMargin, y - 6}, {.stroke = kGrid});
    const int rows = legend_rows([&](const LegendEntry& entry, double x, int row) {
      const double top = y + 4 + 16 * row;
      svg.rect({x, top, 14, 10}, {.fill = entry.color, .stroke = entry.edge}, 2);
      svg.text({x + 19, top + 8.5}, entry.text, {.font = kSmall});
    });
    if (is_by_share(color)) {
      svg.text({kMargin, y + 12.5}, "0%", {.font = kSmall});
      svg.rect({kMargin + 20, y + 4, 110, 10}, {.fill = svg.gradient(sequential_stops()), .stroke = kAxis},
               2);
      svg.text({kMargin + 136, y + 12.5},
               fmt::format("share of {} of the costliest box (root scale)", share_words(color)),
               {.font = kSmall});
    }
    write_quiet(remarks, y + 16 * rows + 14);
    svg.end_group();
  }
};

}  // namespace

std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, ColorBy color) {
  return Page{scene, look, layout, color, page_texts(scene, color), legend(scene, color)}.run();
}

std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, PageTexts texts,
                     std::vector<LegendEntry> entries) {
  return Page{scene, look, layout, ColorBy::kCategory, std::move(texts), std::move(entries)}.run();
}

}  // namespace opscope
