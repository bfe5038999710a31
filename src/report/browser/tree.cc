// Modules come as the profile has them. A module's layers are below it: its own free-standing ops, or its
// calls where a leaf was called several times; the ops of a leaf that was called once are directly below it.
#include "report/browser/tree.h"

#include <algorithm>

namespace opscope {
namespace {

class TreeMaker {
 public:
  TreeMaker(const Profile& profile, BrowserTree& tree)
      : profile_(profile), graph_(*profile.graph), tree_(tree), of_module_(tree.by_module()) {}

  void make() {
    for (std::uint32_t r = 0; r < profile_.modules().size(); ++r) describe_module(r);
    add_layers_and_ops();
    order_children();
  }

 private:
  void describe_module(std::uint32_t r) {
    const ModuleRow& row = profile_.modules()[r];
    BrowserItem& item = tree_[r];
    item.path = graph_.path(graph_.modules[row.module]);
    item.type = graph_.text(graph_.modules[row.module].type);
    item.source = r;
    item.output = row.output;
    item.metrics = row.metrics;
    item.parameters = row.parameters;
  }

  void add_layers_and_ops() {
    std::vector<ItemId> of_layer(profile_.layers().size(), kNone);
    tree_.of_op.resize(graph_.ops.size());
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const std::uint32_t l = profile_.layer_of()[op];
      const LayerRow& layer = profile_.layers()[l];
      const ItemId module = of_module_[layer.module];
      // A leaf that was called once is its own layer; an op by itself needs no layer around it.
      const bool own = layer.is_module && profile_.modules()[module].calls > 1;
      if (own && of_layer[l] == kNone) of_layer[l] = add_layer(l, module);
      tree_.of_op[op] = add_op(op, own ? of_layer[l] : module, layer);
    }
  }
  ItemId add_layer(std::uint32_t l, ItemId module) {
    const LayerRow& layer = profile_.layers()[l];
    BrowserItem item;
    item.kind = ItemKind::kLayer;
    item.name = last_part(layer.name);
    item.path = layer.name;
    item.type = graph_.text(graph_.modules[layer.module].type);
    item.source = l;
    item.output = layer.output;
    item.metrics = layer.metrics;
    item.parameters = layer.parameters;
    return tree_.add(std::move(item), module);
  }
  ItemId add_op(OpId op, ItemId parent, const LayerRow& layer) {
    const auto outputs = graph_.outputs_of(graph_.ops[op]);
    BrowserItem item;
    item.kind = ItemKind::kOp;
    item.type = graph_.op_name(graph_.ops[op]);
    item.name = layer.is_module ? short_op_name(item.type) : last_part(layer.name);
    item.path = layer.name;
    item.source = item.first_op = op;
    if (!outputs.empty()) item.output = outputs.front();
    item.metrics += profile_.costs[op];
    if (!layer.is_module) item.parameters = layer.parameters;
    return tree_.add(std::move(item), parent);
  }
  static std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

  // Children in the order of their first op; those that never ran last, in the model's order.
  void order_children() {
    auto& items = tree_.items;
    for (std::size_t i = items.size(); i-- > 1;) {
      BrowserItem& parent = items[items[i].parent];
      parent.first_op = std::min(parent.first_op, items[i].first_op);
    }
    for (BrowserItem& item : items)
      std::ranges::stable_sort(item.children, {}, [&](ItemId id) { return items[id].first_op; });
  }

  const Profile& profile_;
  const Graph& graph_;
  BrowserTree& tree_;
  std::vector<ItemId> of_module_;
};

}  // namespace

BrowserTree::BrowserTree(const Profile& profile) : ModuleTree(module_tree<BrowserItem>(profile)) {
  TreeMaker(profile, *this).make();
}

std::vector<OpId> BrowserTree::ops_below(ItemId item) const {
  std::vector<OpId> ops;
  each_shown(
      [&](ItemId id) {
        if (items[id].kind == ItemKind::kOp) ops.push_back(items[id].source);
      },
      item);
  std::ranges::sort(ops);
  return ops;
}

}  // namespace opscope
