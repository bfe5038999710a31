// The model as a tree to walk through: modules, the layers that they run themselves, single ops at the ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"
#include "analyse/tree/module_tree.h"

namespace opscope {

using ItemId = std::uint32_t;

enum class ItemKind : std::uint8_t { kModule, kLayer, kOp };

struct BrowserItem : TreeNode {
  ItemKind kind = ItemKind::kModule;
  std::string_view path{};   // "layer1.0.conv1"
  std::string_view type{};   // "Conv2d", "add", ""
  std::uint32_t source = 0;  // row of Profile::modules, of Profile::layers, or the op
  OpId first_op = kNone;     // kNone: it never ran
  ValueId output = kNone;
  Metrics metrics{};
  Parameters parameters{};
};

// Children in the order they run.
struct BrowserTree : ModuleTree<BrowserItem> {
  explicit BrowserTree(const Profile& profile);

  std::vector<ItemId> of_op;  // by op: its item

  std::vector<OpId> ops_below(ItemId item) const;  // in execution order
};

}  // namespace opscope
