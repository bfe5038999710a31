// One tracer's graph for people: its nodes by kind and by target, then the nodes one by one.
#include <fmt/format.h>

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

using Node = const GraphNode*;

Columns<Node> listed_columns(const Profile& profile, const std::vector<GraphNode>& nodes,
                             const std::vector<Node>& listed) {
  const Graph& graph = *profile.graph;
  const auto quiet = [](const auto& read) {
    return [=](Node node) { return Cell(read(node), Style::kQuiet); };
  };
  Columns<Node> columns{{number("#"), quiet([&](Node node) { return node - nodes.data() + 1; })}};
  if (profile.parts().size() > 1) columns += {{number("Graph"), [](Node node) { return node->part + 1; }}};
  columns += {{words("Node", 16, 32), [](Node node) { return node->label; }},
              {words("Kind").or_not(), quiet([](Node node) { return name(node->kind); })},
              // The target of an input or output is its name once more.
              {words("Target", 16),
               [](Node node) {
                 const bool named = node->kind == NodeKind::kPlaceholder || node->kind == NodeKind::kOutput;
                 return named ? std::string_view() : node->type;
               }},
              {words("Output", 10), [&](Node node) { return shape_cell(graph, node->output); }},
              {words("Type").or_not(), quiet([&](Node node) {
                 return node->output == kNone ? "" : name(graph.values[node->output].dtype);
               })}};
  if (std::ranges::any_of(listed, [](Node node) { return node->calls > 1; }))
    columns += {{number("Calls"), [](Node node) { return node->calls; }}};
  columns += {{number("MACs", Unit::kCount), [](Node node) { return node->metrics.work.macs; }},
              {number("Bytes", Unit::kBytes), [](Node node) { return node->metrics.memory_bytes(); }}};
  if (std::ranges::any_of(listed, [](Node node) { return !node->source.empty(); }))
    columns += {{words("Source", 12).or_not(), quiet([](Node node) { return source_text(node->source); })}};
  return columns;
}

// Weights are left out unless all are asked for.
Section nodes_section(const Profile& profile, const std::vector<GraphNode>& nodes,
                      const TextOptions& options) {
  std::vector<Node> listed;
  for (const GraphNode& node : nodes)
    if (!node.is_weight || options.verbose) listed.push_back(&node);
  const std::size_t weights = nodes.size() - listed.size(), shown = shown_of(listed.size(), options);
  const std::size_t more = listed.size() - shown;
  listed.resize(shown);
  Section section{plural(nodes.size(), "node"), table_of(listed_columns(profile, nodes, listed), listed)};
  if (more > 0)
    section.remarks.push_back(
        fmt::format("and {}: --top N or --verbose shows {}", plural(more, "more node"), them(more)));
  if (weights > 0)
    section.remarks.push_back(fmt::format("{} {} not listed: --verbose shows {}", plural(weights, "weight"),
                                          weights == 1 ? "is" : "are", them(weights)));
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
