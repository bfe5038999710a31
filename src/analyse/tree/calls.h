// A view's nodes as a tree of the module calls that they ran in, equal blocks in a row folded into the first.
// Of a training step, the backward pass and the optimizer are branches of their own. For this room only.
#pragma once

#include <string>
#include <unordered_map>
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

class CallTree {
 public:
  // `keep`: a module that no fold may hide, kNone for none.
  CallTree(const GraphView& view, bool fold, ModuleId keep);

  const CallItem& operator[](std::uint32_t item) const { return tree_[item]; }
  // The node that is drawn for a node: itself, or its like in the first of equal blocks.
  std::uint32_t drawn_for(std::uint32_t node) const { return drawn_for_[node]; }
  // Of what is drawn: leaves under an item, in order.
  std::vector<std::uint32_t> leaves(std::uint32_t item) const;
  // The call of a module that is drawn, the first; kNone where there is none.
  std::uint32_t find(ModuleId module) const;

 private:
  std::uint32_t item_of_phase(std::uint32_t phase);
  std::uint32_t item_of_scope(ScopeId scope, std::uint32_t phase = 0);
  std::uint32_t item_of_module(ModuleId module);
  std::uint32_t child(std::uint32_t parent, ModuleId module, std::uint32_t call);
  ScopeId scope_of(const ViewNode& node) const;
  std::uint32_t container_of(const ViewNode& node);
  std::string relative(ModuleId parent, std::string_view path) const;
  void add_leaf(std::uint32_t node);
  void dissolve(std::uint32_t item);
  void add_leaf_key(const CallItem& leaf, FoldKey& key) const;
  void fold();
  bool holds_kept(std::uint32_t item) const;

  const GraphView& view_;
  const Graph& graph_;
  ModuleId keep_;
  ModuleTree<CallItem> tree_;
  std::vector<std::uint32_t> drawn_for_;
  std::vector<std::vector<std::uint32_t>> of_scope_;  // by phase
  std::vector<ScopeId> first_scope_;                  // by module
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;
};

}  // namespace opscope
