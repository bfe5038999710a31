// Rows from the root downwards, at the deepest level that fits.
#include "analyse/diff/outline.h"

#include <algorithm>

#include "analyse/tree/folding.h"
#include "base/hash.h"

namespace opscope {
namespace {

class OutlineMaker {
 public:
  OutlineMaker(const ModelDiff& diff, const OutlineOptions& options) : diff_(diff), options_(options) {
    shape_.assign(diff.nodes.size(), 0);
    for (std::size_t n = diff.nodes.size(); n-- > 0;) shape_[n] = shape_of(diff.nodes[n]);
  }

  std::vector<OutlineRow> run() {
    if (options_.depth >= 0) return rows_down_to(options_.depth);
    std::vector<OutlineRow> best = rows_down_to(1);
    for (int depth = 2;; ++depth) {
      std::vector<OutlineRow> deeper = rows_down_to(depth);
      if (deeper.size() == best.size() || deeper.size() > options_.most_rows) return best;
      best = std::move(deeper);
    }
  }

 private:
  const DiffNode& node(std::uint32_t n) const { return diff_.nodes[n]; }

  // Equal for what changed in the same way, names of the first level aside.
  std::uint64_t shape_of(const DiffNode& node) const {
    const DiffItem& item = diff_.item(node);
    Hasher hash;
    hash.add(static_cast<std::uint64_t>(node.status)).add(item.type);
    for (const DetailChange& c : node.changes) hash.add(c.what).add(c.before).add(c.after);
    for (const std::int64_t number :
         {node.own.params, node.own.macs, node.own.flops, node.own.memory_bytes, node.own.ops})
      hash.add(static_cast<std::uint64_t>(number));
    for (const std::uint32_t c : node.children)
      if (diff_.nodes[c].differs) hash.add(diff_.item(diff_.nodes[c]).name).add(shape_[c]);
    return hash64(hash.hex());
  }

  std::vector<OutlineRow> rows_down_to(int depth) {
    rows_.clear();
    if (diff_.nodes[0].differs) add_below(0, 1, depth);
    return std::move(rows_);
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

  void add_below(std::uint32_t parent, std::uint32_t depth, int deepest) {
    std::vector<OutlineRow> found;
    std::uint32_t last = kNone;  // the child that the last of them is in
    if (has_own(node(parent)))
      found.push_back({.nodes = {parent}, .depth = depth, .itself = true, .amounts = node(parent).own});
    OutlineRow followers{.nodes = {}, .depth = depth, .follow = true};
    for (const std::uint32_t child : node(parent).children) {
      if (!node(child).differs) continue;
      const std::uint32_t n = innermost(child);
      if (options_.fold && is_layer_that_follows(n)) {
        followers.nodes.push_back(n);
        followers.amounts += node(n).all;
        continue;
      }
      if (last != kNone && goes_with(last, child))
        found.back().nodes.push_back(n);
      else
        found.push_back({.nodes = {n}, .depth = depth, .amounts = node(n).all});
      last = child;
    }
    if (followers.nodes.size() == 1) followers.follow = false;
    if (!followers.nodes.empty()) found.push_back(std::move(followers));
    for (std::size_t i = 0; i < found.size(); ++i) {
      OutlineRow& row = found[i];
      row.is_last = i + 1 == found.size();
      row.is_open =
          !row.follow && !row.itself && static_cast<int>(depth) < deepest && opens(node(row.nodes[0]));
      row.status = status_of(row);
      const std::uint32_t first = row.nodes[0];
      const bool open = row.is_open;
      rows_.push_back(std::move(row));
      if (open) add_below(first, depth + 1, deepest);
    }
  }
  // What is new may hold what moved there and costs less now: the sum is a change then.
  DiffStatus status_of(const OutlineRow& row) const {
    const DiffStatus status = node(row.nodes[0]).status;
    const Amounts& a = row.amounts;
    const auto [least, most] = std::minmax({a.params, a.macs, a.flops, a.memory_bytes, a.ops});
    const bool mixed =
        (status == DiffStatus::kAdded && least < 0) || (status == DiffStatus::kRemoved && most > 0);
    return mixed || status == DiffStatus::kUnchanged ? DiffStatus::kChanged : status;
  }
  // The root has no row above its parts that would tell of its class.
  static bool has_own(const DiffNode& node) {
    Amounts own = node.own;
    own.time = own.roofline_time = 0;
    return own != Amounts{} || (node.parent == kNone && !node.changes.empty());
  }
  bool is_layer_that_follows(std::uint32_t n) const {
    return node(n).status == DiffStatus::kChanged && node(n).follows && !opens(node(n));
  }
  bool goes_with(std::uint32_t last, std::uint32_t next) const {
    return options_.fold && shape_[last] == shape_[next] &&
           follows(diff_.item(node(next)).name, diff_.item(node(last)).name);
  }

  const ModelDiff& diff_;
  const OutlineOptions& options_;
  std::vector<std::uint64_t> shape_;  // by node
  std::vector<OutlineRow> rows_;
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
