// A view -> a scene: which modules are opened, and what the boxes, clusters and edges then are.
#include <algorithm>
#include <map>
#include <set>

#include "analyse/profile/rollup.h"
#include "analyse/tree/draft.h"
#include "analyse/tree/scene.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::size_t kTries = 60;         // of classes of modules to open: each looks at the whole graph
constexpr std::size_t kEdgesPerBox = 4;    // of runs, at the most
constexpr std::size_t kMergesAtMost = 30;  // boxes of a draft in one of a scene: more are not worth the try

std::string short_target(std::string_view target) {
  if (target.find("::") != std::string_view::npos) return std::string(op_type(target));
  if (target.starts_with("aten.")) target.remove_prefix(5);
  if (target.ends_with(".default")) target.remove_suffix(8);
  return std::string(target.substr(target.rfind('.') + 1));
}

// One of `runs` equal ones; of times, the mean.
Metrics one_of(Metrics m, std::uint64_t runs) {
  m.each_count([&](Count& count) { count = count / Count{runs}; });
  m.ops = (m.ops + runs - 1) / runs;  // what costs nothing may come less often than what it is drawn with
  m.roofline_unknown /= runs;
  return m;
}

class Collapser {
 public:
  Collapser(const GraphView& view, const CollapseOptions& options)
      : view_(view),
        options_(options),
        focus_(focus_module()),
        tree_(make_call_tree(view, options.fold, focus_)),
        root_(focus_ == kNone ? 0 : tree_.find(focus_)) {
    if (root_ == kNone)
      throw Error("no node of the graph is in this module", options.focus,
                  view.level == Level::kModule ? "a module's inside is drawn with --level layer"
                                               : "it may not have been called");
    find_edges();
    opened_.insert(root_);
  }

  Scene run() {
    options_.depth == kNone ? open_what_fits() : open_levels();
    Draft draft = make_draft();
    if (draft.boxes.size() > most()) {
      scene_.notes.push_back("too many for a page: " + std::to_string(draft.boxes.size()) +
                             " steps are drawn as runs of those that follow each other");
      draft = runs_of(draft);
    }
    finish(draft);
    return std::move(scene_);
  }

 private:
  std::size_t most() const { return std::max<std::size_t>(options_.max_boxes, 4); }

  // Fewer and longer runs where everything is joined to everything: nobody follows that many lines, and
  // Graphviz takes minutes for them.
  Draft runs_of(const Draft& draft) const {
    for (std::size_t runs = most();; runs = runs / 2) {
      Draft merged = draft;
      merge_runs(merged, runs);
      std::set<std::uint64_t> edges;
      for (const ViewEdge& edge : edges_)
        if (const std::uint32_t a = merged.box_of[edge.from], b = merged.box_of[edge.to];
            a != kNone && b != kNone && a != b)
          edges.insert(pair_key(a, b));
      if (runs <= 8 || edges.size() <= kEdgesPerBox * merged.boxes.size()) return merged;
    }
  }

  ModuleId focus_module() const {
    if (options_.focus.empty()) return kNone;
    std::vector<std::string_view> paths;
    for (ModuleId m = 0; m < graph_.modules.size(); ++m) {
      if (graph_.path(graph_.modules[m]) == options_.focus) return m;
      paths.push_back(graph_.path(graph_.modules[m]));
    }
    throw Error(
        "no module called '" + options_.focus + "'", "--focus",
        did_you_mean(options_.focus, paths, "opscope profile MODEL --depth 9 shows the modules there are"));
  }

  // Between nodes that are drawn; what goes back to the first of equal blocks is their repeating.
  void find_edges() {
    std::map<std::uint64_t, std::size_t> known;
    for (const ViewEdge& edge : view_.edges) {
      const std::uint32_t from = tree_.drawn_for[edge.from], to = tree_.drawn_for[edge.to];
      const bool folded = from != edge.from || to != edge.to;
      if (from == to || (folded && from > to)) continue;
      const auto [found, is_new] = known.try_emplace(pair_key(from, to), edges_.size());
      if (is_new) edges_.push_back({from, to, edge.value});
      ValueId& largest = edges_[found->second].value;
      if (bytes(edge.value) > bytes(largest)) largest = edge.value;
    }
  }
  Count bytes(ValueId value) const {
    return value == kNone ? Count{} : bytes_of(graph_, graph_.values[value]);
  }

  void open_levels() {
    std::vector<std::uint32_t> level{root_};
    for (std::uint32_t d = 0; d < options_.depth && !level.empty(); ++d) {
      std::vector<std::uint32_t> next;
      for (const std::uint32_t item : level) {
        if (tree_[item].is_leaf()) continue;
        opened_.insert(item);
        next.insert(next.end(), tree_[item].children.begin(), tree_[item].children.end());
      }
      if (make_draft().boxes.size() > most() && d > 0) {
        for (const std::uint32_t item : level) opened_.erase(item);
        scene_.notes.push_back("modules more than " + std::to_string(d) + (d == 1 ? " level" : " levels") +
                               " down are drawn closed: with them there are more than " +
                               std::to_string(most()) + " boxes (--max-nodes)");
        return;
      }
      level = std::move(next);
    }
  }

  // Level by level, all modules of a class together, so that like is drawn as like; the costliest class
  // first.
  void open_what_fits() {
    if (make_draft().boxes.size() > most()) return;
    std::vector<std::uint32_t> level{root_};
    while (!level.empty()) {
      std::map<std::string, std::vector<std::uint32_t>> classes;
      for (const std::uint32_t item : level)
        for (const std::uint32_t c : tree_[item].children)
          if (!tree_[c].is_leaf()) classes[class_of(c)].push_back(c);
      std::vector<std::pair<Count, std::string>> order;
      for (const auto& [type, items] : classes) order.emplace_back(cost(items), type);
      std::ranges::stable_sort(order, std::greater{}, &std::pair<Count, std::string>::first);
      level.clear();
      for (const auto& [unused, type] : order)
        if (fits(classes[type])) level.insert(level.end(), classes[type].begin(), classes[type].end());
      std::ranges::sort(level);
    }
  }
  std::string class_of(std::uint32_t item) const {
    const CallItem& i = tree_[item];
    const bool is_group = i.parent != kNone && i.module == tree_[i.parent].module;
    return std::string(is_group ? "" : graph_.text(graph_.modules[i.module].type));
  }
  Count cost(std::span<const std::uint32_t> items) const {
    Count sum;
    for (const std::uint32_t item : items)
      for (const std::uint32_t n : tree_.leaves(item)) sum += view_.nodes[n].metrics.flops;
    return sum;
  }
  bool fits(std::span<const std::uint32_t> items) {
    std::size_t more = 0;
    for (const std::uint32_t item : items) more += tree_[item].children.size();
    if (more > kMergesAtMost * most() || ++tries_ > kTries) return false;
    opened_.insert(items.begin(), items.end());
    if (make_draft().boxes.size() <= most()) return true;
    for (const std::uint32_t item : items) opened_.erase(item);
    return false;
  }

  BoxKind kind_of(std::uint32_t item) const {
    if (!tree_[item].is_leaf()) return BoxKind::kModule;
    const std::string_view kind = view_.nodes[tree_[item].node].kind;
    return kind == "placeholder" ? BoxKind::kInput : kind == "output" ? BoxKind::kOutput : BoxKind::kNode;
  }

  void add_boxes(std::uint32_t item, std::uint32_t around, Draft& draft) const {
    const CallItem& i = tree_[item];
    if (opened_.contains(item) && !i.is_leaf()) {
      for (const std::uint32_t c : i.children) add_boxes(c, item, draft);
      return;
    }
    DraftBox box{.kind = kind_of(item),
                 .item = item,
                 .around = around,
                 .repeat = i.repeat,
                 .named_by = i.node,
                 .nodes = tree_.leaves(item),
                 .name = i.name};
    box.may_merge = options_.fold && box.kind == BoxKind::kNode;
    if (i.is_leaf()) box.weight = weight_of(view_, view_.nodes[i.node]);
    for (const std::uint32_t n : box.nodes) draft.box_of[n] = static_cast<std::uint32_t>(draft.boxes.size());
    draft.boxes.push_back(std::move(box));
  }

  // Those outside that what is in focus takes from or gives to.
  void add_stubs(Draft& draft) const {
    std::set<std::uint32_t> givers, takers;
    for (const ViewEdge& edge : edges_) {
      const bool from = draft.box_of[edge.from] != kNone, to = draft.box_of[edge.to] != kNone;
      if (!from && to) givers.insert(edge.from);
      if (from && !to) takers.insert(edge.to);
    }
    std::vector<DraftBox> boxes;
    const auto add = [&](std::uint32_t node) {
      boxes.push_back({.kind = BoxKind::kStub,
                       .item = kNone,
                       .around = root_,
                       .nodes = {node},
                       .name = std::string(view_.nodes[node].name)});
    };
    std::ranges::for_each(givers, add);
    std::ranges::move(draft.boxes, std::back_inserter(boxes));
    for (const std::uint32_t n : takers)
      if (!givers.contains(n)) add(n);
    draft.boxes = std::move(boxes);
    for (std::uint32_t b = 0; b < draft.boxes.size(); ++b)
      for (const std::uint32_t n : draft.boxes[b].nodes) draft.box_of[n] = b;
  }

  Draft make_draft() const {
    Draft draft;
    draft.box_of.assign(view_.nodes.size(), kNone);
    add_boxes(root_, root_, draft);
    if (focus_ != kNone) add_stubs(draft);
    if (options_.fold) merge_light(view_, draft, edges_);
    return draft;
  }

  void finish(const Draft& draft) {
    scene_.view = &view_;
    scene_.focus = options_.focus;
    for (const DraftBox& box : draft.boxes) add_box(box);
    add_edges(draft);
    scene_.box_of.assign(view_.nodes.size(), kNone);
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n) {
      const std::uint32_t b = draft.box_of[tree_.drawn_for[n]];
      scene_.box_of[n] = b;
      if (b == kNone) continue;
      ++scene_.boxes[b].all_nodes;
      scene_.boxes[b].all_metrics += view_.nodes[n].metrics;
      scene_.boxes[b].parameters += view_.nodes[n].parameters;
    }
    for (SceneBox& box : scene_.boxes) take_one_run(box);
    hoist_single_boxes();
  }

  // What is folded inside of a box is in each of its runs: these are how often the box and the blocks around
  // it come.
  void take_one_run(SceneBox& box) const {
    box.runs = box.repeat;
    for (std::uint32_t c = box.cluster; c != kNone; c = scene_.clusters[c].parent)
      box.runs *= scene_.clusters[c].repeat;
    if (box.kind == BoxKind::kStub) box.runs = box.all_nodes;
    box.metrics = one_of(box.all_metrics, box.runs);
    for (Count* count : {&box.parameters.total, &box.parameters.trainable, &box.parameters.bytes,
                         &box.parameters.buffers, &box.parameters.buffer_bytes})
      *count = *count / Count{box.runs};
  }

  // The cluster of an opened item; kNone for the whole model.
  std::uint32_t cluster_of(std::uint32_t item) {
    if (item == 0 || item == kNone) return kNone;
    if (const auto found = clusters_.find(item); found != clusters_.end()) return found->second;
    const CallItem& i = tree_[item];
    const std::uint32_t parent = item == root_ ? kNone : cluster_of(i.parent);
    const std::string path(graph_.path(graph_.modules[i.module]));
    scene_.clusters.push_back({item == root_ ? path : i.name, class_of(item), path, parent, i.repeat});
    return clusters_[item] = static_cast<std::uint32_t>(scene_.clusters.size() - 1);
  }

  void add_box(const DraftBox& draft) {
    SceneBox box{.kind = draft.kind, .name = draft.name, .repeat = draft.repeat, .nodes = draft.nodes};
    const bool stub = draft.kind == BoxKind::kStub;
    const bool outer = stub || draft.kind == BoxKind::kInput || draft.kind == BoxKind::kOutput;
    box.cluster = outer ? kNone : cluster_of(draft.around);
    if (!stub && root_ == draft.item && focus_ != kNone) box.cluster = kNone;
    for (const std::uint32_t n : draft.nodes) {
      const ViewNode& node = view_.nodes[n];
      box.metrics += node.metrics;
      if (node.output != kNone) box.output = node.output;
    }
    box.category = costliest_category(view_, draft.nodes);
    const bool of_leaf = draft.item != kNone && tree_[draft.item].is_leaf();
    box.path = draft.kind == BoxKind::kModule
                   ? graph_.path(graph_.modules[tree_[draft.item].module])
                   : view_.nodes[of_leaf ? tree_[draft.item].node : draft.nodes.front()].name;
    add_types(box, draft);
    scene_.boxes.push_back(std::move(box));
  }

  void add_types(SceneBox& box, const DraftBox& draft) const {
    const auto add = [&](std::string type) {
      if (!type.empty() && std::ranges::find(box.types, type) == box.types.end()) box.types.push_back(type);
    };
    if (draft.kind == BoxKind::kModule) return add(class_of(draft.item));
    // What costs nothing is named only where there is nothing else.
    const bool any = box.metrics.counts();
    for (const std::uint32_t n : draft.nodes)
      if (!any || view_.nodes[n].metrics.counts()) add(short_target(view_.nodes[n].target));
  }

  void add_edges(const Draft& draft) {
    std::map<std::uint64_t, std::size_t> known;
    for (const ViewEdge& edge : edges_) {
      const std::uint32_t from = draft.box_of[edge.from], to = draft.box_of[edge.to];
      if (from == kNone || to == kNone || from == to) continue;
      if (draft.boxes[from].kind == BoxKind::kStub && draft.boxes[to].kind == BoxKind::kStub) continue;
      const auto [found, is_new] = known.try_emplace(pair_key(from, to), scene_.edges.size());
      if (is_new) scene_.edges.push_back({from, to, edge.value, 1});
      SceneEdge& one = scene_.edges[found->second];
      if (one.value != edge.value) ++one.values;
      if (bytes(edge.value) > bytes(one.value)) one.value = edge.value;
    }
    std::ranges::stable_sort(scene_.edges, {}, &SceneEdge::to);
  }

  // A cluster around one box says nothing that the box does not: the box takes its name and count.
  void hoist_single_boxes() {
    std::vector<std::uint32_t> held(scene_.clusters.size(), 0);
    for (const SceneBox& box : scene_.boxes)
      if (box.cluster != kNone) ++held[box.cluster];
    for (const SceneCluster& cluster : scene_.clusters)
      if (cluster.parent != kNone) ++held[cluster.parent];
    for (SceneBox& box : scene_.boxes)
      while (box.cluster != kNone && held[box.cluster] == 1) {
        const SceneCluster& cluster = scene_.clusters[box.cluster];
        box.name = cluster.name, box.path = cluster.path, box.repeat *= cluster.repeat;
        held[box.cluster] = 0;
        box.cluster = cluster.parent;
      }
    drop_empty_clusters(held);
  }

  void drop_empty_clusters(const std::vector<std::uint32_t>& held) {
    std::vector<SceneCluster> left;
    std::vector<std::uint32_t> number(held.size(), kNone);
    for (std::uint32_t c = 0; c < held.size(); ++c) {
      if (held[c] == 0) continue;
      number[c] = static_cast<std::uint32_t>(left.size());
      left.push_back(std::move(scene_.clusters[c]));
      if (left.back().parent != kNone) left.back().parent = number[left.back().parent];
    }
    for (SceneBox& box : scene_.boxes)
      if (box.cluster != kNone) box.cluster = number[box.cluster];
    scene_.clusters = std::move(left);
  }

  const GraphView& view_;
  const Graph& graph_ = *view_.profile->graph;
  const CollapseOptions& options_;
  ModuleId focus_;
  CallTree tree_;
  std::uint32_t root_;
  std::vector<ViewEdge> edges_;  // from one drawn node to another, each pair once
  std::set<std::uint32_t> opened_;
  std::size_t tries_ = 0;
  std::map<std::uint32_t, std::uint32_t> clusters_;  // by item
  Scene scene_;
};

}  // namespace

Scene make_scene(const GraphView& view, const CollapseOptions& options) {
  if (view.nodes.empty()) throw Error("the graph is empty: there is nothing to draw");
  return Collapser(view, options).run();
}

}  // namespace opscope
