// What changed, in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "base/text.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

constexpr std::size_t kMostChanges = 3;
constexpr double kManifold = 10;

std::string arrow(std::string_view before, std::string_view after) {
  return fmt::format("{} \u2192 {}", before, after);
}

std::string detail_text(const DetailChange& change) {
  const auto side = [](std::string_view text) { return text.empty() ? "none" : text; };
  if (change.kind == DetailKind::kCost) return "its cost";
  if (change.kind == DetailKind::kType) return arrow(change.before, change.after);
  return change.what + " " + arrow(side(change.before), side(change.after));
}

// All tensors went from one dtype to another: said once.
std::string dtypes_text(const std::vector<DetailChange>& changes) {
  const DetailChange* first = nullptr;
  for (const DetailChange& change : changes) {
    if (change.kind != DetailKind::kDType) continue;
    if (!first) first = &change;
    if (change.before != first->before || change.after != first->after) return detail_text(*first);
  }
  return first ? arrow(first->before, first->after) : "";
}

std::string changes_text(const std::vector<DetailChange>& changes) {
  // Of another class everything else is another too.
  if (!changes.empty() && changes.front().kind == DetailKind::kType) return detail_text(changes.front());
  const auto output = std::ranges::find(changes, "output", &DetailChange::what);
  std::vector<std::string> parts;
  bool dtypes = false, shapes = false;
  const bool chosen = !changes.empty() && changes.front().kind <= DetailKind::kSize;  // the rest follows
  for (const DetailChange& change : changes) {
    if (chosen && change.kind == DetailKind::kWeight) continue;
    if (change.kind == DetailKind::kDType) {
      if (!std::exchange(dtypes, true)) parts.push_back(dtypes_text(changes));
    } else if (change.kind == DetailKind::kShape) {
      // Of shapes the result's is told, else the first.
      if (!std::exchange(shapes, true) && parts.empty())
        parts.push_back(detail_text(output == changes.end() ? change : *output));
    } else {
      parts.push_back(detail_text(change));
    }
  }
  const std::string text = fmt::format("{}", fmt::join(parts | std::views::take(kMostChanges), ", "));
  return parts.size() > kMostChanges ? fmt::format("{}, {} more", text, parts.size() - kMostChanges) : text;
}

// "+2 Bottleneck, -1 Dropout, 3 changed" of what is right below a module.
std::string parts_text(const ModelDiff& diff, const DiffNode& node) {
  std::map<std::pair<char, std::string>, std::size_t> whole;  // by sign and type
  std::size_t changed = 0, moved = 0;
  for (const std::uint32_t c : node.children) {
    const DiffNode& child = diff.nodes[c];
    if (!child.differs) continue;
    if (child.status == DiffStatus::kAdded || child.status == DiffStatus::kRemoved)
      ++whole[{child.status == DiffStatus::kAdded ? '+' : '-', diff.item(child).type}];
    else
      ++(child.status == DiffStatus::kMoved ? moved : changed);
  }
  std::vector<std::string> parts;
  for (const auto& [part, count] : whole)
    parts.push_back(fmt::format("{}{} {}", part.first, count, part.second));
  if (changed) parts.push_back(fmt::format("{} changed", changed));
  if (moved) parts.push_back(fmt::format("{} moved here", moved));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string followers_text(const ModelDiff& diff, const OutlineRow& row) {
  std::vector<std::string> names;
  for (const std::uint32_t n : row.nodes) names.push_back(diff.item(diff.nodes[n]).name);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return fmt::format("follow: {}", fmt::join(names, ", "));
}

// A class, and parameters that are not in its parts; less of them where parts share weights, which count
// once.
std::string own_text(const ModelDiff& diff, const DiffNode& node) {
  std::vector<std::string> parts;
  const auto known =
      std::ranges::find(node.changes, DetailKind::kCost, &DetailChange::kind) == node.changes.end();
  if (known && !node.changes.empty()) parts.push_back(changes_text(node.changes));
  const auto own = [](const DiffTree& tree, std::uint32_t i) {
    return i == kNone ? 0 : tree.items[i].own.params;
  };
  const bool shares = own(diff.base_tree, node.base) < 0 || own(diff.new_tree, node.now) < 0;
  if (node.own.params != 0) parts.push_back(shares ? "shared weights count once" : "its own parameters");
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::size_t layers_below(const ModelDiff& diff, const DiffNode& node) {
  std::size_t count = diff.item(node).is_layer();
  for (const std::uint32_t c : node.children) count += layers_below(diff, diff.nodes[c]);
  return count;
}

}  // namespace

const StatusLook& look_of(DiffStatus status) {
  static constexpr std::array<StatusLook, kDiffStatuses> kLooks{{{" ", Style::kPlain},
                                                                 {"~", Style::kWarning},
                                                                 {"+", Style::kGood},
                                                                 {"-", Style::kBad},
                                                                 {">", Style::kStrong}}};
  return kLooks[static_cast<std::size_t>(status)];
}

std::string outline_words(const ModelDiff& diff, const OutlineRow& row) {
  if (row.follow) return followers_text(diff, row);
  const DiffNode& node = diff.nodes[row.nodes.front()];
  if (row.itself) return own_text(diff, node);
  const DiffItem& item = diff.item(node);
  std::vector<std::string> parts;
  if (node.status == DiffStatus::kMoved) parts.push_back("from " + diff.base_tree.items[node.base].path);
  parts.push_back(changes_text(node.changes));
  const bool whole = node.status == DiffStatus::kAdded || node.status == DiffStatus::kRemoved;
  if (whole && item.is_layer()) {
    const auto output = std::ranges::find(item.details, "output", &LayerDetail::what);
    if (output != item.details.end()) parts.push_back(output->value);
  } else if (whole && is_whole(diff, node)) {
    const std::size_t layers = layers_below(diff, node);
    parts.push_back(layers ? plural(layers, "layer") : "its parts moved");
  } else if (!node.children.empty()) {
    parts.push_back(parts_text(diff, node));
  }
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string relative_change(const Amount& before, const Amount& after) {
  if (before.real == after.real) return "";
  if (before.real == 0) return "new";
  const double ratio = after.real / before.real;
  if (ratio >= kManifold) return "x" + format_ratio(ratio);
  const double percent = 100 * (ratio - 1);
  if (std::abs(percent) < 0.05) return percent > 0 ? "<+0.1%" : "<-0.1%";
  return fmt::format("{:+.1f}%", percent);
}

std::string diff_summary(const ModelDiff& diff) {
  if (diff.same()) return "no difference";
  std::vector<std::string> parts;
  for (const auto status : {DiffStatus::kChanged, DiffStatus::kAdded, DiffStatus::kRemoved,
                            DiffStatus::kMoved, DiffStatus::kUnchanged})
    if (const auto count = diff.count(status))
      parts.push_back(fmt::format("{}{} {}", count, parts.empty() ? (count == 1 ? " layer" : " layers") : "",
                                  name(status)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> diff_notes(const ModelDiff& diff) {
  const Figures &base = diff.base, &now = diff.now;
  std::vector<std::string> notes;
  if (base.inputs != now.inputs) notes.push_back("the inputs differ: " + arrow(base.inputs, now.inputs));
  const auto kind = [](const Figures& f) { return f.is_training ? "a training step" : "inference"; };
  if (base.is_training != now.is_training)
    notes.push_back("one is a training step: " + arrow(kind(base), kind(now)));
  if (base.convention != now.convention)
    notes.push_back(fmt::format("FLOPs are counted differently: {}; use one --convention for both",
                                arrow(base.convention, now.convention)));
  for (const auto& [figures, label] : {std::pair(&base, diff.base_label), std::pair(&now, diff.new_label)})
    if (figures->coverage.unknown)
      notes.push_back(fmt::format("{} of {} without a known cost: not in the change of FLOPs",
                                  plural(figures->coverage.unknown, "op"), label));
  if (!diff.by_arguments)
    notes.push_back("a saved profile has no arguments of ops: layers are compared by shape and cost");
  return notes;
}

}  // namespace opscope
