// Modules come as the profile has them. A module's layers are below it: its own free-standing ops, or its
// calls where a leaf was called several times; the ops of a leaf that was called once are directly below it.
#include "report/browser/tree.h"

#include <algorithm>
#include <numeric>

namespace opscope {
namespace {

class TreeMaker {
 public:
  TreeMaker(const Profile& profile, BrowserTree& tree)
      : profile_(profile), graph_(*profile.graph), tree_(tree), of_module_(graph_.modules.size(), kNone) {}

  void make() {
    add_modules();
    add_layers_and_ops();
    link();
  }

 private:
  ItemId add(BrowserItem item) {
    if (item.parent != kNone) item.depth = tree_.items[item.parent].depth + 1;
    tree_.items.push_back(item);
    return static_cast<ItemId>(tree_.items.size() - 1);
  }

  void add_modules() {
    for (std::uint32_t r = 0; r < profile_.modules.size(); ++r) {
      const ModuleRow& row = profile_.modules[r];
      const Module& module = graph_.modules[row.module];
      const bool is_root = module.parent == kNone;
      const std::string_view type = graph_.text(module.type);
      of_module_[row.module] =
          add({.kind = ItemKind::kModule,
               .name = is_root ? std::string_view(graph_.capture.model) : graph_.text(module.name),
               .path = graph_.path(module),
               .type = type,
               .parent = is_root ? kNone : of_module_[module.parent],
               .source = r,
               .output = row.output,
               .metrics = row.metrics,
               .parameters = row.parameters});
      if (is_root && tree_.items.back().name.empty()) tree_.items.back().name = type;
    }
  }

  void add_layers_and_ops() {
    std::vector<std::uint32_t> ops_in(profile_.layers.size(), 0);
    for (const std::uint32_t layer : profile_.layer_of) ++ops_in[layer];
    std::vector<ItemId> of_layer(profile_.layers.size(), kNone);
    tree_.of_op.resize(graph_.ops.size());
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const std::uint32_t l = profile_.layer_of[op];
      const LayerRow& layer = profile_.layers[l];
      const ItemId module = of_module_[layer.module];
      // A leaf that was called once is its own layer; an op by itself needs no layer around it.
      const bool own = layer.is_module ? calls(module) > 1 : false;
      if (own && of_layer[l] == kNone) of_layer[l] = add_layer(l, module);
      tree_.of_op[op] = add_op(op, own ? of_layer[l] : module, layer);
    }
  }
  std::uint32_t calls(ItemId module) const { return profile_.modules[tree_.items[module].source].calls; }
  ItemId add_layer(std::uint32_t l, ItemId module) {
    const LayerRow& layer = profile_.layers[l];
    return add({.kind = ItemKind::kLayer,
                .name = layer.name.substr(layer.name.rfind('.') + 1),
                .path = layer.name,
                .type = graph_.text(graph_.modules[layer.module].type),
                .parent = module,
                .source = l,
                .output = layer.output,
                .metrics = layer.metrics,
                .parameters = layer.parameters});
  }
  ItemId add_op(OpId op, ItemId parent, const LayerRow& layer) {
    const auto outputs = graph_.outputs_of(graph_.ops[op]);
    Metrics metrics;
    metrics += profile_.costs[op];
    const std::string_view target = graph_.op_name(graph_.ops[op]);
    return add({.kind = ItemKind::kOp,
                .name = layer.is_module ? short_op_name(target) : layer.name.substr(prefix_size(layer)),
                .path = layer.name,
                .type = target,
                .parent = parent,
                .source = op,
                .first_op = op,
                .output = outputs.empty() ? kNone : outputs.front(),
                .metrics = metrics,
                .parameters = layer.is_module ? Parameters{} : layer.parameters});
  }
  // Of "layer1.0.add", what the module's own path takes.
  std::size_t prefix_size(const LayerRow& layer) const {
    const auto dot = layer.name.rfind('.');
    return dot == std::string_view::npos ? 0 : dot + 1;
  }

  // Children in the order of their first op; those that never ran last.
  void link() {
    auto& items = tree_.items;
    for (std::size_t i = items.size(); i-- > 1;) {
      BrowserItem& parent = items[items[i].parent];
      parent.first_op = std::min(parent.first_op, items[i].first_op);
    }
    for (std::size_t i = 1; i < items.size(); ++i) ++items[items[i].parent].children.size;
    std::uint32_t begin = 0;
    for (BrowserItem& item : items) {
      item.children.begin = begin;
      begin += std::exchange(item.children.size, 0);
    }
    tree_.children.resize(begin);
    for (const ItemId id : by_first_op()) {
      if (id == 0) continue;
      Range& siblings = items[items[id].parent].children;
      tree_.children[siblings.begin + siblings.size++] = id;
    }
  }
  // Ids that never ran have the largest first op; a stable sort keeps the model's order among them.
  std::vector<ItemId> by_first_op() const {
    std::vector<ItemId> order(tree_.items.size());
    std::iota(order.begin(), order.end(), ItemId{0});
    std::ranges::stable_sort(order, {}, [&](ItemId id) { return tree_.items[id].first_op; });
    return order;
  }

  const Profile& profile_;
  const Graph& graph_;
  BrowserTree& tree_;
  std::vector<ItemId> of_module_;
};

}  // namespace

BrowserTree::BrowserTree(const Profile& profile) { TreeMaker(profile, *this).make(); }

std::vector<OpId> BrowserTree::ops_below(ItemId item) const {
  std::vector<OpId> ops;
  std::vector<ItemId> pending{item};
  while (!pending.empty()) {
    const BrowserItem& next = items[pending.back()];
    pending.pop_back();
    if (next.kind == ItemKind::kOp) ops.push_back(next.source);
    for (const ItemId child : children_of(next)) pending.push_back(child);
  }
  std::ranges::sort(ops);
  return ops;
}

}  // namespace opscope
