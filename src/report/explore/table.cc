// Nodes as rows: of a document's table with their subgraphs, of CSV with every digit, of a profile at another
// level than its modules.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/core/listing.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kTableRowsShown = 60;
constexpr const char* kCsvKeys[] = {"index",
                                    "kind",
                                    "name",
                                    "target",
                                    "module",
                                    "input_shapes",
                                    "shape",
                                    "dtype",
                                    "ops",
                                    "params",
                                    "macs",
                                    "flops",
                                    "input_bytes",
                                    "output_bytes",
                                    "weight_bytes",
                                    "memory_bytes",
                                    "arithmetic_intensity",
                                    "confidence",
                                    "bottleneck",
                                    "subgraph",
                                    "subgraph_type",
                                    "begins",
                                    "ends",
                                    "not_partitioned"};

std::string input_shapes(const GraphView& view, const ViewNode& node) {
  std::string text;
  for (const ViewEdge& edge : view.inputs_of(node))
    if (edge.value != kNone) text += (text.empty() ? "" : " ") + shape_of(*view.profile->graph, edge.value);
  return text;
}

std::string ids(const std::vector<SubgraphId>& subgraphs) {
  std::string text;
  for (const SubgraphId id : subgraphs) text += (text.empty() ? "" : " ") + std::to_string(id + 1);
  return text;
}

std::vector<Listing::Item> csv_items(const GraphView& view, std::uint32_t n) {
  const ViewNode& node = view.nodes[n];
  const Graph& graph = *view.profile->graph;
  const Standing standing = standing_of(view, node);
  const Metrics& m = node.metrics;
  std::vector<Listing::Item> items{
      Count{n + 1},
      std::string(node.kind),
      std::string(node.name),
      std::string(node.target),
      std::string(graph.path(graph.modules[node.module])),
      input_shapes(view, node),
      shape_of(graph, node.output),
      node.output == kNone ? std::string() : std::string(name(graph.values[node.output].dtype)),
      Count{m.ops},
      node.parameters.total,
      m.work.macs,
      m.flops,
      m.traffic.input_bytes,
      m.traffic.output_bytes,
      m.traffic.weight_bytes,
      m.memory_bytes(),
      fmt::format("{}", m.arithmetic_intensity()),
      std::string(name(m.confidence)),
      standing.bound ? std::string(name(*standing.bound)) : std::string(),
      ids(standing.subgraphs)};
  if (node.subgraph != kNone) {
    const Subgraph& subgraph = view.profile->partition.subgraphs[node.subgraph];
    items.insert(items.end(), {std::string(subgraph.type), std::string(name(subgraph.begins)),
                               std::string(name(subgraph.ends)), std::string()});
  } else {
    items.insert(items.end(), {std::string(), std::string(), std::string(), std::string(standing.why_none)});
  }
  if (is_measured(*view.profile)) items.push_back(fmt::format("{}", m.time_seconds()));
  if (has_device(*view.profile)) items.push_back(fmt::format("{}", m.roofline_seconds()));
  return items;
}

std::vector<Cell> row(const GraphView& view, std::uint32_t n) {
  const ViewNode& node = view.nodes[n];
  const Standing standing = standing_of(view, node);
  const bool in_one = standing.subgraphs.size() == 1;
  const Subgraph* subgraph =
      in_one ? &view.profile->partition.subgraphs[standing.subgraphs.front()] : nullptr;
  return {{std::to_string(n + 1), Style::kQuiet},
          {std::string(node.kind), Style::kQuiet},
          {std::string(node.name)},
          {std::string(node.target)},
          {shapes_text(view, node)},
          {flops_text(node.metrics)},
          {standing.subgraphs.empty() ? "-" : subgraphs_text(standing.subgraphs)},
          {subgraph ? std::string(subgraph->type) : ""},
          {format_count(standing.flops, Zero::kDash)},
          {format_ratio(standing.arithmetic_intensity(), Zero::kDash)},
          {standing.bound ? Cell{std::string(name(*standing.bound)), style_of(*standing.bound)} : Cell{"-"}},
          {subgraph ? "begins: " + begins_text(view, *subgraph) + "; ends: " + ends_text(view, *subgraph)
                    : std::string(standing.why_none),
           Style::kQuiet}};
}

std::vector<Cell> cost_row(const GraphView& view, std::uint32_t n, bool show_shapes) {
  const ViewNode& node = view.nodes[n];
  const Metrics& m = node.metrics;
  std::vector<Cell> cells{
      {std::to_string(n + 1), Style::kQuiet},
      {std::string(node.name)},
      {node.target == node.name ? std::string() : std::string(node.target), Style::kQuiet}};
  if (show_shapes) cells.push_back({shape_of(*view.profile->graph, node.output)});
  cells.push_back({format_params(node.parameters.total, Zero::kDash)});
  cells.push_back({format_count(m.work.macs, Zero::kDash)});
  cells.push_back({flops_text(m)});
  cells.push_back({format_percent(m.flops, view.profile->totals.flops, Zero::kDash)});
  cells.push_back({format_bytes(m.memory_bytes(), Zero::kDash)});
  cells.push_back({format_ratio(m.arithmetic_intensity(), Zero::kDash)});
  if (is_measured(*view.profile)) {
    cells.push_back({format_time(m.time_seconds(), Zero::kDash)});
    cells.push_back({format_percent(m.time, view.profile->totals.time, Zero::kDash)});
  }
  if (has_device(*view.profile)) cells.push_back({roofline_text(m)}), cells.push_back(bound_cell(m));
  cells.push_back({node.subgraph == kNone ? "-" : "#" + std::to_string(node.subgraph + 1), Style::kQuiet});
  return cells;
}

}  // namespace

Section nodes_section(const GraphView& view, const std::vector<std::uint32_t>& nodes) {
  Section section{
      "Nodes", {{{"#"}, {"Kind", Align::kLeft}, {"Node", Align::kLeft}, {"Target", Align::kLeft}}, {}}, {}};
  for (const char* title : {"Shapes"}) section.table.columns.push_back({title, Align::kLeft});
  section.table.columns.push_back({"FLOPs"});
  for (const char* title : {"Subgraph", "Type"}) section.table.columns.push_back({title, Align::kLeft});
  for (const char* title : {"Its FLOPs", "FLOPs/byte"}) section.table.columns.push_back({title});
  for (const char* title : {"Bottleneck", "Why"}) section.table.columns.push_back({title, Align::kLeft});
  for (const std::uint32_t n : nodes) section.table.rows.push_back(row(view, n));
  return section;
}

std::string nodes_csv(const GraphView& view, const std::vector<std::uint32_t>& nodes) {
  Listing listing{"nodes", {std::begin(kCsvKeys), std::end(kCsvKeys)}, {}};
  if (is_measured(*view.profile)) listing.keys.push_back("time_seconds");
  if (has_device(*view.profile)) listing.keys.push_back("roofline_seconds");
  for (const std::uint32_t n : nodes) listing.rows.push_back(csv_items(view, n));
  return to_format(listing, Format::kCsv, {});
}

Section level_section(const GraphView& view, const TextOptions& options) {
  const std::size_t all = view.nodes.size();
  const std::size_t shown = options.verbose ? all : std::min(all, kTableRowsShown);
  const std::string title =
      std::to_string(all) + " nodes at the level of " + std::string(name(view.level)) + "s";
  Section section{title, {{{"#"}}, {}}, {}};
  auto& columns = section.table.columns;
  columns.push_back({.title = "Node", .align = Align::kLeft, .min_width = 16, .good_width = 30});
  columns.push_back({.title = "Target", .align = Align::kLeft, .min_width = 10, .optional = true});
  if (options.show_shapes) columns.push_back({"Output", Align::kLeft, 10});
  columns.push_back({.title = "Params", .optional = true});
  columns.push_back({.title = "MACs", .optional = true});
  columns.push_back({"FLOPs"});
  columns.push_back({.title = "% FLOPs", .optional = true});
  for (const char* name : {"Memory", "AI"}) columns.push_back({name});
  if (is_measured(*view.profile))
    for (const char* name : {"Time", "% Time"}) columns.push_back({name});
  if (has_device(*view.profile)) append(columns, {{"Roofline"}, {"Bound", Align::kLeft}});
  columns.push_back({.title = "Subgraph", .optional = true});
  for (std::uint32_t n = 0; n < shown; ++n)
    section.table.rows.push_back(cost_row(view, n, options.show_shapes));
  if (shown < all)
    section.remarks.push_back("and " + plural(all - shown, "more node") + ": --verbose shows them");
  return section;
}

}  // namespace opscope
