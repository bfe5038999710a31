// One tracer's graph for people: its nodes by kind and by target, then the nodes one by one.
#include <algorithm>

#include "base/text.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

constexpr std::size_t kTargetsShown = 20;

std::vector<Cell> statistics(std::string label, std::string count, const Metrics& metrics) {
  return {{std::move(label)},
          {std::move(count)},
          {metrics.ops ? std::to_string(metrics.ops) : "-"},
          {format_count(metrics.work.macs, Zero::kDash)},
          {flops_text(metrics)},
          {format_bytes(metrics.memory_bytes(), Zero::kDash)}};
}

std::vector<Column> statistics_columns(const std::string& heading) {
  return {{heading, Align::kLeft, 24}, {"Count"}, {"Ops"}, {"MACs"}, {"FLOPs"}, {"Memory"}};
}

Section kinds_section(const Profile& profile, const std::vector<GraphNode>& nodes) {
  Section section{"Nodes by kind", {statistics_columns("Nodes by kind"), {}}, {}};
  for (const KindRow& row : count_kinds(nodes))
    section.table.rows.push_back(
        statistics(std::string(name(row.kind)), std::to_string(row.count), row.metrics));
  if (!profile.parts.empty() && profile.outside.ops > 0)
    section.table.rows.push_back(statistics("outside the graphs", "-", profile.outside));
  auto totals = statistics("total", std::to_string(nodes.size()), profile.totals);
  for (Cell& cell : totals) cell.style = Style::kStrong;
  section.table.rows.push_back(std::move(totals));
  return section;
}

std::size_t shown_of(std::size_t all, const TextOptions& options) {
  return options.verbose ? all : std::min(all, static_cast<std::size_t>(std::max(options.top, 0)));
}

std::string them(std::size_t count) { return count == 1 ? "it" : "them"; }

Section targets_section(const std::vector<GraphNode>& nodes, const TextOptions& options) {
  const std::vector<TargetRow> targets = count_targets(nodes);
  Section section{"By target", {statistics_columns("By target"), {}}, {}};
  const std::size_t shown = options.verbose ? targets.size() : std::min(targets.size(), kTargetsShown);
  for (std::size_t i = 0; i < shown; ++i)
    section.table.rows.push_back(
        statistics(std::string(targets[i].target), std::to_string(targets[i].count), targets[i].metrics));
  if (shown < targets.size())
    section.remarks.push_back("and " + plural(targets.size() - shown, "more target") + ": --verbose shows " +
                              them(targets.size() - shown));
  return section;
}

// The nodes that are listed, by their index among all, and the columns that they need.
struct NodeListing {
  std::vector<std::size_t> listed;
  std::size_t weights = 0, more = 0;  // left out
  bool has_parts = false, has_calls = false, has_sources = false;
};

NodeListing node_listing(const Profile& profile, const std::vector<GraphNode>& nodes,
                         const TextOptions& options) {
  NodeListing listing;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].is_weight && !options.verbose)
      ++listing.weights;
    else
      listing.listed.push_back(i);
  }
  const std::size_t shown = shown_of(listing.listed.size(), options);
  listing.more = listing.listed.size() - shown;
  listing.listed.resize(shown);
  const auto any = [&](auto&& is) {
    return std::ranges::any_of(listing.listed, [&](std::size_t i) { return is(nodes[i]); });
  };
  listing.has_parts = profile.parts.size() > 1;
  listing.has_calls = any([](const GraphNode& node) { return node.calls > 1; });
  listing.has_sources = any([](const GraphNode& node) { return !node.source.empty(); });
  return listing;
}

std::vector<Column> node_columns(const NodeListing& listing) {
  std::vector<Column> columns{{"#"}};
  if (listing.has_parts) columns.push_back({"Graph"});
  columns.push_back({.title = "Node", .align = Align::kLeft, .min_width = 16, .good_width = 32});
  columns.push_back({.title = "Kind", .align = Align::kLeft, .optional = true});
  columns.push_back({"Target", Align::kLeft, 16});
  columns.push_back({"Output", Align::kLeft, 10});
  columns.push_back({.title = "Type", .align = Align::kLeft, .optional = true});
  if (listing.has_calls) columns.push_back({"Calls"});
  columns.push_back({"MACs"});
  columns.push_back({"Memory"});
  if (listing.has_sources)
    columns.push_back({.title = "Source", .align = Align::kLeft, .min_width = 12, .optional = true});
  return columns;
}

std::vector<Cell> node_cells(const Graph& graph, const GraphNode& node, std::size_t index,
                             const NodeListing& listing) {
  std::vector<Cell> cells{{std::to_string(index + 1), Style::kQuiet}};
  if (listing.has_parts) cells.push_back({std::to_string(node.part + 1)});
  cells.push_back({std::string(node.label)});
  cells.push_back({std::string(name(node.kind)), Style::kQuiet});
  // The target of an input or output is its name once more.
  const bool named = node.kind == NodeKind::kPlaceholder || node.kind == NodeKind::kOutput;
  cells.push_back({named ? std::string() : std::string(node.type)});
  cells.push_back({shape_text(graph, node.output)});
  cells.push_back(
      {node.output == kNone ? "" : std::string(name(graph.values[node.output].dtype)), Style::kQuiet});
  if (listing.has_calls) cells.push_back({std::to_string(node.calls)});
  cells.push_back({format_count(node.metrics.work.macs, Zero::kDash)});
  cells.push_back({format_bytes(node.metrics.memory_bytes(), Zero::kDash)});
  if (listing.has_sources) cells.push_back({std::string(source_text(node.source)), Style::kQuiet});
  return cells;
}

Section nodes_section(const Profile& profile, const std::vector<GraphNode>& nodes,
                      const TextOptions& options) {
  const NodeListing listing = node_listing(profile, nodes, options);
  Section section{plural(nodes.size(), "node"), {node_columns(listing), {}}, {}};
  for (const std::size_t i : listing.listed)
    section.table.rows.push_back(node_cells(*profile.graph, nodes[i], i, listing));
  if (listing.more > 0)
    section.remarks.push_back("and " + plural(listing.more, "more node") + ": --top N or --verbose shows " +
                              them(listing.more));
  if (listing.weights > 0)
    section.remarks.push_back(plural(listing.weights, "weight") + (listing.weights == 1 ? " is" : " are") +
                              " not listed: --verbose shows " + them(listing.weights));
  return section;
}

std::vector<Cell> header(const TraceDetail& detail) {
  std::vector<Cell> cells = header_cells(*detail.profile);
  if (const auto difference = detail.row.macs_difference) {
    const std::string text = "MACs " + (*difference ? difference_text(*difference) + " to" : "same as") +
                             " the engine" +
                             (*difference && detail.row.engine_is_bound ? "'s upper bound" : "");
    cells.push_back({text, *difference ? Style::kWarning : Style::kGood});
  }
  return cells;
}

}  // namespace

Document detail_document(const TraceDetail& detail, const TextOptions& options) {
  const Profile& profile = *detail.profile;
  const std::vector<GraphNode> nodes = graph_nodes(profile);
  Document document{header(detail), note_lines(profile, options, true), {}};
  if (profile.parts.size() > 1) document.sections.push_back(parts_section(profile));
  document.sections.push_back(kinds_section(profile, nodes));
  document.sections.push_back(targets_section(nodes, options));
  if (options.top > 0 || options.verbose) document.sections.push_back(nodes_section(profile, nodes, options));
  if (!detail.exports.empty()) {
    document.sections.push_back(overview_section(detail.exports));
    if (Section reasons = reasons_section(detail.exports, options.verbose); !reasons.entries.empty())
      document.sections.push_back(std::move(reasons));
  }
  add_files(detail.files, options.verbose, document);
  return document;
}

}  // namespace opscope
