// A scene while it is made: the calls that its nodes ran in, and which boxes there would be if certain
// modules were opened. For this room only.
#pragma once

#include <vector>

#include "analyse/explore/view.h"
#include "analyse/tree/module_tree.h"
#include "analyse/tree/scene.h"

namespace opscope {

// A view's nodes as a tree of the module calls that they ran in, equal blocks in a row folded into the first.
// Of a training step, the backward pass and the optimizer are branches of their own.
//
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

// What may be drawn as a part of a neighbour.
enum class Weight : std::uint8_t {
  kFree,   // costs nothing: views, sizes
  kLight,  // what follows or prepares other work: norms, activations, sums
  kHeavy,
};

struct DraftBox {
  BoxKind kind = BoxKind::kNode;
  std::uint32_t item = kNone;  // of the tree; of what was merged, the one that names it
  std::uint32_t around = 0;    // the opened item that it is in
  Weight weight = Weight::kHeavy;
  bool may_merge = false;
  std::uint32_t repeat = 1;
  std::uint32_t named_by = kNone;  // node of the view that the name is of
  std::vector<std::uint32_t> nodes{};
  std::string name{};
};

struct Draft {
  std::vector<DraftBox> boxes;
  std::vector<std::uint32_t> box_of;  // by node of the view; kNone: not drawn
};

Weight weight_of(const GraphView& view, const ViewNode& node);

// Draws what is light as a part of the one that it follows or prepares, and inputs that go the same way as
// one.
void merge_light(const GraphView& view, Draft& draft, std::span<const ViewEdge> edges);
// Boxes that follow each other as one, until there are `most` at the most.
void merge_runs(Draft& draft, std::size_t most);

}  // namespace opscope
