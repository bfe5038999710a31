// Building the tree of calls and folding it.
#include "analyse/tree/draft.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "graph/graph.h"

namespace opscope {
namespace {

// Layers that alternate: shifted windows, local and global attention.
constexpr std::size_t kLongestPeriod = 8;

class Builder {
 public:
  Builder(const GraphView& view, ModuleId keep) : view_(view), keep_(keep) {}

  CallTree build(bool fold_blocks) {
    of_scope_.assign(std::max<std::size_t>(graph_.phases.size(), 1),
                     std::vector<std::uint32_t>(graph_.scopes.size(), kNone));
    first_scope_.assign(graph_.modules.size(), kNone);
    for (ScopeId s = 0; s < graph_.scopes.size(); ++s)
      if (ScopeId& first = first_scope_[graph_.scopes[s].module]; first == kNone) first = s;
    tree_.items.emplace_back().module = 0;
    for (std::uint32_t n = 0; n < view_.nodes.size(); ++n) add_leaf(n);
    dissolve(0);
    tree_.drawn_for.resize(view_.nodes.size());
    std::iota(tree_.drawn_for.begin(), tree_.drawn_for.end(), 0u);
    if (fold_blocks) fold();
    return std::move(tree_);
  }

 private:
  std::uint32_t child(std::uint32_t parent, ModuleId module, std::uint32_t call) {
    const std::uint64_t key = pair_key(module, call) * 0x9e3779b97f4a7c15ULL ^ parent;
    if (const auto found = calls_.find(key); found != calls_.end()) {
      const CallItem& item = tree_[found->second];
      if (item.parent == parent && item.module == module && item.call == call) return found->second;
    }
    CallItem item;
    item.name = relative(tree_[parent].module, graph_.path(graph_.modules[module]));
    if (call > 0) item.name += "#" + std::to_string(call + 1);
    item.module = module;
    item.call = call;
    return calls_[key] = tree_.add(std::move(item), parent);
  }

  std::uint32_t item_of_phase(std::uint32_t phase) {
    if (phase == 0) return 0;
    const std::uint32_t item = child(0, 0, phase);
    tree_[item].name = graph_.phases[phase].name;
    return item;
  }

  std::uint32_t item_of_scope(ScopeId scope, std::uint32_t phase = 0) {
    if (of_scope_[phase][scope] != kNone) return of_scope_[phase][scope];
    const Scope& s = graph_.scopes[scope];
    const std::uint32_t item =
        s.parent == kNone ? item_of_phase(phase) : child(item_of_scope(s.parent, phase), s.module, s.call);
    return of_scope_[phase][scope] = item;
  }

  // Of nodes that ran no ops: where their module was called first, or the module around it.
  std::uint32_t item_of_module(ModuleId module) {
    while (module != 0 && first_scope_[module] == kNone) module = graph_.modules[module].parent;
    return module == 0 ? 0 : item_of_scope(first_scope_[module]);
  }

  std::uint32_t container_of(const ViewNode& node) {
    ScopeId scope = kNone;  // the innermost call that all of its ops ran in
    for (const OpId op : view_.ops_of(node)) {
      const ScopeId next = graph_.ops[op].scope;
      scope = scope == kNone ? next : common_scope(graph_, scope, next);
    }
    const bool is_call = node.kind == "call_module";
    if (scope == kNone) return item_of_module(is_call ? graph_.modules[node.module].parent : node.module);
    const std::uint32_t phase = phase_of(graph_, view_.ops_of(node).front());
    if (!is_call) return item_of_scope(scope, phase);
    while (scope != 0 && graph_.scopes[scope].module != node.module) scope = graph_.scopes[scope].parent;
    return scope == 0 ? item_of_phase(phase) : item_of_scope(graph_.scopes[scope].parent, phase);
  }

  std::string relative(ModuleId parent, std::string_view path) const {
    const std::string_view around = graph_.path(graph_.modules[parent]);
    if (!around.empty() && path.size() > around.size() + 1 && path.starts_with(around) &&
        path[around.size()] == '.')
      path.remove_prefix(around.size() + 1);
    return std::string(path);
  }

  void add_leaf(std::uint32_t node) {
    const ViewNode& n = view_.nodes[node];
    const std::uint32_t parent = container_of(n);
    CallItem item;
    item.name = relative(tree_[parent].module, n.name);
    item.node = node;
    item.module = n.module;
    item.is_module = n.kind == "call_module";
    tree_.add(std::move(item), parent);
  }

  // A call that holds one thing alone is that thing, under its own name.
  void dissolve(std::uint32_t item) {
    for (std::uint32_t& slot : tree_[item].children) {
      dissolve(slot);
      CallItem& inner = tree_[slot];
      if (inner.is_leaf() || inner.children.size() != 1) continue;
      CallItem& only = tree_[inner.children[0]];
      only.name = only.is_leaf() ? inner.name : inner.name + "." + only.name;
      only.parent = item;
      only.dissolved.push_back(inner.module);
      only.dissolved.insert(only.dissolved.end(), inner.dissolved.begin(), inner.dissolved.end());
      slot = inner.children[0];
    }
  }

  void add_leaf_key(const CallItem& leaf, FoldKey& key) const {
    const ViewNode& node = view_.nodes[leaf.node];
    const Metrics& m = node.metrics;
    key.add(1).add(node.kind).add(node.target);
    for (const Count count : {m.flops, m.work.macs, m.memory_bytes(), node.parameters.total})
      key.add(count.value());
    if (node.output != kNone)
      for (const auto dim : graph_.shape(graph_.values[node.output]))
        key.add(static_cast<std::uint64_t>(dim));
    key.add(node.inputs.size);
  }

  bool holds_kept(std::uint32_t item) const {
    if (keep_ == kNone) return false;
    const std::string_view path = graph_.path(graph_.modules[tree_[item].module]);
    const std::string_view kept = graph_.path(graph_.modules[keep_]);
    return kept == path || (kept.starts_with(path) && kept[path.size()] == '.');
  }

  void fold() {
    tree_.find_shapes([&](std::uint32_t i, FoldKey& key) {
      const CallItem& item = tree_[i];
      item.is_leaf() ? add_leaf_key(item, key)
                     : void(key.add(2).add(graph_.text(graph_.modules[item.module].type)));
    });
    const std::size_t count = tree_.items.size();  // groups come behind them and have their names
    tree_.fold(kLongestPeriod, [&](std::uint32_t item) { return !holds_kept(item); });
    for (std::size_t i = 0; i < count; ++i) {
      CallItem& item = tree_.items[i];
      if (item.is_leaf()) tree_.drawn_for[item.node] = tree_[tree_.shown_as[i]].node;
      if (item.repeat > 1 && numbered(item.name) && item.name.find('#') == std::string::npos)
        item.name = numbered_range(item.name, item.repeat);
    }
  }

  const GraphView& view_;
  const Graph& graph_ = *view_.profile->graph;
  ModuleId keep_;
  CallTree tree_;
  std::vector<std::vector<std::uint32_t>> of_scope_;  // by phase
  std::vector<ScopeId> first_scope_;                  // by module
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;
};

}  // namespace

CallTree make_call_tree(const GraphView& view, bool fold, ModuleId keep) {
  return Builder(view, keep).build(fold);
}

std::vector<std::uint32_t> CallTree::leaves(std::uint32_t item) const {
  std::vector<std::uint32_t> nodes;
  const auto add = [&](Id i) {
    if (items[i].is_leaf()) nodes.push_back(items[i].node);
  };
  each_shown(add, item);
  std::ranges::sort(nodes);
  return nodes;
}

std::uint32_t CallTree::find(ModuleId module) const {
  std::vector<std::uint32_t> open{0};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const CallItem& item = items[open[i]];
    const bool is_it =
        item.module == module && (item.is_leaf() ? item.is_module : item.parent != kNone || module == 0);
    if (is_it || std::ranges::count(item.dissolved, module)) return open[i];
    open.insert(open.end(), item.children.begin(), item.children.end());
  }
  return kNone;
}

}  // namespace opscope
