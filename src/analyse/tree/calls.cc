// Building the tree of calls and folding it.
#include "analyse/tree/calls.h"

#include <algorithm>

#include "analyse/tree/folding.h"
#include "graph/scopes.h"

namespace opscope {
namespace {

constexpr std::size_t kLongestPeriod =
    8;  // layers that alternate: shifted windows, local and global attention

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}

std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = mixed(hash, static_cast<unsigned char>(c));
  return mixed(hash, text.size());
}

}  // namespace

CallTree::CallTree(const GraphView& view, bool fold_blocks, ModuleId keep)
    : view_(view), graph_(*view.profile->graph), keep_(keep) {
  of_scope_.assign(std::max<std::size_t>(graph_.phases.size(), 1),
                   std::vector<std::uint32_t>(graph_.scopes.size(), kNone));
  first_scope_.assign(graph_.modules.size(), kNone);
  for (ScopeId s = 0; s < graph_.scopes.size(); ++s)
    if (ScopeId& first = first_scope_[graph_.scopes[s].module]; first == kNone) first = s;
  items_.push_back({});
  for (std::uint32_t n = 0; n < view.nodes.size(); ++n) add_leaf(n);
  dissolve(0);
  drawn_for_.resize(view.nodes.size());
  for (std::uint32_t n = 0; n < view.nodes.size(); ++n) drawn_for_[n] = n;
  if (!fold_blocks) return;
  find_shapes(0);
  fold(0);
  // Inner folds come after outer ones: a node's like has been mapped further by then.
  for (std::uint32_t& node : drawn_for_)
    while (drawn_for_[node] != node) node = drawn_for_[node];
}

std::uint32_t CallTree::child(std::uint32_t parent, ModuleId module, std::uint32_t call) {
  const std::uint64_t key = pair_key(module, call) * 0x9e3779b97f4a7c15ULL ^ parent;
  if (const auto found = calls_.find(key); found != calls_.end()) {
    const TreeItem& item = items_[found->second];
    if (item.parent == parent && item.module == module && item.call == call) return found->second;
  }
  const auto id = static_cast<std::uint32_t>(items_.size());
  std::string name = relative(items_[parent].module, graph_.path(graph_.modules[module]));
  if (call > 0) name += "#" + std::to_string(call + 1);
  items_.push_back({.module = module,
                    .call = call,
                    .parent = parent,
                    .children = {},
                    .name = std::move(name),
                    .dissolved = {}});
  items_[parent].children.push_back(id);
  calls_[key] = id;
  return id;
}

std::uint32_t CallTree::item_of_phase(std::uint32_t phase) {
  if (phase == 0) return 0;
  const std::uint32_t item = child(0, 0, phase);
  items_[item].name = graph_.phases[phase].name;
  return item;
}

std::uint32_t CallTree::item_of_scope(ScopeId scope, std::uint32_t phase) {
  if (of_scope_[phase][scope] != kNone) return of_scope_[phase][scope];
  const Scope& s = graph_.scopes[scope];
  const std::uint32_t item =
      s.parent == kNone ? item_of_phase(phase) : child(item_of_scope(s.parent, phase), s.module, s.call);
  return of_scope_[phase][scope] = item;
}

// Of nodes that ran no ops: where their module was called first, or the module around it.
std::uint32_t CallTree::item_of_module(ModuleId module) {
  while (module != 0 && first_scope_[module] == kNone) module = graph_.modules[module].parent;
  return module == 0 ? 0 : item_of_scope(first_scope_[module]);
}

// The innermost call that all of its ops ran in.
ScopeId CallTree::scope_of(const ViewNode& node) const {
  ScopeId common = kNone;
  for (const OpId op : view_.ops_of(node)) {
    const ScopeId scope = graph_.ops[op].scope;
    common = common == kNone ? scope : common_scope(graph_, common, scope);
  }
  return common;
}

std::uint32_t CallTree::container_of(const ViewNode& node) {
  ScopeId scope = scope_of(node);
  const bool is_call = node.kind == "call_module";
  if (scope == kNone) return item_of_module(is_call ? graph_.modules[node.module].parent : node.module);
  const std::uint32_t phase = phase_of(graph_, view_.ops_of(node).front());
  if (!is_call) return item_of_scope(scope, phase);
  while (scope != 0 && graph_.scopes[scope].module != node.module) scope = graph_.scopes[scope].parent;
  return scope == 0 ? item_of_phase(phase) : item_of_scope(graph_.scopes[scope].parent, phase);
}

std::string CallTree::relative(ModuleId parent, std::string_view path) const {
  const std::string_view around = graph_.path(graph_.modules[parent]);
  if (!around.empty() && path.size() > around.size() + 1 && path.starts_with(around) &&
      path[around.size()] == '.')
    path.remove_prefix(around.size() + 1);
  return std::string(path);
}

void CallTree::add_leaf(std::uint32_t node) {
  const ViewNode& n = view_.nodes[node];
  const std::uint32_t parent = container_of(n);
  const auto id = static_cast<std::uint32_t>(items_.size());
  items_.push_back({.node = node,
                    .module = n.module,
                    .parent = parent,
                    .children = {},
                    .name = relative(items_[parent].module, n.name),
                    .dissolved = {}});
  items_[parent].children.push_back(id);
}

// A call that holds one thing alone is that thing, under its own name.
void CallTree::dissolve(std::uint32_t item) {
  for (std::uint32_t& slot : items_[item].children) {
    dissolve(slot);
    TreeItem& inner = items_[slot];
    if (inner.is_leaf() || inner.children.size() != 1) continue;
    TreeItem& only = items_[inner.children[0]];
    only.name = only.is_leaf() ? inner.name : inner.name + "." + only.name;
    only.parent = item;
    only.dissolved.push_back(inner.module);
    only.dissolved.insert(only.dissolved.end(), inner.dissolved.begin(), inner.dissolved.end());
    slot = inner.children[0];
  }
}

std::uint64_t CallTree::leaf_shape(const TreeItem& leaf) const {
  const ViewNode& node = view_.nodes[leaf.node];
  const Metrics& m = node.metrics;
  std::uint64_t hash = mixed(mixed(1, node.kind), node.target);
  for (const Count count : {m.flops, m.work.macs, m.memory_bytes(), node.parameters.total})
    hash = mixed(hash, count.value());
  if (node.output != kNone)
    for (const auto dim : graph_.shape(graph_.values[node.output]))
      hash = mixed(hash, static_cast<std::uint64_t>(dim));
  return mixed(hash, node.inputs.size);
}

void CallTree::find_shapes(std::uint32_t id) {
  if (items_[id].is_leaf()) {
    items_[id].shape = leaf_shape(items_[id]);
    return;
  }
  std::uint64_t hash = mixed(2, graph_.text(graph_.modules[items_[id].module].type));
  for (const std::uint32_t c : items_[id].children) {
    find_shapes(c);
    const TreeItem& inner = items_[c];
    const bool named = !inner.is_leaf() || view_.nodes[inner.node].kind == "call_module";
    hash = mixed(mixed(hash, inner.shape), named ? std::string_view(inner.name) : "");
  }
  items_[id].shape = hash;
}

// Equal, and called like what comes `step` after it in a loop: "layer.3" after "layer.2", a module's next
// call.
bool CallTree::alike(const TreeItem& item, const TreeItem& earlier, std::uint64_t step) const {
  if (item.shape != earlier.shape || item.is_leaf() != earlier.is_leaf()) return false;
  if (!is_call(item)) return true;
  return follows(item.name, earlier.name, step) || (item.module == earlier.module && !item.is_leaf());
}

// How often the `period` items from `at` on run in a row.
std::size_t CallTree::repeats(const std::vector<std::uint32_t>& children, std::size_t at,
                              std::size_t period) const {
  const auto begin = children.begin() + static_cast<std::ptrdiff_t>(at);
  const auto calls =
      static_cast<std::uint64_t>(std::count_if(begin, begin + static_cast<std::ptrdiff_t>(period),
                                               [&](std::uint32_t c) { return is_call(items_[c]); }));
  const bool keeps = std::any_of(begin, begin + static_cast<std::ptrdiff_t>(period),
                                 [&](std::uint32_t c) { return holds_kept(c); });
  if (calls == 0 || keeps) return 1;
  std::size_t end = at + period;
  while (end < children.size() && !holds_kept(children[end]) &&
         alike(items_[children[end]], items_[children[end - period]], calls))
    ++end;
  return (end - at) / period;
}

bool CallTree::holds_kept(std::uint32_t item) const {
  if (keep_ == kNone) return false;
  const std::string_view path = graph_.path(graph_.modules[items_[item].module]);
  const std::string_view kept = graph_.path(graph_.modules[keep_]);
  return kept == path || (kept.starts_with(path) && kept[path.size()] == '.');
}

// From the first module to the last; ops between them do not name a block.
std::string CallTree::range_name(std::span<const std::uint32_t> children) const {
  std::string first, last;
  for (const std::uint32_t c : children) {
    if (!is_call(items_[c])) continue;
    if (first.empty()) first = items_[c].name;
    last = items_[c].name;
  }
  return first == last ? first : first + ".." + last;
}

bool CallTree::is_call(const TreeItem& item) const {
  return !item.is_leaf() || view_.nodes[item.node].kind == "call_module";
}

void CallTree::fold(std::uint32_t id) {
  const std::vector<std::uint32_t> children = items_[id].children;
  std::vector<std::uint32_t> kept;
  for (std::size_t at = 0; at < children.size();) {
    std::size_t period = 1, times = 1;
    for (std::size_t p = 1; p <= kLongestPeriod && at + 2 * p <= children.size(); ++p)
      if (const std::size_t t = repeats(children, at, p); t > 1 && t * p > times * period)
        period = p, times = t;
    for (std::size_t k = period; k < period * times; ++k)
      map_onto(children[at + k], children[at + k % period]);
    if (times > 1 && period > 1) {
      const auto group = static_cast<std::uint32_t>(items_.size());
      const std::string name =
          range_name({children.begin() + static_cast<std::ptrdiff_t>(at), period * times});
      items_.push_back({.module = items_[id].module,
                        .parent = id,
                        .children = {children.begin() + static_cast<std::ptrdiff_t>(at),
                                     children.begin() + static_cast<std::ptrdiff_t>(at + period)},
                        .repeat = static_cast<std::uint32_t>(times),
                        .name = name,
                        .dissolved = {}});
      for (const std::uint32_t c : items_[group].children) items_[c].parent = group, fold(c);
      kept.push_back(group);
    } else {
      items_[children[at]].repeat = static_cast<std::uint32_t>(times);
      if (times > 1) {
        TreeItem& first = items_[children[at]];
        first.name = numbered(first.name) && first.name.find('#') == std::string::npos
                         ? numbered_range(first.name, times)
                         : first.name;
      }
      fold(children[at]);
      kept.push_back(children[at]);
    }
    at += period * times;
  }
  items_[id].children = std::move(kept);
}

void CallTree::all_leaves(std::uint32_t item, std::vector<std::uint32_t>& nodes) const {
  if (items_[item].is_leaf()) nodes.push_back(items_[item].node);
  for (const std::uint32_t c : items_[item].children) all_leaves(c, nodes);
}

void CallTree::map_onto(std::uint32_t item, std::uint32_t first) {
  std::vector<std::uint32_t> from, to;
  all_leaves(item, from), all_leaves(first, to);
  OPSCOPE_CHECK(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) drawn_for_[from[i]] = to[i];
}

std::vector<std::uint32_t> CallTree::leaves(std::uint32_t item) const {
  std::vector<std::uint32_t> nodes;
  all_leaves(item, nodes);
  std::ranges::sort(nodes);
  return nodes;
}

std::uint32_t CallTree::depth(std::uint32_t item) const {
  std::uint32_t levels = 0;
  for (; items_[item].parent != kNone; item = items_[item].parent) ++levels;
  return levels;
}

std::uint32_t CallTree::find(ModuleId module) const {
  std::vector<std::uint32_t> open{0};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const TreeItem& item = items_[open[i]];
    const bool is_it = item.is_leaf() ? view_.nodes[item.node].kind == "call_module" && item.module == module
                                      : item.module == module && (item.parent != kNone || module == 0);
    if (is_it || std::ranges::count(item.dissolved, module)) return open[i];
    open.insert(open.end(), item.children.begin(), item.children.end());
  }
  return kNone;
}

}  // namespace opscope
