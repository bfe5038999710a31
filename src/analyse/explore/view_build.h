// The steps by which a view is made. For view*.cc only.
#pragma once

#include "analyse/explore/view.h"
#include "base/text_blocks.h"

namespace opscope {

// What a view consists of while its nodes are found: each op is given a node, nodes in their order.
struct ViewDraft {
  explicit ViewDraft(const Profile& p) : profile(p), graph(*p.graph), node_of(graph.ops.size(), kNone) {}

  std::uint32_t add(ViewNode node) {
    nodes.push_back(node);
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }

  const Profile& profile;
  const Graph& graph;
  std::vector<ViewNode> nodes;
  std::vector<std::uint32_t> node_of;
  TextBlocks texts;
};

// Names of single ops, unique in the graph: "layer1.0.conv1.conv2d", "layer1.0.add", "attention.matmul_1".
class OpLabels {
 public:
  explicit OpLabels(const Profile& profile);
  std::string_view label(OpId op, TextBlocks& texts);

 private:
  const Profile& profile_;
  std::vector<std::uint32_t> number_;  // by op: of its type within its layer
  std::string text_;
};

ViewNode op_node(const ViewDraft& draft, OpId op, std::string_view label);
void add_inputs(ViewDraft& draft);
void add_output(ViewDraft& draft);
void group_by_op(ViewDraft& draft);
void group_by_layer(ViewDraft& draft);
void group_by_tracer_node(ViewDraft& draft);
void group_by_module(ViewDraft& draft, std::span<const ScopeId> call_of);
// By scope: the call `depth` levels below the root that it is or is in; kNone for those above.
std::vector<ScopeId> calls_at(const Graph& graph, std::uint32_t depth);
void group_by_subgraph(ViewDraft& draft);

// An in-place op writes to memory that it also takes.
bool writes_in_place(const Graph& graph, const Op& op, Id storage);

// The edges of a view whose nodes and ops are there, and what each node gives.
void connect(GraphView& view);

}  // namespace opscope
