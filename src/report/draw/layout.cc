// Each column through Graphviz, then the columns side by side and the lines between them.
#include "report/draw/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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

constexpr double kHeight = 11;
constexpr double kClear = 1.5;  // around a label

Point between(Point a, Point b, double t) { return a + (b - a) * t; }

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

// Puts labels beside their edges, where neither boxes nor other labels are. Graphviz would bend edges to make
// room for them; there is room between the ranks.
struct LabelWriter {
  const Look& look;
  Layout& layout;
  std::vector<Box> placed{}, titles{};

  void run() {
    for (const auto& [cluster, box, continued, title_width] : layout.frames)
      titles.push_back({box.x, box.y, std::min(box.width, 8 + title_width), kClusterTitle});
    for (const EdgePiece& piece : layout.pieces) {
      const bool told = layout.labels[piece.edge].width > 0;
      if (told || look.edges[piece.edge].empty() || piece.points.size() < 2) continue;
      // Better on no cluster's border; on one rather than nowhere.
      if (!place(piece, false)) place(piece, true);
    }
  }

  bool place(const EdgePiece& piece, bool on_borders) {
    const double width = text_width(look.edges[piece.edge], kEdgeFont) + 2;
    for (const double share : {0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.2, 0.8})
      for (const Point p = point_on(piece, share);
           const double left : {p.x + 3, p.x - 3 - width, p.x - width / 2, on_borders ? p.x + 3 : p.x + 16}) {
        const Box label{left, p.y - kHeight / 2, width, kHeight};
        if (!is_free(label) || (!on_borders && on_border(label))) continue;
        layout.labels[piece.edge] = label;
        placed.push_back(label);
        return true;
      }
    return false;
  }

  bool on_border(const Box& label) const {
    return std::ranges::any_of(layout.frames, [&](const ClusterFrame& frame) {
      return frame.box.overlaps(label) && !frame.box.contains(label);
    });
  }

  bool is_free(const Box& label) const {
    const Box wide = label.inset(-kClear);
    const auto hits = [&](const Box& box) { return box.overlaps(wide); };
    return wide.x >= 0 && wide.y >= 0 && wide.right() <= layout.width && wide.bottom() <= layout.height &&
           std::ranges::none_of(layout.boxes, hits) && std::ranges::none_of(placed, hits) &&
           std::ranges::none_of(titles, hits);
  }
};

struct Port {
  std::uint32_t box = 0;  // that the tensor is from
  std::uint32_t edge = 0;
  std::uint32_t node = 0;  // its number in the column's DOT
};

struct BoxColumn {
  std::vector<std::uint32_t> boxes;
  std::set<std::uint32_t> clusters;  // that its boxes are in
  std::vector<Port> exits, entries;
  std::vector<EdgePiece> pieces;  // by the id of the DOT's edge; points come from Graphviz
  std::string edge_lines;         // of the DOT
  std::uint32_t next_node = 0;    // of the DOT: boxes first, then ports
  Placement placed;
  double x = 0;
};

// What goes from one column to another.
struct Net {
  std::size_t from = 0, to = 0;  // columns
  Port entry;
  std::size_t lane = 0, top = 0;  // at the foot of the column and above all columns
};

struct Builder {
  const Scene& scene;
  const Look& look;
  std::vector<std::uint32_t> column_of = choose_columns(scene, look);
  std::vector<BoxColumn> columns{};
  std::vector<Net> nets{};
  double top = 0;
  Layout layout{};

  Layout run() {
    columns.resize(scene.boxes.empty() ? 0 : std::ranges::max(column_of) + 1);
    for (BoxColumn& column : columns) column.next_node = static_cast<std::uint32_t>(scene.boxes.size());
    for (std::uint32_t b = 0; b < scene.boxes.size(); ++b) {
      columns[column_of[b]].boxes.push_back(b);
      for (const std::uint32_t c : clusters_of(scene, scene.boxes[b]))
        columns[column_of[b]].clusters.insert(c);
    }
    for (std::uint32_t e = 0; e < scene.edges.size(); ++e) add_edge(e);
    layout.boxes.resize(scene.boxes.size());
    layout.labels.resize(scene.edges.size());
    for (std::uint32_t c = 0; c < columns.size(); ++c) columns[c].placed = place(dot_of(c));
    put_side_by_side();
    for (std::uint32_t c = 0; c < columns.size(); ++c) take(c);
    add_connectors();
    LabelWriter{look, layout}.run();
    return std::move(layout);
  }

  void add_edge(std::uint32_t e) {
    const SceneEdge& edge = scene.edges[e];
    const std::uint32_t from = column_of[edge.from], to = column_of[edge.to];
    BoxColumn &giver = columns[from], &taker = columns[to];
    if (from == to) return add_line(giver, edge.from, edge.to, e, true);
    add_line(taker, port(taker, taker.entries, e), edge.to, e, true);
    if (std::ranges::find(giver.exits, edge.from, &Port::box) == giver.exits.end())
      add_line(giver, edge.from, port(giver, giver.exits, e), e, false);
  }

  std::uint32_t port(BoxColumn& column, std::vector<Port>& ports, std::uint32_t e) {
    const std::uint32_t box = scene.edges[e].from;
    const auto found = std::ranges::find(ports, box, &Port::box);
    if (found != ports.end()) return found->node;
    ports.push_back({box, e, column.next_node});
    return column.next_node++;
  }

  void add_line(BoxColumn& column, std::uint32_t from, std::uint32_t to, std::uint32_t e, bool arrow) {
    // The order in which things run is kept straight, what skips bends.
    const bool straight = to == from + 1 || to >= scene.boxes.size() || from >= scene.boxes.size();
    column.edge_lines += fmt::format("n{} -> n{} [id=\"{}\"{}]\n", from, to, column.pieces.size(),
                                     straight ? " weight=300" : "");
    column.pieces.push_back({e, {}, true, arrow});
  }

  void write_cluster(std::uint32_t column, std::uint32_t cluster, std::string& out) const {
    for (const std::uint32_t b : columns[column].boxes) {
      if (scene.boxes[b].cluster != cluster) continue;
      const double extra = scene.boxes[b].repeat > 1 ? kStackOffset : 0;
      const BoxLook& box = look.boxes[b];
      out +=
          fmt::format("n{} [width={} height={}]\n", b, inches(box.width + extra), inches(box.height + extra));
    }
    for (std::uint32_t c = 0; c < scene.clusters.size(); ++c) {
      if (scene.clusters[c].parent != cluster || !columns[column].clusters.contains(c)) continue;
      out += fmt::format("subgraph cluster_{} {{ margin=9 labeljust=l label=", c) +
             space(title_width(c, continues(column, c)), kClusterTitle - 4) + "\n";
      write_cluster(column, c, out);
      out += "}\n";
    }
  }
  double title_width(std::uint32_t cluster, bool continued) const {
    return text_width(look.clusters[cluster], kClusterFont) + 14 +
           text_width(scene.clusters[cluster].type, kEdgeFont) +
           (continued ? text_width(kContinued, kEdgeFont) : 0);
  }
  bool continues(std::uint32_t column, std::uint32_t cluster) const {
    return std::ranges::any_of(std::span(columns).first(column),
                               [&](const BoxColumn& c) { return c.clusters.contains(cluster); });
  }

  static void write_ports(const std::vector<Port>& ports, const char* rank, std::string& out) {
    if (ports.empty()) return;
    out += fmt::format("{{ rank={}\n", rank);
    for (const Port& port : ports) out += fmt::format("n{} [width=0.02 height=0.02]\n", port.node);
    out += "}\n";
  }

  std::string dot_of(std::uint32_t column) const {
    std::string out = fmt::format(
        "digraph g {{\ngraph [nodesep=0.2 ranksep=0.42{}]\n"
        "node [shape=box fixedsize=true label=\"\"]\nedge [arrowhead=none]\n",
        columns[column].pieces.size() > kManyEdges ? " nslimit=1 mclimit=0.2" : "");
    write_cluster(column, kNone, out);
    write_ports(columns[column].entries, "source", out);
    write_ports(columns[column].exits, "sink", out);
    return out + columns[column].edge_lines + "}\n";
  }

  void put_side_by_side() {
    for (std::size_t c = 0; c < columns.size(); ++c)
      for (const Port& entry : columns[c].entries) nets.push_back({column_of[entry.box], c, entry, 0, 0});
    order_nets();
    top = nets.empty() ? 0 : kLane * static_cast<double>(nets.size()) + 8;
    double x = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      columns[c].x = x;
      x += columns[c].placed.width;
      layout.height = std::max(layout.height, top + columns[c].placed.height +
                                                  kLane * static_cast<double>(columns[c].exits.size()) + 6);
      if (c + 1 < columns.size() || !columns[c].exits.empty())
        x += kGutter + kLane * static_cast<double>(columns[c].exits.size());
    }
    layout.width = x;
  }

  // Nearer the gutter is nearer the column, so that lines of one column do not cross each other.
  void order_nets() {
    for (BoxColumn& column : columns)
      std::ranges::stable_sort(column.exits, std::greater{},
                               [&](const Port& port) { return column.placed.nodes[port.node].x; });
    for (Net& net : nets) {
      const auto& exits = columns[net.from].exits;
      net.lane =
          static_cast<std::size_t>(std::ranges::find(exits, net.entry.box, &Port::box) - exits.begin());
    }
    std::ranges::stable_sort(nets, std::greater{}, [](const Net& n) {
      return std::pair(std::max(n.to, n.from) - std::min(n.to, n.from), n.lane);
    });
    for (std::size_t i = 0; i < nets.size(); ++i) nets[i].top = i;
  }

  Box moved(Box box, std::uint32_t column) const {
    return {box.x + columns[column].x, box.y + top, box.width, box.height};
  }

  void take(std::uint32_t c) {
    BoxColumn& column = columns[c];
    for (const std::uint32_t b : column.boxes) {
      Box box = moved(column.placed.nodes[b], c);
      if (scene.boxes[b].repeat > 1) box.width -= kStackOffset, box.height -= kStackOffset;
      layout.boxes[b] = box;
    }
    for (const std::uint32_t k : column.clusters) {
      const bool continued = continues(c, k);
      layout.frames.push_back({k, moved(column.placed.clusters[k], c), continued, title_width(k, continued)});
    }
    for (std::size_t i = 0; i < column.pieces.size(); ++i) {
      EdgePiece& piece = column.pieces[i];
      if (i < column.placed.edges.size()) piece.points = column.placed.edges[i];
      for (Point& p : piece.points) p = p + Point{column.x, top};
      layout.pieces.push_back(std::move(piece));
    }
  }

  void add_connectors() {
    for (const Net& net : nets) {
      const BoxColumn &from = columns[net.from], &to = columns[net.to];
      const Port& exit = from.exits[net.lane];
      const Point out = moved(from.placed.nodes[exit.node], static_cast<std::uint32_t>(net.from)).center();
      const Point in = moved(to.placed.nodes[net.entry.node], static_cast<std::uint32_t>(net.to)).center();
      const double low = top + from.placed.height + 4 + kLane * static_cast<double>(net.lane);
      const double side = from.x + from.placed.width + kGutter / 2 + kLane * static_cast<double>(net.lane);
      const double high = 4 + kLane * static_cast<double>(net.top);
      layout.pieces.push_back(
          {net.entry.edge, {out, {out.x, low}, {side, low}, {side, high}, {in.x, high}, in}, false, false});
    }
  }
};

}  // namespace

Layout make_layout(const Scene& scene, const Look& look) { return Builder{scene, look}.run(); }

}  // namespace opscope
