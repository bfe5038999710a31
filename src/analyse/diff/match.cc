// Partners from the roots downwards, then moved ones.
#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "analyse/diff/items.h"
#include "base/hash.h"
#include "graph/alignment.h"

namespace opscope {
namespace {

using Items = std::vector<std::uint32_t>;
using ItemSpan = std::span<const std::uint32_t>;

bool is_index(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

constexpr int kLevels = 4;
constexpr int kByClass = 3;       // from here on names that differ want more than the key
constexpr double kSimilar = 0.5;  // of what is in the larger, by class; what git asks of a rename

// By what items are alike, the most telling first; the last is their class alone.
std::uint64_t key_of(const DiffItem& item, int level) {
  const std::array keys{item.exact, item.config, item.kind};
  return level < kByClass ? keys[static_cast<std::size_t>(level)] : hash64(item.type);
}

class TreeMatcher {
 public:
  TreeMatcher(const DiffTree& base, const DiffTree& now) : base_(base.items), now_(now.items) {
    match_.in_new.assign(base_.size(), kNone);
    match_.in_base.assign(now_.size(), kNone);
  }

  DiffMatch run() {
    pair(0, 0);
    for (const int level : {0, 1, 2}) find_moved(level);
    follow_moved();
    return std::move(match_);
  }

 private:
  void pair(std::uint32_t a, std::uint32_t b) {
    match_.in_new[a] = b, match_.in_base[b] = a;
    Items left = children(base_, a, match_.in_new, true), right = children(now_, b, match_.in_base, true);
    if (!all_indices(base_, left) || !all_indices(now_, right)) pair_by_name(left, right);
    align(left, right, 0);
    align(children(base_, a, match_.in_new, false), children(now_, b, match_.in_base, false), 0);
  }

  static Items children(const std::vector<DiffItem>& items, std::uint32_t of, const Items& partners,
                        bool modules) {
    Items found;
    for (const std::uint32_t c : items[of].children)
      if (items[c].is_module == modules && partners[c] == kNone) found.push_back(c);
    return found;
  }
  static bool all_indices(const std::vector<DiffItem>& items, const Items& some) {
    return std::ranges::all_of(some, [&](std::uint32_t i) { return is_index(items[i].name); });
  }

  void pair_by_name(Items& left, Items& right) {
    std::unordered_map<std::string_view, std::uint32_t> named;
    for (const std::uint32_t b : right) named.emplace(now_[b].name, b);
    for (const std::uint32_t a : left) {
      const auto found = named.find(base_[a].name);
      if (found != named.end() && !pair_wrapped(a, found->second)) pair(a, found->second);
    }
    std::erase_if(left, [&](std::uint32_t a) { return match_.in_new[a] != kNone; });
    std::erase_if(right, [&](std::uint32_t b) { return match_.in_base[b] != kNone; });
  }

  // A module that another of its name was put around, or taken off: the same module with a longer path.
  bool pair_wrapped(std::uint32_t a, std::uint32_t b) {
    if (base_[a].kind == now_[b].kind) return false;
    const auto inside = [](const std::vector<DiffItem>& items, std::uint32_t of, std::uint64_t config) {
      const auto& parts = items[of].children;
      const auto found =
          std::ranges::find_if(parts, [&](std::uint32_t c) { return items[c].config == config; });
      return found == parts.end() ? kNone : *found;
    };
    if (const std::uint32_t inner = inside(now_, b, base_[a].config); inner != kNone)
      pair(a, inner);
    else if (const std::uint32_t outer = inside(base_, a, now_[b].config); outer != kNone)
      pair(outer, b);
    else
      return false;
    return true;
  }

  // Modules of other names are one module where their classes are the same and most of what is in them.
  bool may_be_renamed(std::uint32_t a, std::uint32_t b) const {
    const DiffItem &before = base_[a], &after = now_[b];
    if (!before.is_module || before.name == after.name || are_indices(before, after)) return true;
    if (before.type != after.type) return false;
    if (before.is_layer() || after.is_layer()) return before.is_layer() && after.is_layer();
    const auto left = classes_below(base_, a), right = classes_below(now_, b);
    std::vector<std::string_view> common;
    std::ranges::set_intersection(left, right, std::back_inserter(common));
    return static_cast<double>(common.size()) >=
           kSimilar * static_cast<double>(std::max(left.size(), right.size()));
  }
  // Of all that is in it, sorted.
  static std::vector<std::string_view> classes_below(const std::vector<DiffItem>& items, std::uint32_t of) {
    std::vector<std::string_view> classes;
    Items open = items[of].children;
    while (!open.empty()) {
      const DiffItem& item = items[open.back()];
      open.pop_back();
      classes.push_back(item.type);
      open.insert(open.end(), item.children.begin(), item.children.end());
    }
    std::ranges::sort(classes);
    return classes;
  }

  // What is equal at both ends first: of equal blocks in a row, those at the end are the new ones.
  void align(ItemSpan left, ItemSpan right, int level) {
    if (left.empty() || right.empty()) return;
    if (level == kLevels) {
      if (left.size() == right.size())
        for (std::size_t i = 0; i < left.size(); ++i)
          if (may_be_renamed(left[i], right[i])) pair(left[i], right[i]);
      return;
    }
    const auto same = [&](std::uint32_t a, std::uint32_t b) {
      return key_of(base_[a], level) == key_of(now_[b], level) && (level < kByClass || may_be_renamed(a, b));
    };
    while (!left.empty() && !right.empty() && same(left.front(), right.front())) {
      pair(left.front(), right.front());
      left = left.subspan(1), right = right.subspan(1);
    }
    while (!left.empty() && !right.empty() && same(left.back(), right.back())) {
      pair(left.back(), right.back());
      left = left.first(left.size() - 1), right = right.first(right.size() - 1);
    }
    align_between(left, right, level);
  }

  void align_between(ItemSpan left, ItemSpan right, int level) {
    const std::vector<Id> partners = align_keys(left, right, level);
    std::size_t from = 0, done = 0;
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (j < right.size() && partners[j] == kNone) continue;
      const std::size_t i = j < right.size() ? partners[j] : left.size();
      align(left.subspan(from, i - from), right.subspan(done, j - done), level + 1);
      if (j < right.size() && (level < kByClass || may_be_renamed(left[i], right[j])))
        pair(left[i], right[j]);
      from = i + 1, done = j + 1;
    }
  }

  std::vector<Id> align_keys(ItemSpan left, ItemSpan right, int level) const {
    std::unordered_map<std::uint64_t, Id> numbers;
    const auto number = [&](std::uint64_t key) {
      return numbers.try_emplace(key, static_cast<Id>(numbers.size())).first->second;
    };
    std::vector<Id> expected, seen;
    for (const std::uint32_t a : left) expected.push_back(number(key_of(base_[a], level)));
    for (const std::uint32_t b : right) seen.push_back(number(key_of(now_[b], level)));
    return opscope::align(expected, seen);
  }

  // Modules with weights that went elsewhere: the same, or of the same make and name.
  void find_moved(int level) {
    std::unordered_map<std::uint64_t, Items> there;
    for (std::uint32_t b = 0; b < now_.size(); ++b)
      if (match_.in_base[b] == kNone && may_move(now_[b], level))
        there[move_key(now_[b], level)].push_back(b);
    for (std::uint32_t a = 0; a < base_.size(); ++a) {
      if (match_.in_new[a] != kNone || !may_move(base_[a], level)) continue;
      const auto found = there.find(move_key(base_[a], level));
      if (found == there.end()) continue;
      // A single layer, or a module that is not quite the same, moves out of a module that stays or into one:
      // between a block that goes and one that comes it is a coincidence.
      const bool may_be_anywhere = level == 0 && !base_[a].is_layer();
      const auto free = std::ranges::find_if(found->second, [&](std::uint32_t b) {
        return match_.in_base[b] == kNone && (may_be_anywhere || stays(base_[a].parent, now_[b].parent));
      });
      if (free != found->second.end()) pair(a, *free);
    }
  }
  bool stays(std::uint32_t from, std::uint32_t to) const {
    return match_.in_new[from] != kNone || match_.in_base[to] != kNone;
  }
  // One layer of a class is not another of it.
  static bool may_move(const DiffItem& item, int level) {
    return item.is_module && item.all.params != 0 && (level < 2 || !item.is_layer());
  }
  // Of less than the same, also by name: an index says nothing without the path around it.
  static std::uint64_t move_key(const DiffItem& item, int level) {
    const std::uint64_t key = key_of(item, level);
    if (level < 2) return key;
    return hash64(Hasher().add(key).add(is_index(item.name) ? item.path : item.name).hex());
  }

  // Ops and modules without weights go with their siblings.
  void follow_moved() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> homes;
    for (std::uint32_t a = 1; a < base_.size(); ++a) {
      const std::uint32_t b = match_.in_new[a];
      if (b == kNone || match_.in_new[base_[a].parent] == now_[b].parent) continue;
      if (stays(base_[a].parent, now_[b].parent)) homes.emplace(base_[a].parent, now_[b].parent);
    }
    for (const auto& [from, to] : homes) {
      Items left = children(base_, from, match_.in_new, true),
            right = children(now_, to, match_.in_base, true);
      pair_by_name(left, right);
      left = children(base_, from, match_.in_new, false), right = children(now_, to, match_.in_base, false);
      const std::vector<Id> partners = align_keys(left, right, 0);
      for (std::size_t j = 0; j < right.size(); ++j)
        if (partners[j] != kNone) pair(left[partners[j]], right[j]);
    }
  }

  const std::vector<DiffItem>&base_, &now_;
  DiffMatch match_;
};

}  // namespace

bool are_indices(const DiffItem& a, const DiffItem& b) { return is_index(a.name) && is_index(b.name); }

DiffMatch match_trees(const DiffTree& base, const DiffTree& now) { return TreeMatcher(base, now).run(); }

}  // namespace opscope
