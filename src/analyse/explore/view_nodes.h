// How a view's nodes are found. For view*.cc only.
#pragma once

#include "analyse/explore/view.h"
#include "base/text_blocks.h"

namespace opscope {

// What a view consists of while its nodes are found: each op is given a node, nodes in their order.
struct ViewDraft {
  std::uint32_t add(const ViewNode& node) {
    nodes.push_back(node);
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }

  const Profile& profile;
  std::span<const ScopeId> call_of;  // of modules, by scope: the call that is shown; kNone above them all
  const Graph& graph = *profile.graph;
  std::vector<ViewNode> nodes{};
  std::vector<std::uint32_t> node_of = std::vector<std::uint32_t>(graph.ops.size(), kNone);
  TextBlocks texts{};
};

ViewDraft find_nodes(const Profile& profile, Level level, std::span<const ScopeId> call_of);

// An in-place op writes to memory that it also takes.
bool writes_in_place(const Graph& graph, const Op& op, Id storage);

}  // namespace opscope
