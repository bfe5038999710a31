// A view for people: its summary, its nodes beside the subgraphs they run in, one node in full, the ways
// between two. Everything counts from 1: nodes, ops, subgraphs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyse/explore/explore.h"
#include "report/core/document.h"

namespace opscope {

std::string explore_summary(const GraphView& view, Format format, const TextOptions& options);
std::string explore_listing(const GraphView& view, const Selection& selection, Format format,
                            const TextOptions& options);
std::string explore_node(const GraphView& view, std::uint32_t node, Format format,
                         const TextOptions& options);
std::string explore_ways(const GraphView& view, const Ways& ways, Format format, const TextOptions& options);
// The nodes of a view one a row with their costs, in place of a profile's tree; the first of them unless all
// are asked for.
Section level_section(const GraphView& view, const TextOptions& options);

// What a node is sorted by. Throws Error where the profile does not have it.
std::function<double(const ViewNode&)> sort_key(const Profile& profile, const Metric& metric);

// The pieces, one file each.
std::string side_by_side(const GraphView& view, const Selection& selection, const TextOptions& options);
Section nodes_section(const GraphView& view, const std::vector<std::uint32_t>& nodes);
struct NodeInView {
  std::uint32_t index = 0;
  const ViewNode* node = nullptr;
  Standing standing{};
};
Table nodes_table(const GraphView& view, const std::vector<std::uint32_t>& nodes);  // CSV
void write_nodes(JsonWriter& json, const GraphView& view, const std::vector<std::uint32_t>& nodes);
void write_summary(JsonWriter& json, const GraphView& view);
void write_selection(JsonWriter& json, const GraphView& view, const Selection& selection);
void write_node(JsonWriter& json, const GraphView& view, std::uint32_t node);
void write_ways(JsonWriter& json, const GraphView& view, const Ways& ways);

// "12 layer1.0.conv1"
std::string node_text(const GraphView& view, std::uint32_t node);
// "1x64x56x56, 1x64x56x56 -> 1x64x56x56"; at most two of what it takes.
std::string shapes_text(const GraphView& view, const ViewNode& node);
// Why a subgraph begins or ends, and where: "before 13 layer1.0.conv2: the later has a kernel of its own".
std::string begins_text(const GraphView& view, const Subgraph& subgraph);
std::string ends_text(const GraphView& view, const Subgraph& subgraph);
// "#3", "#3 to #7", "#3, #9, #12 and 4 more"
std::string subgraphs_text(const std::vector<SubgraphId>& subgraphs);
Style style_of(Bottleneck bound);
std::vector<std::uint32_t> all_nodes(const GraphView& view);
// Nodes of the view that a subgraph's ops are in, ascending.
std::vector<std::uint32_t> nodes_of_subgraph(const GraphView& view, SubgraphId subgraph);

}  // namespace opscope
