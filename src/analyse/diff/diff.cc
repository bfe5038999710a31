// The tree of both models from their matched trees, what changed in each item, and the sums.
#include "analyse/diff/diff.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyse/tree/module_tree.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, kDiffStatuses> kStatusNames{"unchanged", "changed", "added", "removed",
                                                                   "moved"};

// Facts of one side that the other has otherwise or not at all, in their order of interest.
std::vector<DetailChange> changed_details(const DiffItem& before, const DiffItem& after) {
  std::vector<DetailChange> changes;
  if (before.type != after.type) changes.push_back({DetailKind::kType, "type", before.type, after.type});
  std::unordered_map<std::string_view, std::vector<const LayerDetail*>> was;  // an op may have two of a name
  for (const LayerDetail& detail : before.details) was[detail.what].push_back(&detail);
  // Of a call that only one side makes it is enough that "calls" says so.
  const auto is_of_further_call = [](const LayerDetail& detail) { return detail.what.starts_with("call "); };
  for (const LayerDetail& detail : after.details) {
    auto& old = was[detail.what];
    const std::string before_value = old.empty() ? "" : old.front()->value;
    if (old.empty() ? !is_of_further_call(detail) : before_value != detail.value)
      changes.push_back({detail.kind, detail.what, before_value, detail.value});
    if (!old.empty()) old.erase(old.begin());
  }
  for (const LayerDetail& detail : before.details)
    if (!is_of_further_call(detail) && std::ranges::find(was[detail.what], &detail) != was[detail.what].end())
      changes.push_back({detail.kind, detail.what, detail.value, ""});
  std::ranges::stable_sort(changes, {}, &DetailChange::kind);
  return changes;
}

bool is_follower(const std::vector<DetailChange>& changes) {
  return !changes.empty() && std::ranges::all_of(changes, [](const DetailChange& c) {
    return c.kind == DetailKind::kShape || c.kind == DetailKind::kWeight;
  }) && std::ranges::any_of(changes, [](const DetailChange& c) {
    return c.kind == DetailKind::kShape && !c.what.ends_with("output");
  });
}

class Differ {
 public:
  Differ(const DiffSide& base, const DiffSide& now) {
    const bool graphs = base.profile && now.profile;
    diff_.by_arguments = graphs;
    const bool alike = base.label == now.label;
    diff_.base_label = base.label + (alike ? " (base)" : ""),
    diff_.new_label = now.label + (alike ? " (new)" : "");
    diff_.base = *base.figures, diff_.now = *now.figures;
    diff_.base_tree = make_diff_tree(*base.figures, graphs ? base.profile : nullptr);
    diff_.new_tree = make_diff_tree(*now.figures, graphs ? now.profile : nullptr);
    match_ = match_trees(diff_.base_tree, diff_.new_tree);
  }

  ModelDiff run() {
    add(0, 0, kNone);
    for (std::size_t n = diff_.nodes.size(); n-- > 1;) {
      DiffNode& node = diff_.nodes[n];
      node.all += node.own;
      DiffNode& parent = diff_.nodes[node.parent];
      parent.all += node.all;
      parent.differs |= node.differs;
    }
    diff_.nodes[0].all += diff_.nodes[0].own;
    count_layers();
    compare_totals();
    compare_types();
    return std::move(diff_);
  }

 private:
  const DiffItem& base_item(std::uint32_t i) const { return diff_.base_tree.items[i]; }
  const DiffItem& new_item(std::uint32_t i) const { return diff_.new_tree.items[i]; }

  std::uint32_t add(std::uint32_t base, std::uint32_t now, std::uint32_t parent) {
    const auto id = static_cast<std::uint32_t>(diff_.nodes.size());
    DiffNode node{.base = base, .now = now, .parent = parent};
    judge(node);
    diff_.nodes.push_back(std::move(node));
    note_renumbering(base, now);
    for (const auto& [b, n] : children_of(base, now)) {
      const std::uint32_t child = add(b, n, id);
      diff_.nodes[id].children.push_back(child);
    }
    return id;
  }

  void judge(DiffNode& node) const {
    if (node.base == kNone) {
      node.status = DiffStatus::kAdded, node.own = new_item(node.now).own;
    } else if (node.now == kNone) {
      node.status = DiffStatus::kRemoved, node.own = Amounts{} - base_item(node.base).own;
    } else {
      compare(node);
    }
    node.differs = node.status != DiffStatus::kUnchanged;
  }

  void compare(DiffNode& node) const {
    const DiffItem &before = base_item(node.base), &after = new_item(node.now);
    node.own = after.own - before.own;
    node.changes = changed_details(before, after);
    if (node.changes.empty() && node.own.has_cost())
      node.changes.push_back({DetailKind::kCost, "cost", "", ""});
    node.follows = is_follower(node.changes);
    if (!node.changes.empty()) node.status = DiffStatus::kChanged;
    if (node.base == 0 || !after.is_module) return;
    const bool elsewhere = match_.in_new[before.parent] != after.parent;
    if (elsewhere || (before.name != after.name && !are_indices(before, after)))
      node.status = DiffStatus::kMoved;
  }

  // The new model's children in their order; what is removed stands where it stood.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> children_of(std::uint32_t base,
                                                                   std::uint32_t now) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> children;
    if (now != kNone)
      for (const std::uint32_t n : new_item(now).children) children.emplace_back(match_.in_base[n], n);
    if (base == kNone) return children;
    auto at = children.begin();
    for (const std::uint32_t b : base_item(base).children) {
      const auto here = std::ranges::find(children, b, &std::pair<std::uint32_t, std::uint32_t>::first);
      if (here != children.end())
        at = here + 1;
      else if (match_.in_new[b] == kNone)
        at = children.insert(at, {b, kNone}) + 1;
    }
    return children;
  }

  // "1..3 are now 2..4", for runs that shifted by the same.
  void note_renumbering(std::uint32_t base, std::uint32_t now) {
    if (base == kNone || now == kNone) return;
    std::vector<std::pair<const DiffItem*, const DiffItem*>> run;
    const auto tell = [&] {
      if (run.empty()) return;
      const auto range = [&](auto side) {
        const std::string first = side(run.front())->path, &last = side(run.back())->name;
        return run.size() > 1 ? first + ".." + last : first;
      };
      diff_.renumbered.push_back(range([](const auto& p) { return p.first; }) +
                                 (run.size() > 1 ? " are now " : " is now ") +
                                 range([](const auto& p) { return p.second; }));
      run.clear();
    };
    for (const std::uint32_t n : new_item(now).children) {
      const std::uint32_t b = match_.in_base[n];
      const bool shifted = b != kNone && base_item(b).parent == base &&
                           are_indices(base_item(b), new_item(n)) && base_item(b).name != new_item(n).name;
      const bool goes_on = shifted && !run.empty() && follows(base_item(b).name, run.back().first->name) &&
                           follows(new_item(n).name, run.back().second->name);
      if (!goes_on) tell();
      if (shifted) run.emplace_back(&base_item(b), &new_item(n));
    }
    tell();
  }

  // A layer moves with the module that it is in.
  void count_layers() {
    std::vector<bool> moved(diff_.nodes.size());
    for (std::size_t n = 0; n < diff_.nodes.size(); ++n) {
      const DiffNode& node = diff_.nodes[n];
      moved[n] = node.status == DiffStatus::kMoved || (node.parent != kNone && moved[node.parent]);
      const bool own_change = node.status == DiffStatus::kChanged || node.own != Amounts{};
      if (!diff_.item(node).is_layer() && !own_change) continue;
      const bool carried = moved[n] && node.status == DiffStatus::kUnchanged;
      ++diff_.layers[static_cast<std::size_t>(carried ? DiffStatus::kMoved : node.status)];
    }
  }

  void compare_totals() {
    for (const Metric& metric : metrics()) {
      if (metric.is_detail) continue;
      const auto before = amount_in(diff_.base, metric), after = amount_in(diff_.now, metric);
      if (before && after) diff_.totals.push_back({&metric, *before, *after});
    }
    // What is neither good nor bad comes last.
    std::ranges::stable_partition(
        diff_.totals, [](const TotalChange& total) { return total.metric->better != Better::kNeither; });
  }

  void compare_types() {
    std::map<std::string, TypeChange> types;
    for (const TypeRow& row : diff_.base.types) types[row.type].before = amounts_of(row.metrics, {});
    for (const TypeRow& row : diff_.now.types) types[row.type].after = amounts_of(row.metrics, {});
    for (auto& [type, change] : types) {
      change.type = type;
      if ((change.after - change.before).has_cost()) diff_.types.push_back(change);
    }
    const auto size = [](std::int64_t x) { return x < 0 ? x : -x; };  // more comes first
    std::ranges::stable_sort(diff_.types, {}, [&](const TypeChange& t) {
      const Amounts c = t.after - t.before;
      return std::tuple(size(c.flops), size(c.memory_bytes));
    });
  }

  ModelDiff diff_;
  DiffMatch match_;
};

}  // namespace

std::string_view name(DiffStatus status) { return kStatusNames[static_cast<std::size_t>(status)]; }

ModelDiff make_diff(const DiffSide& base, const DiffSide& now) { return Differ(base, now).run(); }

}  // namespace opscope
