// One tracer's graph for people: its nodes by kind and by target, then the nodes one by one.
#include <algorithm>

#include "report/profile/sections.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

constexpr std::size_t kTargetsShown = 20;

// Nodes of one kind or target, and what they cost.
struct CountedNodes {
  std::string label;
  Cell count;
  Metrics metrics;
  Style style = Style::kPlain;
};

Section counted_section(const std::string& title, const std::vector<CountedNodes>& rows) {
  using Row = const CountedNodes&;
  const Columns<CountedNodes> columns{
      {words(title, 24), &CountedNodes::label},
      {number("Count"), &CountedNodes::count},
      {number("Ops"), [](Row row) { return number_or_dash(row.metrics.ops); }},
      {number("MACs", Unit::kCount), [](Row row) { return row.metrics.work.macs; }},
      {number("FLOPs"), [](Row row) { return flops_cell(row.metrics); }},
      {number("Bytes", Unit::kBytes), [](Row row) { return row.metrics.memory_bytes(); }}};
  return {title, table_of<CountedNodes>(columns, rows, In::kPeople, &CountedNodes::style)};
}

Section kinds_section(const Profile& profile, const std::vector<GraphNode>& nodes) {
  std::vector<CountedNodes> rows;
  for (const KindRow& row : count_kinds(nodes))
    rows.push_back({std::string(name(row.kind)), row.count, row.metrics});
  if (!profile.parts().empty() && profile.outside().ops > 0)
    rows.push_back({"outside the graphs", "-", profile.outside()});
  rows.push_back({"total", nodes.size(), profile.totals, Style::kStrong});
  return counted_section("Nodes by kind", rows);
}

std::string them(std::size_t count) { return count == 1 ? "it" : "them"; }

Section targets_section(const std::vector<GraphNode>& nodes, const TextOptions& options) {
  const std::vector<TargetRow> targets = count_targets(nodes);
  const std::size_t shown = options.verbose ? targets.size() : std::min(targets.size(), kTargetsShown);
  std::vector<CountedNodes> rows;
  for (std::size_t i = 0; i < shown; ++i)
    rows.push_back({std::string(targets[i].target), targets[i].count, targets[i].metrics});
  Section section = counted_section("By target", rows);
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
  listing.has_parts = profile.parts().size() > 1;
  listing.has_calls = any([](const GraphNode& node) { return node.calls > 1; });
  listing.has_sources = any([](const GraphNode& node) { return !node.source.empty(); });
  return listing;
}

Columns<std::size_t> listed_columns(const Graph& graph, const std::vector<GraphNode>& nodes,
                                    const NodeListing& listing) {
  const auto node = [&nodes](const auto& read, Style style = Style::kPlain) {
    return [&nodes, read, style](std::size_t i) { return Cell(read(nodes[i]), style); };
  };
  using Node = const GraphNode&;
  Columns<std::size_t> columns{{number("#"), [](std::size_t i) { return Cell(i + 1, Style::kQuiet); }}};
  if (listing.has_parts) columns += {{number("Graph"), node([](Node n) { return n.part + 1; })}};
  columns += {{words("Node", 16, 32), node([](Node n) { return n.label; })},
              {words("Kind").or_not(), node([](Node n) { return name(n.kind); }, Style::kQuiet)},
              // The target of an input or output is its name once more.
              {words("Target", 16), node([](Node n) {
                 const bool named = n.kind == NodeKind::kPlaceholder || n.kind == NodeKind::kOutput;
                 return named ? std::string_view() : n.type;
               })},
              {words("Output", 10), [&](std::size_t i) { return shape_cell(graph, nodes[i].output); }},
              {words("Type").or_not(),
               node([&](Node n) { return n.output == kNone ? "" : name(graph.values[n.output].dtype); },
                    Style::kQuiet)}};
  if (listing.has_calls) columns += {{number("Calls"), node([](Node n) { return n.calls; })}};
  columns += {{number("MACs", Unit::kCount), node([](Node n) { return n.metrics.work.macs; })},
              {number("Bytes", Unit::kBytes), node([](Node n) { return n.metrics.memory_bytes(); })}};
  if (listing.has_sources)
    columns +=
        {{words("Source", 12).or_not(), node([](Node n) { return source_text(n.source); }, Style::kQuiet)}};
  return columns;
}

Section nodes_section(const Profile& profile, const std::vector<GraphNode>& nodes,
                      const TextOptions& options) {
  const NodeListing listing = node_listing(profile, nodes, options);
  Section section{plural(nodes.size(), "node"),
                  table_of(listed_columns(*profile.graph, nodes, listing), listing.listed)};
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
  if (profile.parts().size() > 1) document.sections.push_back(parts_section(profile));
  document.sections.push_back(kinds_section(profile, nodes));
  document.sections.push_back(targets_section(nodes, options));
  if (options.top > 0 || options.verbose) document.sections.push_back(nodes_section(profile, nodes, options));
  if (!detail.exports.empty()) {
    document.sections.push_back(overview_section(detail.exports));
    document.add(reasons_section(detail.exports, options.verbose));
  }
  add_files(detail.files, options.verbose, document);
  return document;
}

}  // namespace opscope
