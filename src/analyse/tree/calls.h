// A view's nodes as a tree of the module calls that they ran in, equal blocks in a row folded into the first.
// Of a training step, the backward pass and the optimizer are branches of their own. For collapse*.cc only.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analyse/explore/view.h"

namespace opscope {

// A call of a module, blocks that repeat together, or (leaf) a node of the view.
struct TreeItem {
  std::uint32_t node = kNone;  // of a leaf
  ModuleId module = 0;
  std::uint32_t call = 0;
  std::uint32_t parent = kNone;
  std::vector<std::uint32_t> children{};  // in the order they first run
  std::uint32_t repeat = 1;
  std::string name{};                 // from its parent's path on
  std::uint64_t shape = 0;            // equal for what runs the same layers in the same order
  std::vector<ModuleId> dissolved{};  // calls that held nothing but this

  bool is_leaf() const { return node != kNone; }
};

class CallTree {
 public:
  // `keep`: a module that no fold may hide, kNone for none.
  CallTree(const GraphView& view, bool fold, ModuleId keep);

  const TreeItem& operator[](std::uint32_t item) const { return items_[item]; }
  std::uint32_t depth(std::uint32_t item) const;
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
  void find_shapes(std::uint32_t item);
  std::uint64_t leaf_shape(const TreeItem& leaf) const;
  bool alike(const TreeItem& item, const TreeItem& earlier, std::uint64_t step) const;
  std::size_t repeats(const std::vector<std::uint32_t>& children, std::size_t at, std::size_t period) const;
  void fold(std::uint32_t item);
  std::string range_name(std::span<const std::uint32_t> children) const;
  bool is_call(const TreeItem& item) const;
  bool holds_kept(std::uint32_t item) const;
  void map_onto(std::uint32_t item, std::uint32_t first);
  void all_leaves(std::uint32_t item, std::vector<std::uint32_t>& nodes) const;

  const GraphView& view_;
  const Graph& graph_;
  ModuleId keep_;
  std::vector<TreeItem> items_;
  std::vector<std::uint32_t> drawn_for_;
  std::vector<std::vector<std::uint32_t>> of_scope_;  // by phase
  std::vector<ScopeId> first_scope_;                  // by module
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;
};

}  // namespace opscope
