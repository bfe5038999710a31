// The model as a tree to walk through: modules, the layers that they run themselves, single ops at the ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"

namespace opscope {

using ItemId = std::uint32_t;

enum class ItemKind : std::uint8_t { kModule, kLayer, kOp };

struct BrowserItem {
  ItemKind kind = ItemKind::kModule;
  std::string_view name{};  // within its parent: "conv1", "add", "aten::conv2d"
  std::string_view path{};  // "layer1.0.conv1"
  std::string_view type{};  // "Conv2d", "add", ""
  ItemId parent = kNone;
  std::uint32_t depth = 0;
  Range children{};          // in BrowserTree::children, in the order they run
  std::uint32_t source = 0;  // row of Profile::modules, of Profile::layers, or the op
  OpId first_op = kNone;     // kNone: it never ran
  ValueId output = kNone;
  Metrics metrics{};
  Parameters parameters{};
};

struct BrowserTree {
  explicit BrowserTree(const Profile& profile);

  std::vector<BrowserItem> items;  // the root first, parents before their children
  std::vector<ItemId> children;
  std::vector<ItemId> of_op;  // by op: its item

  std::span<const ItemId> children_of(const BrowserItem& item) const {
    return {children.data() + item.children.begin, item.children.size};
  }
  std::vector<OpId> ops_below(ItemId item) const;  // in execution order
};

}  // namespace opscope
