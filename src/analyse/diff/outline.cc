// Rows from the root downwards, at the deepest level that fits.
#include <algorithm>

#include "analyse/diff/diff.h"
#include "analyse/tree/module_tree.h"

namespace opscope {
namespace {

// Of the tree that differs: a row, and the nodes of the diff that it stands for.
struct OutlineItem : TreeNode {
  std::vector<std::uint32_t> nodes{};
  bool follow = false, itself = false;
  Amounts amounts{};
};

class OutlineMaker {
 public:
  OutlineMaker(const ModelDiff& diff, const OutlineOptions& options) : diff_(diff), options_(options) {
    shape_.assign(diff.nodes.size(), 0);
    for (std::size_t n = diff.nodes.size(); n-- > 0;) shape_[n] = shape_of(diff.nodes[n]);
    tree_.items.emplace_back();
    if (diff_.nodes[0].differs) add_below(0, 0);
    if (options_.fold) fold();
  }

  std::vector<OutlineRow> run() const {
    const auto deepest = options_.depth >= 0 ? static_cast<std::uint32_t>(options_.depth)
                                             : tree_.depth_that_fits(options_.most_rows + 1);
    std::vector<OutlineRow> rows;
    for (const TreeLine& line : tree_.lines(std::max(deepest, 1u))) {
      if (line.item == 0) continue;
      const OutlineItem& item = tree_[line.item];
      rows.push_back({.nodes = item.nodes,
                      .status = status_of(item),
                      .depth = item.depth,
                      .follow = item.follow,
                      .itself = item.itself,
                      .is_open = item.depth < deepest && !item.children.empty(),
                      .guides = line.guides,
                      .amounts = item.amounts});
    }
    return rows;
  }

 private:
  const DiffNode& node(std::uint32_t n) const { return diff_.nodes[n]; }

  // Equal for what changed in the same way, names of the first level aside.
  std::uint64_t shape_of(const DiffNode& node) const {
    FoldKey key;
    key.add(static_cast<std::uint64_t>(node.status)).add(diff_.item(node).type);
    for (const DetailChange& c : node.changes) key.add(c.what).add(c.before).add(c.after);
    for (const AmountField& field : count_fields())
      key.add(static_cast<std::uint64_t>(node.own.*field.amount));
    for (const std::uint32_t c : node.children)
      if (diff_.nodes[c].differs) key.add(diff_.item(diff_.nodes[c]).name).add(shape_[c]);
    return key.value();
  }

  bool opens(const DiffNode& node) const {
    if (is_whole(diff_, node)) return false;
    return std::ranges::any_of(node.children, [&](std::uint32_t c) { return diff_.nodes[c].differs; });
  }

  // A module that only holds another is told of by that one's longer name.
  std::uint32_t innermost(std::uint32_t n) const {
    for (;;) {
      if (node(n).status != DiffStatus::kUnchanged || !opens(node(n))) return n;
      std::uint32_t only = kNone;
      for (const std::uint32_t c : node(n).children) {
        if (!node(c).differs) continue;
        if (only != kNone) return n;
        only = c;
      }
      if (!diff_.item(node(only)).is_module) return n;
      n = only;
    }
  }

  OutlineItem& add(std::uint32_t parent, std::uint32_t n, const Amounts& amounts) {
    OutlineItem item;
    item.nodes = {n}, item.amounts = amounts, item.is_module = false;
    return tree_[tree_.add(std::move(item), parent)];
  }

  // Rows of the parts of node `of`, below the item `parent`.
  void add_below(std::uint32_t of, std::uint32_t parent) {
    // The root has no row above its parts that would tell of its class.
    const bool has_own = node(of).own.has_cost() || (node(of).parent == kNone && !node(of).changes.empty());
    if (has_own) add(parent, of, node(of).own).itself = true;
    std::vector<std::uint32_t> followers;
    for (const std::uint32_t child : node(of).children) {
      if (!node(child).differs) continue;
      const std::uint32_t n = innermost(child);
      const bool follows = node(n).status == DiffStatus::kChanged && node(n).follows && !opens(node(n));
      if (options_.fold && follows) {
        followers.push_back(n);
        continue;
      }
      OutlineItem& item = add(parent, n, node(n).all);
      item.name = diff_.item(node(child)).name;
      item.is_module = true;
      item.shape = shape_[child];
      const auto id = static_cast<std::uint32_t>(tree_.items.size() - 1);
      if (opens(node(n))) add_below(n, id);
    }
    if (followers.empty()) return;
    OutlineItem& last = add(parent, followers[0], {});
    for (const std::uint32_t n : followers) last.amounts += node(n).all;
    last.follow = followers.size() > 1;
    last.nodes = std::move(followers);
  }
  void fold() {
    tree_.fold();
    for (const OutlineItem& item : tree_.items)
      if (item.folded_into != kNone) tree_[item.folded_into].nodes.push_back(item.nodes[0]);
  }
  // What is new may hold what moved there and costs less now: the sum is a change then.
  DiffStatus status_of(const OutlineItem& row) const {
    const DiffStatus status = node(row.nodes[0]).status;
    const Amounts& a = row.amounts;
    const auto [least, most] = std::minmax({a.params, a.macs, a.flops, a.memory_bytes, a.ops});
    const bool mixed =
        (status == DiffStatus::kAdded && least < 0) || (status == DiffStatus::kRemoved && most > 0);
    return mixed || status == DiffStatus::kUnchanged ? DiffStatus::kChanged : status;
  }

  const ModelDiff& diff_;
  const OutlineOptions& options_;
  std::vector<std::uint64_t> shape_;  // by node of the diff
  ModuleTree<OutlineItem> tree_;
};

// "0..2.conv2" of "0.conv2" and "2.conv2".
std::string range_of_paths(std::string_view first, std::string_view last) {
  std::string text;
  while (!first.empty()) {
    const std::string_view a = first.substr(0, first.find('.')), b = last.substr(0, last.find('.'));
    text.append(text.empty() ? "" : ".").append(a);
    if (a != b) text.append("..").append(b);
    first.remove_prefix(std::min(a.size() + 1, first.size()));
    last.remove_prefix(std::min(b.size() + 1, last.size()));
  }
  return text;
}

}  // namespace

bool is_whole(const ModelDiff& diff, const DiffNode& node) {
  if (node.status != DiffStatus::kAdded && node.status != DiffStatus::kRemoved)
    return std::ranges::none_of(node.children, [&](std::uint32_t c) { return diff.nodes[c].differs; });
  return std::ranges::all_of(node.children, [&](std::uint32_t c) {
    return diff.nodes[c].status == node.status && is_whole(diff, diff.nodes[c]);
  });
}

std::vector<OutlineRow> make_outline(const ModelDiff& diff, const OutlineOptions& options) {
  return OutlineMaker(diff, options).run();
}

std::string outline_name(const ModelDiff& diff, const OutlineRow& row, const std::string& around) {
  const auto path = [&](std::uint32_t n) {
    std::string_view text = diff.item(diff.nodes[n]).path;
    if (!around.empty() && text.starts_with(around + ".")) text.remove_prefix(around.size() + 1);
    return text;
  };
  const std::string_view first = path(row.nodes.front());
  return row.follow ? std::string(first) : range_of_paths(first, path(row.nodes.back()));
}

}  // namespace opscope
