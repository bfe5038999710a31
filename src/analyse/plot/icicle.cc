// The module tree as nested slices: each module as long as its share, the ops that a module with children ran
// itself beside the children, equal numbered siblings in one slice.
#include <algorithm>
#include <map>

#include "analyse/plot/plot.h"
#include "analyse/profile/rollup.h"
#include "analyse/tree/module_tree.h"
#include "base/error.h"

namespace opscope {
namespace {

struct IcicleItem : TreeNode {
  std::string_view type{};
  bool inner = false;  // has modules below it
  Count value{};
  double amount = 0;  // the same, which does not saturate: shares add up however large they are
  Category category = Category::kCustom;  // of the costliest op in it
  Count costliest{};                      // what that op costs
};

// Of ops; what modules own is counted apart.
Count value_of(const OpCost& cost, const Metric& metric) {
  if (metric.need == kNeedsParameters) return {};
  Metrics sums;
  sums += cost;
  return plotted_count(metric, sums);
}

// The tree of modules, then the slices of modules' own ops. Children have higher ids than their parents.
class IcicleTree {
 public:
  IcicleTree(const Profile& profile, const Metric& metric)
      : profile_(profile),
        graph_(*profile.graph),
        metric_(metric),
        tree_(module_tree<IcicleItem>(profile)),
        of_module_(tree_.by_module()),
        nodes_(tree_.items) {
    for (IcicleItem& node : nodes_)
      node.type = graph_.text(graph_.modules[node.module].type), node.inner = !node.children.empty();
    if (metric.need == kNeedsParameters) add_parameters();
    add_ops();
    sum_up();
  }

  Count total() const { return nodes_[0].value; }

  // Values of the first of equal siblings stand for all of them.
  void fold() {
    tree_.find_shapes([&](std::uint32_t n, FoldKey& key) {
      key.add(nodes_[n].type).add(nodes_[n].value.value());
      key.add(static_cast<std::uint64_t>(nodes_[n].category));
    });
    tree_.fold();
  }

  void write(std::uint32_t max_depth, IciclePlot& plot) const {
    plot.total = nodes_[0].value;
    std::vector<Place> pending(1);  // the root
    while (!pending.empty()) {
      const Place place = pending.back();
      pending.pop_back();
      write_slice(place, max_depth, plot, pending);
    }
  }

 private:
  struct Place {
    std::uint32_t node = 0, parent = kNone, depth = 0, repeat = 1;
    double begin = 0;
  };

  // A tied weight counts where the model first owns it, so that slices add up.
  void add_parameters() {
    std::vector<bool> counted(graph_.values.size(), false);
    for (const Owned& owned : graph_.owned) {
      const Parameters own = parameters_of(graph_, graph_.values[owned.value]);
      const Count value = metric_.of({.sums = {}, .parameters = &own}).count;
      if (!value || counted[owned.value]) continue;
      counted[owned.value] = true;
      const std::uint32_t owner = of_module_[owned.module];
      nodes_[nodes_[owner].inner ? add_own(owner, graph_.text(owned.name)) : owner].value += value;
    }
  }

  std::uint32_t add_own(std::uint32_t module, std::string_view name) {
    IcicleItem own;
    own.name = name, own.type = name, own.is_module = false;
    return tree_.add(std::move(own), module);
  }

  // With parameters for a metric, ops only say what a module is.
  void add_ops() {
    const OpTypes types(graph_);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> own;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const OpCost& cost = profile_.costs[op];
      const std::uint32_t module = of_module_[graph_.scopes[graph_.ops[op].scope].module];
      const Count value = value_of(cost, metric_);
      std::uint32_t at = module;
      if (nodes_[module].inner && value) {
        const std::uint32_t type = types.of_target[graph_.ops[op].target];
        const auto [found, added] = own.try_emplace({module, type}, 0);
        if (added) found->second = add_own(module, types.names[type]);
        at = found->second;
      }
      IcicleItem& node = nodes_[at];
      node.value += value;
      const Count weight = metric_.need == kNeedsParameters ? cost.flops : value;
      if (cost.rule && weight > node.costliest) node.costliest = weight, node.category = cost.rule->category;
    }
  }

  void sum_up() {
    for (IcicleItem& node : nodes_) node.amount = static_cast<double>(node.value);
    for (std::size_t n = nodes_.size(); n-- > 0;)
      for (const std::uint32_t child : nodes_[n].children) {
        IcicleItem& node = nodes_[n];
        node.value += nodes_[child].value;
        node.amount += nodes_[child].amount;
        if (nodes_[child].costliest > node.costliest)
          node.costliest = nodes_[child].costliest, node.category = nodes_[child].category;
      }
    for (IcicleItem& node : nodes_)
      std::erase_if(node.children, [&](std::uint32_t child) { return !nodes_[child].value; });
  }

  // "0..11" for twelve blocks, the first called "0".
  static std::string label(const IcicleItem& node) {
    const auto first = numbered(node.name);
    if (node.repeat == 1 || !first) return node.name;
    return node.name + ".." + std::to_string(first->second + node.repeat - 1);
  }

  void write_slice(const Place& place, std::uint32_t max_depth, IciclePlot& plot,
                   std::vector<Place>& pending) const {
    const IcicleItem& node = nodes_[place.node];
    const auto id = static_cast<std::uint32_t>(plot.slices.size());
    IcicleSlice slice{.name = label(node), .type = node.type, .depth = place.depth, .parent = place.parent};
    const bool below_root = place.parent != kNone && plot.slices[place.parent].parent != kNone;
    if (place.parent != kNone)
      slice.path = below_root ? plot.slices[place.parent].path + "." + slice.name : slice.name;
    slice.folded = node.repeat;
    slice.repeat = place.repeat * node.repeat;
    slice.is_module = node.is_module;
    slice.value = node.value * Count{slice.repeat};
    slice.begin = place.begin;
    slice.share = slice.repeat * node.amount / nodes_[0].amount;
    const bool deeper = place.depth < max_depth && !node.children.empty();
    if (!deeper) slice.category = node.category;
    plot.depth = std::max(plot.depth, slice.depth);
    plot.slices.push_back(std::move(slice));
    if (deeper)
      add_children({place.node, id, place.depth + 1, place.repeat * node.repeat, place.begin}, pending);
  }

  // `at.node` is the parent here. The first child ends on top of the stack, so that slices come out in the
  // order of the tree.
  void add_children(Place at, std::vector<Place>& pending) const {
    const std::size_t first = pending.size();
    for (const std::uint32_t child : nodes_[at.node].children) {
      pending.push_back({child, at.parent, at.depth, at.repeat, at.begin});
      at.begin += at.repeat * nodes_[child].repeat * nodes_[child].amount / nodes_[0].amount;
    }
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
  }

  const Profile& profile_;
  const Graph& graph_;
  const Metric& metric_;
  ModuleTree<IcicleItem> tree_;
  std::vector<std::uint32_t> of_module_;
  std::vector<IcicleItem>& nodes_;  // of the tree
};

}  // namespace

IciclePlot make_icicle(const Profile& profile, const IcicleOptions& options) {
  IciclePlot plot{.metric = options.metric};
  require_known(*options.metric, costs_of(profile, profile.totals, &profile.parameters), "--metric");
  IcicleTree tree(profile, *options.metric);
  if (!tree.total())
    throw Error("there are no " + std::string(options.metric->words) + " to show in this model", "--metric",
                "choose another, for example flops, macs, memory-bytes or params");
  if (options.fold) tree.fold();
  tree.write(options.depth, plot);
  return plot;
}

}  // namespace opscope
