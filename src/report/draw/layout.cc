// Each column through Graphviz, then the columns side by side and the lines between them.
#include "report/draw/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace opscope {
namespace {

constexpr double kLane = 7, kGutter = 26;
constexpr std::size_t kManyEdges = 150;  // from here on Graphviz is told to look for less: five times faster
constexpr double kPoints = 72;           // Graphviz's sizes are in inches

std::string inches(double units) { return fmt::format("{:.4f}", units / kPoints); }

// Space for text that we draw ourselves: Graphviz measures no fonts.
std::string space(double width, double height) {
  return fmt::format(
      "<<table border=\"0\" cellborder=\"0\" fixedsize=\"true\" width=\"{:.0f}\" height=\"{:.0f}\">"
      "<tr><td></td></tr></table>>",
      width, height);
}

struct Port {
  std::uint32_t box = 0;  // that the tensor is from
  std::uint32_t edge = 0;
  std::uint32_t node = 0;  // its number in the column's DOT
};

struct BoxColumn {
  std::vector<std::uint32_t> boxes;
  std::vector<Port> exits, entries;
  std::vector<EdgePiece> pieces;  // by the id of the DOT's edge; points come from Graphviz
  Placement placed;
  double x = 0;
};

class Builder {
 public:
  Builder(const Scene& scene, const Look& look)
      : scene_(scene), look_(look), column_of_(choose_columns(scene, look)) {
    columns_.resize(scene.boxes.empty() ? 0 : std::ranges::max(column_of_) + 1);
    for (std::uint32_t b = 0; b < scene.boxes.size(); ++b) columns_[column_of_[b]].boxes.push_back(b);
    next_node_.assign(columns_.size(), static_cast<std::uint32_t>(scene.boxes.size()));
    edge_lines_.resize(columns_.size());
    for (std::uint32_t e = 0; e < scene.edges.size(); ++e) add_edge(e);
  }

  Layout run() {
    layout_.boxes.resize(scene_.boxes.size());
    layout_.labels.resize(scene_.edges.size());
    for (std::uint32_t c = 0; c < columns_.size(); ++c) columns_[c].placed = place(dot_of(c));
    put_side_by_side();
    for (std::uint32_t c = 0; c < columns_.size(); ++c) take(c);
    add_connectors();
    place_labels(look_, layout_);
    return std::move(layout_);
  }

 private:
  void add_edge(std::uint32_t e) {
    const SceneEdge& edge = scene_.edges[e];
    const std::uint32_t from = column_of_[edge.from], to = column_of_[edge.to];
    if (from == to) return add_line(from, edge.from, edge.to, e, true);
    add_line(to, port(columns_[to].entries, to, e), edge.to, e, true);
    if (std::ranges::find(columns_[from].exits, edge.from, &Port::box) == columns_[from].exits.end())
      add_line(from, edge.from, port(columns_[from].exits, from, e), e, false);
  }

  std::uint32_t port(std::vector<Port>& ports, std::uint32_t column, std::uint32_t e) {
    const std::uint32_t box = scene_.edges[e].from;
    const auto found = std::ranges::find(ports, box, &Port::box);
    if (found != ports.end()) return found->node;
    ports.push_back({box, e, next_node_[column]});
    return next_node_[column]++;
  }

  void add_line(std::uint32_t column, std::uint32_t from, std::uint32_t to, std::uint32_t e, bool arrow) {
    BoxColumn& c = columns_[column];
    std::string line = fmt::format("n{} -> n{} [id=\"{}\"", from, to, c.pieces.size());
    // The order in which things run is kept straight, what skips bends.
    if (to == from + 1 || to >= scene_.boxes.size() || from >= scene_.boxes.size()) line += " weight=300";
    edge_lines_[column] += line + "]\n";
    c.pieces.push_back({e, {}, true, arrow});
  }

  void write_cluster(std::uint32_t column, std::uint32_t cluster, std::string& out) const {
    for (const std::uint32_t b : columns_[column].boxes) {
      if (scene_.boxes[b].cluster != cluster) continue;
      const double extra = scene_.boxes[b].repeat > 1 ? kStackOffset : 0;
      const BoxLook& box = look_.boxes[b];
      out +=
          fmt::format("n{} [width={} height={}]\n", b, inches(box.width + extra), inches(box.height + extra));
    }
    for (std::uint32_t c = 0; c < scene_.clusters.size(); ++c) {
      if (scene_.clusters[c].parent != cluster || !is_in(column, c)) continue;
      out += fmt::format("subgraph cluster_{} {{ margin=9 labeljust=l label=", c) +
             space(title_width(c, continues(column, c)), kClusterTitle - 4) + "\n";
      write_cluster(column, c, out);
      out += "}\n";
    }
  }
  double title_width(std::uint32_t cluster, bool continued) const {
    return text_width(look_.clusters[cluster], kClusterFont) + 14 +
           text_width(scene_.clusters[cluster].type, kEdgeFont) +
           (continued ? text_width(kContinued, kEdgeFont) : 0);
  }
  bool continues(std::uint32_t column, std::uint32_t cluster) const {
    for (std::uint32_t c = 0; c < column; ++c)
      if (is_in(c, cluster)) return true;
    return false;
  }
  bool is_in(std::uint32_t column, std::uint32_t cluster) const {
    return std::ranges::any_of(columns_[column].boxes, [&](std::uint32_t b) {
      for (std::uint32_t c = scene_.boxes[b].cluster; c != kNone; c = scene_.clusters[c].parent)
        if (c == cluster) return true;
      return false;
    });
  }

  static void write_ports(const std::vector<Port>& ports, const char* rank, std::string& out) {
    if (ports.empty()) return;
    out += fmt::format("{{ rank={}\n", rank);
    for (const Port& port : ports) out += fmt::format("n{} [width=0.02 height=0.02]\n", port.node);
    out += "}\n";
  }

  std::string dot_of(std::uint32_t column) const {
    const std::string hurry = columns_[column].pieces.size() > kManyEdges ? " nslimit=1 mclimit=0.2" : "";
    std::string out = "digraph g {\ngraph [nodesep=0.2 ranksep=0.42" + hurry +
                      "]\n"
                      "node [shape=box fixedsize=true label=\"\"]\nedge [arrowhead=none]\n";
    write_cluster(column, kNone, out);
    write_ports(columns_[column].entries, "source", out);
    write_ports(columns_[column].exits, "sink", out);
    return out + edge_lines_[column] + "}\n";
  }

  void put_side_by_side() {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      for (const Port& entry : columns_[c].entries) nets_.push_back({column_of_[entry.box], c, entry, 0, 0});
    order_nets();
    top_ = nets_.empty() ? 0 : kLane * static_cast<double>(nets_.size()) + 8;
    double x = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      columns_[c].x = x;
      x += columns_[c].placed.width;
      layout_.height =
          std::max(layout_.height, top_ + columns_[c].placed.height +
                                       kLane * static_cast<double>(columns_[c].exits.size()) + 6);
      if (c + 1 < columns_.size() || !columns_[c].exits.empty())
        x += kGutter + kLane * static_cast<double>(columns_[c].exits.size());
    }
    layout_.width = x;
  }

  // Nearer the gutter is nearer the column, so that lines of one column do not cross each other.
  void order_nets() {
    for (BoxColumn& column : columns_)
      std::ranges::stable_sort(column.exits, [&](const Port& a, const Port& b) {
        return column.placed.nodes[a.node].x > column.placed.nodes[b.node].x;
      });
    for (Net& net : nets_) {
      const auto& exits = columns_[net.from].exits;
      net.lane =
          static_cast<std::size_t>(std::ranges::find(exits, net.entry.box, &Port::box) - exits.begin());
    }
    std::ranges::stable_sort(nets_, [](const Net& a, const Net& b) {
      const auto key = [](const Net& n) {
        return std::pair(std::max(n.to, n.from) - std::min(n.to, n.from), n.lane);
      };
      return key(a) > key(b);
    });
    for (std::size_t i = 0; i < nets_.size(); ++i) nets_[i].top = i;
  }

  Box moved(Box box, std::uint32_t column) const {
    return {box.x + columns_[column].x, box.y + top_, box.width, box.height};
  }

  void take(std::uint32_t c) {
    BoxColumn& column = columns_[c];
    for (const std::uint32_t b : column.boxes) {
      Box box = moved(column.placed.nodes[b], c);
      if (scene_.boxes[b].repeat > 1) box.width -= kStackOffset, box.height -= kStackOffset;
      layout_.boxes[b] = box;
    }
    for (std::uint32_t k = 0; k < scene_.clusters.size(); ++k)
      if (is_in(c, k)) {
        const bool continued = continues(c, k);
        layout_.frames.push_back(
            {k, moved(column.placed.clusters[k], c), continued, title_width(k, continued)});
      }
    for (std::size_t i = 0; i < column.pieces.size(); ++i) {
      EdgePiece& piece = column.pieces[i];
      if (i < column.placed.edges.size()) piece.points = column.placed.edges[i];
      for (Point& p : piece.points) p.x += column.x, p.y += top_;
      layout_.pieces.push_back(std::move(piece));
    }
  }

  void add_connectors() {
    for (const Net& net : nets_) {
      const BoxColumn &from = columns_[net.from], &to = columns_[net.to];
      const Port& exit = from.exits[net.lane];
      const Point out = moved(from.placed.nodes[exit.node], static_cast<std::uint32_t>(net.from)).center();
      const Point in = moved(to.placed.nodes[net.entry.node], static_cast<std::uint32_t>(net.to)).center();
      const double low = top_ + from.placed.height + 4 + kLane * static_cast<double>(net.lane);
      const double side = from.x + from.placed.width + kGutter / 2 + kLane * static_cast<double>(net.lane);
      const double high = 4 + kLane * static_cast<double>(net.top);
      layout_.pieces.push_back(
          {net.entry.edge, {out, {out.x, low}, {side, low}, {side, high}, {in.x, high}, in}, false, false});
    }
  }

  struct Net {
    std::size_t from = 0, to = 0;  // columns
    Port entry;
    std::size_t lane = 0, top = 0;  // at the foot of the column and above all columns
  };

  const Scene& scene_;
  const Look& look_;
  std::vector<std::uint32_t> column_of_;
  std::vector<BoxColumn> columns_;
  std::vector<std::uint32_t> next_node_;
  std::vector<std::string> edge_lines_;
  std::vector<Net> nets_;
  double top_ = 0;
  Layout layout_;
};

}  // namespace

Layout make_layout(const Scene& scene, const Look& look) { return Builder(scene, look).run(); }

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
