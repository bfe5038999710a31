// Labels beside their edges. Graphviz would bend edges to make room for them; there is room between the
// ranks.
#include <algorithm>
#include <array>

#include "report/draw/layout.h"

namespace opscope {
namespace {

constexpr double kHeight = 11;
constexpr double kClear = 1.5;  // around a label

Point between(Point a, Point b, double t) { return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t}; }

Point on_bezier(std::span<const Point, 4> p, double t) {
  const Point a = between(p[0], p[1], t), b = between(p[1], p[2], t), c = between(p[2], p[3], t);
  return between(between(a, b, t), between(b, c, t), t);
}

Point point_on(const EdgePiece& piece, double share) {
  const std::size_t step = piece.is_curve ? 3 : 1;
  const std::size_t parts = (piece.points.size() - 1) / step;
  const double at = share * static_cast<double>(parts);
  const std::size_t part = std::min(static_cast<std::size_t>(at), parts - 1);
  const double t = at - static_cast<double>(part);
  const Point* first = piece.points.data() + part * step;
  return piece.is_curve ? on_bezier(std::span<const Point, 4>(first, 4), t) : between(first[0], first[1], t);
}

class Placer {
 public:
  Placer(const Look& look, Layout& layout) : look_(look), layout_(layout) {
    for (const ClusterFrame& frame : layout.frames)
      titles_.push_back(
          {frame.box.x, frame.box.y, std::min(frame.box.width, 8 + frame.title_width), kClusterTitle});
  }

  void run() {
    for (const EdgePiece& piece : layout_.pieces) {
      const bool told = layout_.labels[piece.edge].width > 0;
      if (!told && !look_.edges[piece.edge].empty() && piece.points.size() > 1) place(piece);
    }
  }

 private:
  void place(const EdgePiece& piece) {
    const double width = text_width(look_.edges[piece.edge], kEdgeFont) + 2;
    // Better on no cluster's border; on one rather than nowhere.
    if (!place(piece, width, false)) place(piece, width, true);
  }

  bool place(const EdgePiece& piece, double width, bool on_borders) {
    for (const double share : {0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.2, 0.8})
      for (const Point p = point_on(piece, share);
           const double left : {p.x + 3, p.x - 3 - width, p.x - width / 2, on_borders ? p.x + 3 : p.x + 16}) {
        const Box label{left, p.y - kHeight / 2, width, kHeight};
        if (!is_free(label) || (!on_borders && on_border(label))) continue;
        layout_.labels[piece.edge] = label;
        placed_.push_back(label);
        return true;
      }
    return false;
  }

  bool on_border(const Box& label) const {
    return std::ranges::any_of(layout_.frames, [&](const ClusterFrame& frame) {
      return frame.box.overlaps(label) && !frame.box.contains(label);
    });
  }

  bool is_free(const Box& label) const {
    const Box wide = label.inset(-kClear);
    const auto hits = [&](const Box& box) { return box.overlaps(wide); };
    return wide.x >= 0 && wide.y >= 0 && wide.right() <= layout_.width && wide.bottom() <= layout_.height &&
           std::ranges::none_of(layout_.boxes, hits) && std::ranges::none_of(placed_, hits) &&
           std::ranges::none_of(titles_, hits);
  }

  const Look& look_;
  Layout& layout_;
  std::vector<Box> placed_, titles_;
};

}  // namespace

void place_labels(const Look& look, Layout& layout) { Placer(look, layout).run(); }

}  // namespace opscope
