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

// What explore's reports differ in: the nodes that are the rows of CSV, the document, and what JSON has.
struct ExploreReport {
  std::vector<std::uint32_t> nodes;
  std::function<std::vector<Section>()> sections;
  bool summary = false, details = false;  // before the nodes; after the only one
  const Ways* ways = nullptr;             // in place of them all
};
std::string explore_report(const GraphView& view, Format format, const TextOptions& options,
                           const ExploreReport& report);

// Nodes with the subgraphs that they run in.
Table nodes_table(const GraphView& view, const std::vector<std::uint32_t>& nodes);

// "12 layer1.0.conv1"
std::string node_text(const GraphView& view, std::uint32_t node);
// "1x64x56x56, 1x64x56x56 -> 1x64x56x56"; at most two of what it takes.
std::string shapes_text(const GraphView& view, const ViewNode& node);
// Why a subgraph begins or ends, and where: "before 13 layer1.0.conv2: the consumer needs its own kernel";
// without an op the reason alone.
std::string border_text(const GraphView& view, std::string_view side, Border border, OpId at);
// "#3", "#3 to #7", "#3, #9, #12 and 4 more"
std::string subgraphs_text(const std::vector<SubgraphId>& ids);
// Words into lines of at most `width`, those after the first indented; long words lose their middle.
std::vector<std::string> wrapped_words(std::string_view text, int width, int indent = 0);
std::string created_text(const GraphView& view);  // "Created 12 subgraphs from 71 nodes"
std::vector<std::string> explained_lines(const Profile& profile, OpId op);  // how its numbers come about
Style style_of(Bottleneck bound);
// Nodes of the view that a subgraph's ops are in, ascending.
std::vector<std::uint32_t> nodes_of_subgraph(const GraphView& view, SubgraphId subgraph);

}  // namespace opscope
