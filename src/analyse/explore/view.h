// A graph at one level of detail, as a person looks at it: numbered nodes in the order they run, the model's
// inputs before them and its outputs after them, and the values that go from one to the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

// Of a graph that one of PyTorch's tracers made, the layers are its nodes.
enum class Level : std::uint8_t { kModule, kLayer, kOp, kSubgraph };
std::string_view name(Level level);            // "module", "layer", "op", "subgraph"
Level level_from_name(std::string_view text);  // throws Error naming the choices

struct ViewNode {
  // "placeholder", "call_module", "call_function", "call_method", "get_attr", "output", "subgraph"; "outside"
  // for what ran between the graphs that a tracer cut a model into
  std::string_view kind{};
  std::string_view name{};    // "layer1.0.conv1", "layer1.0.add"
  std::string_view target{};  // "Conv2d", "aten::add", "conv+batch_norm+relu"
  ModuleId module = 0;
  NodeId node = kNone;  // of a tracer's graph
  Range ops{};          // in GraphView::ops, in execution order
  Metrics metrics{};
  Parameters parameters{};      // of a called module, or of what its ops read; not to be summed over nodes
  ValueId output = kNone;       // the last it made that others read
  Range inputs{};               // in GraphView::edges: what it takes
  Range outputs{};              // in GraphView::out_edges: where its results go, as indices of edges
  SubgraphId subgraph = kNone;  // that its work is in; of several, that of the costliest op
};

struct ViewEdge {
  std::uint32_t from = 0, to = 0;  // nodes
  ValueId value = kNone;           // kNone: a tracer's edge that carries no tensor
};

struct GraphView {
  const Profile* profile = nullptr;  // not owned
  Level level = Level::kLayer;
  std::vector<ViewNode> nodes{};
  std::vector<ViewEdge> edges{};           // by node that takes it, each pair of nodes and value once
  std::vector<std::uint32_t> out_edges{};  // indices of edges, by node that gives it
  std::vector<OpId> ops{};                 // by node
  std::vector<std::uint32_t> node_of{};    // by op
  std::vector<TextBlock> texts{};          // of names that had to be put together

  std::span<const OpId> ops_of(const ViewNode& n) const { return {ops.data() + n.ops.begin, n.ops.size}; }
  std::span<const ViewEdge> inputs_of(const ViewNode& n) const {
    return {edges.data() + n.inputs.begin, n.inputs.size};
  }
  std::span<const std::uint32_t> outputs_of(const ViewNode& n) const {
    return {out_edges.data() + n.outputs.begin, n.outputs.size};
  }
};

// Linear in the graph. Every op is in one node. Edges follow the values from the op that made or last wrote
// them; weights have no node but in a tracer's graph. An edge points backward only where a node ran in
// pieces: a part of a tracer's graph that runs again, or a capture whose module calls do not nest. Module:
// the calls of modules `depth` calls below the root's (1: those that its forward makes; 0: the whole), and
// the ops that modules above them ran themselves.
GraphView make_view(const Profile& profile, Level level, std::uint32_t depth = 1);
// With the calls that are shown of modules chosen by hand. By scope: the call that it is or is in; kNone for
// those above them all.
GraphView make_view(const Profile& profile, Level level, std::span<const ScopeId> call_of);

// Of the costliest op in these nodes; kView where they have none.
Category costliest_category(const GraphView& view, std::span<const std::uint32_t> nodes);
// "1x64x56x56"; "" where there is no value.
std::string shape_text(const Graph& graph, ValueId value);

}  // namespace opscope
