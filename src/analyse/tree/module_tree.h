// The one tree of modules that tables, pictures, the browser, diffs, icicles and memory reports show: items
// in tree order with their children, equal numbered siblings folded into the first of them, cut at a depth
// that fits. What an item shows is the item type's own business.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/profile/profile.h"
#include "base/text.h"

namespace opscope {

// What equal blocks that are built in a loop have in common: names that count up ("layer1", "layer2", ...),
// and a key of what they show.

// "layer12" -> {"layer", 12}; no number: nullopt.
inline std::optional<std::pair<std::string_view, std::uint64_t>> numbered(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto number = number_from<std::uint64_t>(name.substr(digits));
  return number ? std::optional(std::pair(name.substr(0, digits), *number)) : std::nullopt;
}

inline bool follows(std::string_view name, std::string_view previous, std::uint64_t by = 1) {
  const auto a = numbered(previous), b = numbered(name);
  return a && b && a->first == b->first && a->second + by == b->second;
}

// "layer0..layer11" for 12 of them, beginning with "layer0".
inline std::string numbered_range(std::string_view first, std::uint64_t count) {
  const auto [prefix, number] = *numbered(first);
  return std::string(first) + ".." + std::string(prefix) + std::to_string(number + count - 1);
}

// 64 bits that are equal for equal blocks, and in practice for no others.
class FoldKey {
 public:
  FoldKey& add(std::uint64_t value) {
    state_ ^= value + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdULL;
    return *this;
  }
  FoldKey& add(std::string_view text) {
    for (const char c : text) add(std::uint64_t{static_cast<unsigned char>(c)});
    return add(std::uint64_t{text.size()});
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 1;
};

// A module, or an op or a weight that stands beside modules.
struct TreeNode {
  std::string name{};  // within its parent
  bool is_module = true;
  ModuleId module = kNone;
  std::uint32_t parent = kNone;
  std::uint32_t depth = 0;
  std::vector<std::uint32_t> children{};  // in the order they are shown
  std::uint64_t shape = 0;                // equal for what shows the same in itself and below it
  std::uint32_t repeat = 1;               // equal siblings that it stands for, itself included
  std::uint32_t folded_into = kNone;      // the first of its equal siblings; kNone: it has a place of its own
};

// A row of the tree, with the lines that lead to it: "│  ├─ ".
struct TreeLine {
  std::uint32_t item = 0;
  bool is_last = true;  // among its siblings
  std::string guides{};
};

template <std::derived_from<TreeNode> Item>
struct ModuleTree {
  using Id = std::uint32_t;
  std::vector<Item> items;   // parents first, but for the groups that fold() adds; 0 is the root
  std::vector<Id> shown_as;  // by item, after fold(): itself, or its like in the first of equal blocks

  Item& operator[](Id item) { return items[item]; }
  const Item& operator[](Id item) const { return items[item]; }

  Id add(Item item, Id parent) {
    const auto id = static_cast<Id>(items.size());
    item.parent = parent;
    if (parent != kNone) {
      item.depth = items[parent].depth + 1;
      items[parent].children.push_back(id);
    }
    items.push_back(std::move(item));
    return id;
  }

  // By module: its item. Of trees that have one for each.
  std::vector<Id> by_module() const {
    std::vector<Id> found(items.size(), kNone);
    for (Id i = 0; i < items.size(); ++i)
      if (items[i].module < found.size()) found[items[i].module] = i;
    return found;
  }

  // Parents before their children, what is folded away left out.
  template <class Visit>
  void each_shown(Visit visit, Id from = 0) const {
    std::vector<Id> open{from};
    while (!open.empty()) {
      const Id item = open.back();
      open.pop_back();
      visit(item);
      open.insert(open.end(), items[item].children.rbegin(), items[item].children.rend());
    }
  }

  // `add_own(item, key)` adds what an item shows itself. Names count among siblings, an item's own does not.
  template <class AddOwn>
  void find_shapes(AddOwn add_own) {
    for (Id i = static_cast<Id>(items.size()); i-- > 0;) {
      FoldKey key;
      add_own(i, key);
      for (const Id c : items[i].children)
        key.add(items[c].shape).add(items[c].is_module ? std::string_view(items[c].name) : "");
      items[i].shape = key.value();
    }
  }

  // Siblings that follow each other in name and are equal in shape become one, a whole period of them where
  // layers alternate. `may_fold(item)`: false for what has to stay in sight.
  template <class MayFold>
  void fold(std::size_t longest_period, MayFold may_fold) {
    shown_as.resize(items.size());
    std::iota(shown_as.begin(), shown_as.end(), Id{0});
    std::vector<Id> open{0};
    while (!open.empty()) {
      const Id parent = open.back();
      open.pop_back();
      fold_children(parent, longest_period, may_fold, open);
    }
    // Inner folds come after outer ones: an item's like has been laid over another by then.
    for (Id& item : shown_as)
      while (shown_as[item] != item) item = shown_as[item];
  }
  void fold() {
    fold(1, [](Id) { return true; });
  }

  // By item that is shown: itself and its likes in the equal blocks that are not.
  std::vector<std::vector<Id>> stands_for() const {
    std::vector<std::vector<Id>> items_of(items.size());
    for (Id i = 0; i < items.size(); ++i) items_of[i < shown_as.size() ? shown_as[i] : i].push_back(i);
    return items_of;
  }

  std::vector<std::size_t> shown_at_depth() const {
    std::vector<std::size_t> at_depth;
    each_shown([&](Id item) {
      at_depth.resize(std::max<std::size_t>(at_depth.size(), items[item].depth + 1));
      ++at_depth[items[item].depth];
    });
    return at_depth;
  }
  // The deepest level down to which the rows fit, at least one below the root.
  std::uint32_t depth_that_fits(std::size_t most_rows) const {
    const auto at_depth = shown_at_depth();
    std::size_t shown = at_depth.front();
    std::uint32_t depth = 0;
    while (depth + 1 < at_depth.size() && (depth == 0 || shown + at_depth[depth + 1] <= most_rows))
      shown += at_depth[++depth];
    return depth;
  }

  std::vector<TreeLine> lines(std::uint32_t deepest = kNone) const {
    std::vector<TreeLine> result, open{{}};
    while (!open.empty()) {
      TreeLine line = std::move(open.back());
      open.pop_back();
      const Item& item = items[line.item];
      const std::string above = std::move(line.guides);
      if (item.depth > 0) line.guides = above + (line.is_last ? "└─ " : "├─ ");
      const std::string below = item.depth == 0 ? "" : above + (line.is_last ? "   " : "│  ");
      result.push_back(std::move(line));
      if (item.depth >= deepest) continue;
      for (std::size_t i = item.children.size(); i-- > 0;)
        open.push_back({item.children[i], i + 1 == item.children.size(), below});
    }
    return result;
  }

 private:
  struct Run {
    std::size_t period = 1, times = 1;
  };

  template <class MayFold>
  void fold_children(Id parent, std::size_t longest_period, MayFold may_fold, std::vector<Id>& open) {
    const std::vector<Id> children = std::move(items[parent].children);
    std::vector<Id> kept;
    for (std::size_t at = 0; at < children.size();) {
      Run run;
      for (std::size_t p = 1; p <= longest_period && at + 2 * p <= children.size(); ++p)
        if (const std::size_t t = repeats(children, at, p, may_fold); t > 1 && t * p > run.times * run.period)
          run = {p, t};
      const auto all = std::span(children).subspan(at, run.period * run.times);
      for (std::size_t k = run.period; k < all.size(); ++k) lay_over(all[k], all[k % run.period]);
      open.insert(open.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(run.period));
      if (run.period == 1) items[all[0]].repeat = static_cast<std::uint32_t>(run.times);
      kept.push_back(run.period == 1 ? all[0] : add_group(parent, all, run));
      at += all.size();
    }
    items[parent].children = std::move(kept);
  }

  // How often the `period` items from `at` on come in a row.
  template <class MayFold>
  std::size_t repeats(const std::vector<Id>& children, std::size_t at, std::size_t period,
                      MayFold may_fold) const {
    const auto first = std::span(children).subspan(at, period);
    const auto modules = std::ranges::count_if(first, [&](Id c) { return items[c].is_module; });
    if (modules == 0 || !std::ranges::all_of(first, may_fold)) return 1;
    std::size_t end = at + period;
    while (end < children.size() && may_fold(children[end]) &&
           alike(items[children[end]], items[children[end - period]], static_cast<std::uint64_t>(modules)))
      ++end;
    return (end - at) / period;
  }

  // Equal, and called like what comes `step` after it in a loop: "layer.3" after "layer.2", a module's next
  // call.
  static bool alike(const TreeNode& item, const TreeNode& earlier, std::uint64_t step) {
    if (item.shape != earlier.shape || item.is_module != earlier.is_module) return false;
    if (!item.is_module || follows(item.name, earlier.name, step)) return true;
    return item.module != kNone && item.module == earlier.module && !item.children.empty();
  }

  Id add_group(Id parent, std::span<const Id> all, const Run& run) {
    const auto id = static_cast<Id>(items.size());
    Item group;
    group.name = range_name(all);
    group.module = items[parent].module;
    group.parent = parent;
    group.depth = items[parent].depth + 1;
    group.children = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(run.period)};
    group.repeat = static_cast<std::uint32_t>(run.times);
    for (const Id c : group.children) items[c].parent = id;
    items.push_back(std::move(group));
    shown_as.push_back(id);
    return id;
  }

  // From the first module to the last; ops between them do not name a block.
  std::string range_name(std::span<const Id> run) const {
    std::string_view first, last;
    for (const Id c : run) {
      if (!items[c].is_module) continue;
      if (first.empty()) first = items[c].name;
      last = items[c].name;
    }
    return first == last ? std::string(first) : std::string(first) + ".." + std::string(last);
  }

  void lay_over(Id item, Id first) {
    items[item].folded_into = first;
    std::vector<std::pair<Id, Id>> open{{item, first}};
    while (!open.empty()) {
      const auto [one, other] = open.back();
      open.pop_back();
      shown_as[one] = other;
      const auto &from = items[one].children, &to = items[other].children;
      for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) open.emplace_back(from[i], to[i]);
    }
  }
};

// The model's own modules; an item for each row of Profile::modules, of the same number. The root is called
// by the model's name.
template <std::derived_from<TreeNode> Item>
ModuleTree<Item> module_tree(const Profile& profile) {
  const Graph& graph = *profile.graph;
  ModuleTree<Item> tree;
  std::vector<std::uint32_t> item_of(graph.modules.size(), kNone);
  for (const ModuleRow& row : profile.modules()) {
    const Module& module = graph.modules[row.module];
    Item item;
    item.name = graph.text(module.name);
    if (module.parent == kNone)
      item.name = graph.capture.model.empty() ? std::string(graph.text(module.type)) : graph.capture.model;
    item.module = row.module;
    item_of[row.module] = tree.add(std::move(item), module.parent == kNone ? kNone : item_of[module.parent]);
  }
  return tree;
}

}  // namespace opscope
