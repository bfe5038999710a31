// A diff as a picture: which parts of it are boxes, in which order they run, and what goes from one to the
// other, in the colours of additions, removals and changes.
#include <algorithm>
#include <set>

#include "analyse/tree/module_tree.h"
#include "analyse/tree/scene.h"
#include "base/error.h"
#include "report/diff/report.h"
#include "report/draw/layout.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr double kNever = 1e18;  // of when a part runs
constexpr double kWidestBox = 230, kSide = 9;
constexpr std::size_t kMostDiffBoxes = 300;

struct StatusColor {
  std::string_view fill, edge, word;
};
// By status.
constexpr std::array<StatusColor, kDiffStatuses> kColors{{{"#f6f7f9", "#c3c8d0", "unchanged"},
                                                          {"#fdf0d0", "#c98a00", "changed"},
                                                          {"#d9f2dd", "#2a8a4a", "added"},
                                                          {"#fadcdc", "#b3202e", "removed"},
                                                          {"#dfe8f7", "#2f6db5", "moved or renamed"}}};

// What a box of the scene is of the diff.
struct DiffBox {
  DiffStatus status = DiffStatus::kUnchanged;
  std::vector<std::uint32_t> nodes{};  // of the diff; of blocks that changed alike, the first's
  bool follow = false;                 // all of them follow their inputs
  Amounts change{};                    // of one
};

struct DiffScene {
  Scene scene;                 // without a view
  std::vector<DiffBox> boxes;  // by box of the scene
};

// Modules that hold a change are opened as far as fits, what is unchanged is in few boxes.
struct DiffSceneMaker {
  const ModelDiff& diff;
  const Profile &base, &now;
  std::size_t most;
  std::vector<double> first_run = std::vector<double>(diff.nodes.size(), kNever);            // by node
  std::vector<std::uint32_t> box_of = std::vector<std::uint32_t>(diff.nodes.size(), kNone);  // by node
  std::set<std::uint32_t> opened{0};                                                         // nodes
  std::set<std::uint64_t> known{};                                                           // edges
  DiffScene out{};

  DiffScene run() {
    find_runs();
    open_what_fits();
    add_parts(0, kNone, "");
    add_ends();
    add_edges(now, box_of_layers(diff.new_tree, diff.now.layers.size(), &DiffNode::now), false);
    add_edges(base, box_of_layers(diff.base_tree, diff.base.layers.size(), &DiffNode::base), true);
    std::ranges::stable_sort(out.scene.edges, {}, &SceneEdge::to);
    return std::move(out);
  }

  // When each part first runs, in layers of the new model; what is removed runs right after what it followed.
  void find_runs() {
    std::vector<std::uint32_t> of_base(diff.base.layers.size(), kNone);
    for (std::uint32_t n = 0; n < diff.nodes.size(); ++n) {
      const DiffNode& node = diff.nodes[n];
      if (node.now != kNone)
        for (const std::uint32_t layer : diff.new_tree.items[node.now].layers) see(n, layer);
      if (node.base != kNone)
        for (const std::uint32_t layer : diff.base_tree.items[node.base].layers) of_base[layer] = n;
    }
    double at = -1;
    for (const std::uint32_t n : of_base) {
      if (n == kNone) continue;
      if (diff.nodes[n].now != kNone)
        at = first_run[n];
      else
        see(n, at += 1e-4);
    }
  }
  void see(std::uint32_t n, double when) {
    for (; n != kNone; n = diff.nodes[n].parent) first_run[n] = std::min(first_run[n], when);
  }

  // A row of boxes: children in the order they run, what changed alike as one, what is unchanged in a row as
  // one.
  std::vector<DiffBox> parts_of(std::uint32_t parent) const {
    std::vector<std::uint32_t> children = diff.nodes[parent].children;
    std::erase_if(children,
                  [&](std::uint32_t c) { return first_run[c] == kNever && !diff.nodes[c].differs; });
    std::ranges::stable_sort(children, {}, [&](std::uint32_t c) { return first_run[c]; });
    std::vector<DiffBox> parts;
    for (const std::uint32_t c : children) {
      const DiffNode& node = diff.nodes[c];
      const bool holds_change = node.status == DiffStatus::kUnchanged && node.differs;
      DiffBox part{holds_change ? DiffStatus::kChanged : node.status,
                   {c},
                   node.follows && node.status == DiffStatus::kChanged,
                   node.all};
      if (!parts.empty() && joins(parts.back(), part)) {
        parts.back().nodes.push_back(c);
        parts.back().change += part.change;
      } else {
        parts.push_back(std::move(part));
      }
    }
    return parts;
  }
  // Layers that follow are drawn with what they follow; what is unchanged with what is.
  bool joins(const DiffBox& last, const DiffBox& next) const {
    const auto is_layer = [&](const DiffBox& box) {
      return std::ranges::all_of(box.nodes, [&](std::uint32_t n) { return diff.nodes[n].children.empty(); });
    };
    if (last.status == DiffStatus::kUnchanged && next.status == DiffStatus::kUnchanged) return true;
    return next.follow && last.status == DiffStatus::kChanged && is_layer(last) && is_layer(next);
  }

  bool may_open(const DiffBox& part) const {
    if (part.nodes.size() != 1 || part.status == DiffStatus::kUnchanged) return false;
    const DiffNode& node = diff.nodes[part.nodes[0]];
    return !node.children.empty() && !is_whole(diff, node);
  }

  std::size_t count_boxes(std::uint32_t node) const {
    std::size_t count = 0;
    for (const auto& group : groups_of(node)) {
      const DiffBox& part = group.front();
      count += opened.contains(part.nodes[0]) && may_open(part) ? count_boxes(part.nodes[0]) : 1;
    }
    return count;
  }

  // Level by level, the parts with most change first.
  void open_what_fits() {
    std::vector<std::uint32_t> level{0};
    while (!level.empty()) {
      std::vector<std::uint32_t> next;
      for (const std::uint32_t n : level)
        for (const auto& group : groups_of(n))
          if (may_open(group.front())) next.push_back(group.front().nodes[0]);
      std::ranges::stable_sort(next, {},
                               [&](std::uint32_t n) { return -std::abs(double(diff.nodes[n].all.flops)); });
      std::erase_if(next, [&](std::uint32_t n) {
        opened.insert(n);
        if (count_boxes(0) <= most) return false;
        opened.erase(n);
        return true;
      });
      level = std::move(next);
    }
  }

  // Parts that follow each other by number and changed in the same way.
  std::vector<std::vector<DiffBox>> groups_of(std::uint32_t parent) const {
    std::vector<std::vector<DiffBox>> groups;
    for (DiffBox& part : parts_of(parent)) {
      if (!groups.empty() && alike(groups.back().back(), part))
        groups.back().push_back(std::move(part));
      else
        groups.push_back({std::move(part)});
    }
    return groups;
  }
  bool alike(const DiffBox& a, const DiffBox& b) const {
    if (a.nodes.size() != 1 || b.nodes.size() != 1 || a.status != b.status) return false;
    return a.status != DiffStatus::kUnchanged && same_change(a.nodes[0], b.nodes[0]) &&
           follows(item(b.nodes[0]).name, item(a.nodes[0]).name);
  }
  bool same_change(std::uint32_t a, std::uint32_t b) const {
    const DiffNode &x = diff.nodes[a], &y = diff.nodes[b];
    if (x.status != y.status || x.changes != y.changes || x.own != y.own || item(a).type != item(b).type)
      return false;
    return std::ranges::equal(x.children, y.children, [&](std::uint32_t c, std::uint32_t d) {
      return item(c).name == item(d).name && same_change(c, d);
    });
  }
  const DiffItem& item(std::uint32_t n) const { return diff.item(diff.nodes[n]); }

  void add_parts(std::uint32_t parent, std::uint32_t cluster, const std::string& around) {
    for (const auto& group : groups_of(parent)) {
      const DiffBox& first = group.front();
      const auto repeat = static_cast<std::uint32_t>(group.size());
      const std::uint32_t n = first.nodes[0];
      std::string name = item(n).path;
      if (!around.empty() && name.starts_with(around + ".")) name.erase(0, around.size() + 1);
      if (repeat > 1) name = numbered_range(name, repeat);
      if (opened.contains(n) && may_open(first)) {
        const auto id = static_cast<std::uint32_t>(out.scene.clusters.size());
        out.scene.clusters.push_back({name, item(n).type, item(n).path, cluster, repeat});
        add_parts(n, id, item(n).path);
      } else {
        add_box(first, name, repeat, cluster);
      }
      for (std::size_t i = 1; i < group.size(); ++i) map_onto(group[i].nodes[0], n);
    }
  }

  void add_box(const DiffBox& part, const std::string& name, std::uint32_t repeat, std::uint32_t cluster) {
    const auto id = static_cast<std::uint32_t>(out.boxes.size());
    SceneBox box{.kind = part.nodes.size() > 1 ? BoxKind::kRun : BoxKind::kNode,
                 .name = name,
                 .path = item(part.nodes[0]).path,
                 .cluster = cluster,
                 .repeat = repeat};
    const bool run = part.nodes.size() > 1 && part.status == DiffStatus::kUnchanged;
    if (run) box.name = name + " .. " + item(part.nodes.back()).name;
    for (const std::uint32_t n : part.nodes) {
      if (std::ranges::find(box.types, item(n).type) == box.types.end()) box.types.push_back(item(n).type);
      mark(n, id);
    }
    out.scene.boxes.push_back(std::move(box));
    out.boxes.push_back(part);
  }
  void mark(std::uint32_t n, std::uint32_t box) {
    box_of[n] = box;
    for (const std::uint32_t c : diff.nodes[n].children) mark(c, box);
  }
  void map_onto(std::uint32_t n, std::uint32_t first) {
    box_of[n] = box_of[first];
    const auto &mine = diff.nodes[n].children, &its = diff.nodes[first].children;
    for (std::size_t i = 0; i < std::min(mine.size(), its.size()); ++i) map_onto(mine[i], its[i]);
  }

  void add_ends() {
    for (const char* end : {"input", "output"}) {
      out.scene.boxes.push_back(
          {.kind = end[0] == 'i' ? BoxKind::kInput : BoxKind::kOutput, .name = end, .path = end});
      out.boxes.push_back({});
    }
  }

  // A module that is called in several places, such as one ReLU after each norm, is a part of what runs
  // before it each time: as one box it would tie the graph into knots.
  std::vector<std::uint32_t> box_of_layers(const DiffTree& tree, std::size_t layers,
                                           std::uint32_t DiffNode::*side) const {
    std::vector<std::uint32_t> boxes(layers, kNone);
    std::vector<bool> carried(layers, false);
    for (std::uint32_t n = 0; n < diff.nodes.size(); ++n) {
      const DiffNode& node = diff.nodes[n];
      if (node.*side == kNone) continue;
      const auto& calls = tree.items[node.*side].layers;
      const bool plain = node.status == DiffStatus::kUnchanged || node.follows;
      for (const std::uint32_t layer : calls)
        boxes[layer] = box_of[n], carried[layer] = plain && calls.size() > 1;
    }
    for (std::size_t layer = 1; layer < layers; ++layer)
      if (carried[layer] && boxes[layer - 1] != kNone) boxes[layer] = boxes[layer - 1];
    return boxes;
  }

  // Of the base only what comes from or goes to what was removed: the rest is as the new one has it, or gone.
  void add_edges(const Profile& profile, const std::vector<std::uint32_t>& box_of_layer, bool removed_only) {
    const GraphView view = make_view(profile, Level::kLayer);
    const auto input = static_cast<std::uint32_t>(out.boxes.size() - 2), output = input + 1;
    const auto box_at = [&](std::uint32_t n) {
      const ViewNode& node = view.nodes[n];
      if (node.kind == "placeholder") return input;
      if (node.kind == "output") return output;
      const auto ops = view.ops_of(node);
      return ops.empty() ? kNone : box_of_layer[profile.layer_of()[ops.front()]];
    };
    const auto removed = [&](std::uint32_t b) { return out.boxes[b].status == DiffStatus::kRemoved; };
    for (const ViewEdge& edge : view.edges) {
      const std::uint32_t from = box_at(edge.from), to = box_at(edge.to);
      if (from == kNone || to == kNone || from == to) continue;
      if (removed_only && !removed(from) && !removed(to)) continue;
      const bool back = out.scene.boxes[from].repeat > 1 || out.scene.boxes[to].repeat > 1;
      if (from != input && to != output && from > to && (back || (in_repeated(from) && in_repeated(to))))
        continue;
      if (known.emplace(pair_key(from, to)).second) out.scene.edges.push_back({from, to, edge.value, 1});
    }
  }
  // Inside blocks that are drawn once, what goes back is their repeating.
  bool in_repeated(std::uint32_t box) const {
    return std::ranges::any_of(clusters_of(out.scene, out.scene.boxes[box]),
                               [&](std::uint32_t c) { return out.scene.clusters[c].repeat > 1; });
  }
};

std::string what_text(const ModelDiff& diff, const DiffBox& box) {
  if (box.status == DiffStatus::kUnchanged) return "";
  for (const std::uint32_t n : box.nodes)
    if (!diff.nodes[n].follows || box.nodes.size() == 1) return outline_words(diff, {.nodes = {n}});
  return outline_words(diff, {.nodes = {box.nodes[0]}});
}

std::string cost_text(const DiffBox& box) {
  const std::string flops = change_text(Unit::kCount, box.change.flops);
  const std::string params = change_text(Unit::kParams, box.change.params);
  return (flops.empty() ? "" : flops + " FLOPs") + (flops.empty() || params.empty() ? "" : "  ") +
         (params.empty() ? "" : params + " params");
}

BoxLook look_of(const ModelDiff& diff, const SceneBox& scene, const DiffBox& box) {
  BoxLook look;
  const double room = kWidestBox - 2 * kSide;
  const std::string_view mark = look_of(box.status).mark;
  look.name = fitted_middle((mark == " " ? "" : std::string(mark) + " ") + scene.name, room - 20, kNameFont) +
              repeat_text(scene.repeat);
  const std::string what = what_text(diff, box);
  look.type = fitted(what.empty() ? joined_types(scene, 3) : what, room, kTypeFont);
  if (look.type == scene.name) look.type.clear();
  look.cost = fitted(cost_text(box), room, kCostFont);
  look.fit_lines(kWidestBox);
  const StatusColor& color = kColors[static_cast<std::size_t>(box.status)];
  look.fill = color.fill, look.edge = color.edge;
  look.ink = box.status == DiffStatus::kUnchanged ? kQuietInk : kInk;
  if (is_end(scene)) look.type.clear(), look.fill = kPanel, look.edge = kQuietInk, look.ink = kInk;
  return look;
}

PageTexts texts_of(const ModelDiff& diff, const DiffScene& scene) {
  PageTexts texts;
  texts.title = diff.base_label + " \u2192 " + diff.new_label;
  texts.subtitle = diff_summary(diff) + " \u00b7 " + diff.now.inputs;
  for (const TotalChange& total : diff.totals) {
    if (total.metric->better != Better::kLess) continue;
    const std::string change = change_text(total.metric->unit, total.before, total.after);
    texts.totals.emplace_back(heading(*total.metric), change.empty() ? "no change" : change);
  }
  if (any_repeats(scene.scene))
    texts.remarks.push_back(
        "\u00d7N: N layers that changed in the same way, drawn once; numbers are of one.");
  texts.remarks.push_back(
      "Layers whose only change is their input are drawn with the layer that changed it.");
  return texts;
}

std::vector<LegendEntry> legend_of(const DiffScene& scene) {
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < kDiffStatuses; ++i)
    if (std::ranges::any_of(scene.boxes,
                            [&](const DiffBox& b) { return b.status == static_cast<DiffStatus>(i); }))
      entries.push_back(
          {std::string(kColors[i].fill), std::string(kColors[i].edge), std::string(kColors[i].word)});
  return entries;
}

}  // namespace

std::string draw_diff(const ModelDiff& diff, const Profile& base, const Profile& now, PictureFormat format,
                      std::size_t max_boxes) {
  if (format == PictureFormat::kDot) throw Error("a diff is not drawn as DOT", "", "svg, png, pdf or html");
  const DiffScene made =
      DiffSceneMaker{diff, base, now, std::clamp<std::size_t>(max_boxes, 4, kMostDiffBoxes)}.run();
  const Scene& scene = made.scene;
  Look look{
      .boxes = {}, .edges = std::vector<std::string>(scene.edges.size()), .clusters = cluster_titles(scene)};
  for (std::size_t b = 0; b < made.boxes.size(); ++b)
    look.boxes.push_back(look_of(diff, scene.boxes[b], made.boxes[b]));
  const std::string svg =
      page_svg(scene, look, make_layout(scene, look), texts_of(diff, made), legend_of(made));
  if (format != PictureFormat::kHtml) return svg_to(format, svg);
  constexpr std::string_view kEnd = "</div>\n";
  std::string page = to_html(diff_document(diff, {}));
  return page.insert(page.size() - kEnd.size(), svg);
}

}  // namespace opscope
