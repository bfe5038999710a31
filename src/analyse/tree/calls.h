// A view's nodes as a tree of the module calls that they ran in, equal blocks in a row folded into the first.
// Of a training step, the backward pass and the optimizer are branches of their own. For this room only.
#pragma once

#include <vector>

#include "analyse/explore/view.h"
#include "analyse/tree/module_tree.h"

namespace opscope {

// A call of a module, blocks that repeat together, or (leaf) a node of the view. Names go from the parent's
// path on. `is_module`: a call, also of a leaf.
struct CallItem : TreeNode {
  std::uint32_t node = kNone;  // of a leaf
  std::uint32_t call = 0;
  std::vector<ModuleId> dissolved{};  // calls that held nothing but this

  bool is_leaf() const { return node != kNone; }
};

struct CallTree : ModuleTree<CallItem> {
  // By node of the view, the one that is drawn for it: itself, or its like in the first of equal blocks.
  std::vector<std::uint32_t> drawn_for;

  // Of what is drawn: leaves under an item, in order.
  std::vector<std::uint32_t> leaves(std::uint32_t item) const;
  // The call of a module that is drawn, the first; kNone where there is none.
  std::uint32_t find(ModuleId module) const;
};

// `keep`: a module that no fold may hide, kNone for none.
CallTree make_call_tree(const GraphView& view, bool fold, ModuleId keep);

}  // namespace opscope
