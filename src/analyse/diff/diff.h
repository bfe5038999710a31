// What changed between two versions of a model: a tree of both, in which every item is unchanged, changed,
// added, removed or moved. Each item has the change of what is its own, so that the items add up to the
// change of the totals.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/diff/items.h"
#include "analyse/profile/figures.h"

namespace opscope {

enum class DiffStatus : std::uint8_t { kUnchanged, kChanged, kAdded, kRemoved, kMoved };
inline constexpr std::size_t kDiffStatuses = 5;
std::string_view name(DiffStatus status);  // "unchanged", "changed", "added", "removed", "moved"

struct DetailChange {
  DetailKind kind = DetailKind::kAttribute;
  std::string what;           // "stride"
  std::string before, after;  // "" where one side has no such thing
  friend bool operator==(const DetailChange&, const DetailChange&) = default;
};

struct DiffNode {
  DiffStatus status = DiffStatus::kUnchanged;
  std::uint32_t base = kNone, now = kNone;  // items of the trees
  std::uint32_t parent = kNone;
  std::vector<std::uint32_t> children{};
  std::vector<DetailChange> changes{};  // what a person wants to hear first comes first
  bool follows = false;                 // all of them come from what it is given
  bool differs = false;                 // it or something below it is not unchanged
  Amounts own{}, all{};                 // changes: of itself; with everything below it
};

// One model of the two.
struct DiffSide {
  std::string label;                 // what to call it
  const Figures* figures = nullptr;  // not owned
  const Profile* profile = nullptr;  // of the same; nullptr: saved figures, without the ops' arguments
};

struct TotalChange {
  const Metric* metric = nullptr;
  Amount before, after;
};

struct TypeChange {
  std::string type;  // "conv2d"
  Amounts before, after;
};

struct ModelDiff {
  std::string base_label, new_label;  // told apart where the sides have one label
  Figures base, now;
  DiffTree base_tree, new_tree;
  bool by_arguments = false;        // both sides have graphs: what ops were given is compared too
  std::vector<DiffNode> nodes;      // parents first; 0 is the root
  std::vector<TotalChange> totals;  // of what both sides know
  std::vector<TypeChange> types;    // that changed, by the change of FLOPs, then bytes, then name
  std::array<std::uint64_t, kDiffStatuses>
      layers{};                         // by status: what has no parts, and what has own changes
  std::vector<std::string> renumbered;  // "layers 3..9 are now 4..10"

  const DiffItem& item(const DiffNode& node) const {  // as it is now; of what is removed, as it was
    return node.now != kNone ? new_tree.items[node.now] : base_tree.items[node.base];
  }
  std::uint64_t count(DiffStatus status) const { return layers[static_cast<std::size_t>(status)]; }
  bool same() const { return !nodes[0].differs; }
};

ModelDiff make_diff(const DiffSide& base, const DiffSide& now);

// A diff as a person reads it: modules that hold a change, blocks that changed in the same way as one row,
// layers that only follow what they are given as one row, all within a number of rows. The rows of one
// parent, each as often as it stands for, add up to the parent.
struct OutlineOptions {
  int depth = -1;  // levels below the root; -1: as many as fit
  std::size_t most_rows = 36;
  bool fold = true;  // what changed in the same way as one row
};

struct OutlineRow {
  std::vector<std::uint32_t>
      nodes;  // of the diff: the first, and those after it that changed in the same way
  DiffStatus status =
      DiffStatus::kChanged;  // with what is below it: an addition only adds, a removal only takes
  std::uint32_t depth = 0;
  bool follow = false;   // different layers that follow what they are given: the amounts are of all of them
  bool itself = false;   // what is a module's own, beside its parts
  bool is_open = false;  // the rows below it tell more
  std::string guides{};  // tree lines before its name
  Amounts amounts{};     // of each, or of all that follow
};

// Without the root. Empty for models that are the same.
std::vector<OutlineRow> make_outline(const ModelDiff& diff, const OutlineOptions& options = {});

// "layer1.0..2", a row's name from where its parent's ends; `around` is the parent's path.
std::string outline_name(const ModelDiff& diff, const OutlineRow& row, const std::string& around);

// It and everything below it are of one status: there is nothing to tell of its parts.
bool is_whole(const ModelDiff& diff, const DiffNode& node);

}  // namespace opscope
