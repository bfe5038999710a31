// Looking around in a view: which nodes are asked for, where a node stands among the subgraphs, and the ways
// from one node to another. Nodes count from 1 for people, from 0 here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"

namespace opscope {

// What to list; all conditions together.
struct ExploreQuery {
  std::optional<std::uint32_t> start{}, end{};  // from 1, both included
  std::string around{};                         // a node's number or name
  std::uint32_t context = 10;                   // nodes on each side of it
  std::string find{};                           // in names, targets, modules and shapes, whatever the case
  std::string type{};                           // of ops, modules and subgraphs: "conv"
  std::string module{};                         // a module's path: it and what is below it
  std::optional<Bottleneck> bound{};
  std::optional<std::uint32_t> top{};        // the costliest of these, the costliest first
  std::optional<std::uint32_t> max_nodes{};  // the first of these

  bool lists() const {
    return start || end || !around.empty() || !find.empty() || !type.empty() || !module.empty() || bound ||
           top || max_nodes;
  }
};

struct Selection {
  std::vector<std::uint32_t> nodes;
  std::size_t found = 0;                  // before max_nodes cut it
  bool ranked = false;                    // the costliest first, not in the graph's order
  std::optional<std::uint32_t> center{};  // that was looked around
};
// `cost`: what --top goes by. Throws Error for numbers outside the graph, names that are not there, and where
// nothing fits.
Selection select_nodes(const GraphView& view, const ExploreQuery& query,
                       const std::function<double(const ViewNode&)>& cost);

// The node that a person means: a number, a name, or the tracer's own name. Throws Error with the nearest
// names; `flag` is where it was said.
std::uint32_t node_called(const GraphView& view, std::string_view text, const char* flag);

// A node among the subgraphs.
struct Standing {
  std::vector<SubgraphId> subgraphs{};  // that its ops are in, ascending
  std::string_view why_none{};          // where it is in none
  // Of its subgraph, were it one kernel; of the node itself where it is in several or in none.
  Count flops{}, memory_bytes{};
  std::optional<Bottleneck> bound{};  // none where nothing is computed or moved

  double arithmetic_intensity() const { return ratio(flops, memory_bytes); }
};
Standing standing_of(const GraphView& view, const ViewNode& node);

// Memory that a node's results lie in: what its ops made, and what they wrote to or are views of.
struct HeldResult {
  ValueId value = kNone;  // the last of the node's results in it
  MemoryPiece piece{};
  bool made_here = false;
};
std::vector<HeldResult> results_of(const GraphView& view, const ViewNode& node);

// The weights and constants that a node's ops read, each once, in the order of reading.
std::vector<ValueId> weights_read(const GraphView& view, const ViewNode& node);

// The subgraphs that ops are in, ascending, each once.
std::vector<SubgraphId> subgraphs_of(const Partition& partition, std::span<const OpId> ops);
// Subgraphs that take what one gives, ascending.
std::vector<SubgraphId> readers_of(const Partition& partition, SubgraphId subgraph);

struct ExploreSummary {
  std::uint64_t working_ops = 0, partitioned_ops = 0;  // that do work, and of these in a subgraph
  std::uint64_t partitioned_nodes = 0;                 // of the view
  std::vector<std::pair<std::string_view, std::uint64_t>> kinds{};  // of nodes, in the order of their first
};
ExploreSummary summarise(const GraphView& view);

// A node that is on every way, and what is between it and the next such node.
struct Stage {
  std::uint32_t node = 0;
  Count ways{};               // to the next; 0 for the last
  std::uint32_t between = 0;  // nodes that some of them pass
};

// All ways along the edges, as far as they can be told without walking each: there may be 2^100.
struct Ways {
  Count count{};
  std::uint32_t nodes = 0;                 // on any of them, both ends included
  std::vector<std::uint32_t> shortest{};   // the fewest nodes
  std::vector<std::uint32_t> costliest{};  // the most FLOPs
  Count costliest_flops{};
  std::vector<Stage> stages{};
};
// None where there is no way. Edges that point backward are not followed.
std::optional<Ways> ways_between(const GraphView& view, std::uint32_t from, std::uint32_t to);

}  // namespace opscope
