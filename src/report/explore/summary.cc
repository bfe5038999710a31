// A view as a whole: how many nodes became how many subgraphs, what limits them, which ops there are, and how
// to look further.
#include <algorithm>

#include "base/text.h"
#include "report/explore/explore.h"
#include "report/profile/columns.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 12;

std::string kinds_text(const ExploreSummary& summary) {
  std::string text;
  for (const auto& [kind, count] : summary.kinds)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(kind);
  return text;
}

std::string strategy_text(const Partition& partition) {
  std::string text = "--partition " + std::string(name(partition.options.strategy));
  if (partition.options.fast_memory)
    text += ", fast memory of " + format_bytes(partition.options.fast_memory);
  return text;
}

Section created(const GraphView& view) {
  const std::string title = "Created " + plural(view.profile->partition().subgraphs.size(), "subgraph") +
                            " from " + plural(view.nodes.size(), "node");
  return {title, {{words(title)}, {}}};
}

Section overview(const GraphView& view, const ExploreSummary& summary) {
  const Partition& partition = view.profile->partition();
  Facts section("Nodes and subgraphs");
  const auto add = [&](auto... cells) { section.add(std::move(cells)...); };
  add("Total nodes", std::to_string(view.nodes.size()), kinds_text(summary));
  add("Partitioned nodes", std::to_string(summary.partitioned_nodes),
      format_percent(Count{summary.partitioned_nodes}, Count{view.nodes.size()}) + "; the rest do no work");
  add("Partitioned subgraphs", std::to_string(partition.subgraphs.size()), strategy_text(partition));
  add("Partition coverage", format_percent(Count{summary.partitioned_ops}, Count{summary.working_ops}),
      std::to_string(summary.partitioned_ops) + " of " + plural(summary.working_ops, "op") + " that do work");
  add("Bytes, op by op", format_bytes(partition.unfused_bytes), "");
  add("Bytes, by subgraph", format_bytes(partition.fused_bytes),
      format_percent(partition.unfused_bytes - partition.fused_bytes, partition.unfused_bytes) + " saved");
  return section;
}

Section bounds(const GraphView& view, const ExploreSummary& summary) {
  Band all;
  std::vector<Bottleneck> rows;
  for (std::size_t b = 0; b < kBottlenecks; ++b) {
    const Band& band = summary.bounds[b];
    all.ops += band.ops, all.flops += band.flops, all.memory_bytes += band.memory_bytes;
    rows.push_back(static_cast<Bottleneck>(b));
  }
  Columns<Bottleneck> columns{{words("Bottleneck Distribution"),
                               [](Bottleneck bound) { return Cell(name(bound), style_of(bound)); }}};
  columns += through<Bottleneck>(
      [&](Bottleneck bound) -> const Band& { return summary.bounds[static_cast<std::size_t>(bound)]; },
      band_columns(all, "Subgraphs"));
  return {"Bottleneck Distribution",
          table_of(columns, rows),
          {bottleneck_legend(view.profile->options.ridge) + " (--ridge)"}};
}

Section types(const GraphView& view, const TextOptions& options) {
  const Profile& profile = *view.profile;
  std::span<const TypeRow> rows = profile.types();
  if (!options.verbose) rows = rows.first(std::min(rows.size(), kTypesShown));
  Columns<TypeRow> columns{{words("Op types"), &TypeRow::type}};
  columns += through<TypeRow>(&TypeRow::metrics,
                              shown_columns(profile, "ops ops% flops flops% memory_bytes memory_bytes%"));
  Section section{"Op types", table_of(columns, rows)};
  say_more(section, rows.size(), profile.types().size(), "type");
  return section;
}

// Commands for this very graph.
Section further(const GraphView& view) {
  Section section{"To look further"};
  const auto add = [&](std::string flags, std::string what) {
    section.entries.push_back({std::move(flags), {std::move(what)}});
  };
  const std::size_t count = view.nodes.size();
  const std::string middle = std::to_string(count / 2 + 1);
  add("--start 1 --end " + std::to_string(std::min<std::size_t>(count, 20)), "nodes and their subgraphs");
  add("--around " + middle + " --context 5", "nodes near one node, given by number or name");
  add("--find TEXT", "nodes whose name, target, module or shape contains TEXT");
  add("--type conv, --module PATH", "nodes of one type, or of one module");
  add("--bottleneck memory", "memory-bound nodes; or compute");
  add("--top 10 --sort mem", "the most expensive nodes");
  add("--node " + middle, "everything about one node");
  add("--path 1 " + std::to_string(count), "paths between two nodes");
  add("--level op", "nodes of another level: module, op or subgraph");
  add("--interactive", "browse the model in the terminal");
  return section;
}

Document summary_document(const GraphView& view, const TextOptions& options) {
  const ExploreSummary summary = summarise(view);
  Document document{header_cells(*view.profile), note_lines(*view.profile, options), {}};
  document.sections.push_back(created(view));
  document.sections.push_back(overview(view, summary));
  document.sections.push_back(bounds(view, summary));
  document.sections.push_back(types(view, options));
  document.sections.push_back(further(view));
  return document;
}

}  // namespace

std::string explore_summary(const GraphView& view, Format format, const TextOptions& options) {
  return to_format(Report{[&](JsonWriter& json) { write_summary(json, view); },
                          [&] { return nodes_table(view, all_nodes(view)); },
                          [&] { return summary_document(view, options); }},
                   format, options);
}

namespace {

constexpr std::size_t kInputsShown = 2;
constexpr std::size_t kIdsShown = 4;

// "before 13 layer1.0.conv2: the consumer needs its own kernel";
// without an op the reason alone.
std::string border_text(const GraphView& view, std::string_view side, Border border, OpId at) {
  std::string text;
  if (at != kNone) text.append(side).append(" ").append(node_text(view, view.node_of[at])).append(": ");
  return text.append(explanation(border));
}

bool consecutive(const std::vector<SubgraphId>& ids) { return ids.back() - ids.front() + 1 == ids.size(); }

}  // namespace

std::function<double(const ViewNode&)> sort_key(const Profile& profile, const Metric& metric) {
  require_known(metric, costs_of(profile, profile.totals, &profile.parameters), "--sort");
  return [&](const ViewNode& node) {
    return value_of(metric, costs_of(profile, node.metrics, &node.parameters));
  };
}

std::string node_text(const GraphView& view, std::uint32_t node) {
  return std::to_string(node + 1) + " " + std::string(view.nodes[node].name);
}

std::string shapes_text(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  const std::string result = shape_of(graph, node.output);
  if (node.kind == "placeholder" || node.kind == "get_attr")
    return node.output == kNone ? "" : result + " " + std::string(name(graph.values[node.output].dtype));
  std::string text;
  std::size_t shown = 0, more = 0;
  for (const ViewEdge& edge : view.inputs_of(node)) {
    if (edge.value == kNone) continue;
    if (shown == kInputsShown) {
      ++more;
      continue;
    }
    text += (shown++ ? ", " : "") + shape_of(graph, edge.value);
  }
  if (more) text += " +" + std::to_string(more);
  if (node.kind == "output") return text;
  return text + (text.empty() ? "-> " : " -> ") + (result.empty() ? "nothing" : result);
}

std::string begins_text(const GraphView& view, const Subgraph& subgraph) {
  return border_text(view, "after", subgraph.begins, subgraph.begins_at);
}
std::string ends_text(const GraphView& view, const Subgraph& subgraph) {
  return border_text(view, "before", subgraph.ends, subgraph.ends_at);
}

std::string subgraphs_text(const std::vector<SubgraphId>& subgraphs) {
  const auto id = [](SubgraphId s) { return "#" + std::to_string(s + 1); };
  if (subgraphs.empty()) return "";
  if (subgraphs.size() > 2 && consecutive(subgraphs))
    return id(subgraphs.front()) + " to " + id(subgraphs.back());
  std::string text;
  const std::size_t shown = subgraphs.size() > kIdsShown + 1 ? kIdsShown : subgraphs.size();
  for (std::size_t i = 0; i < shown; ++i) text += (i ? ", " : "") + id(subgraphs[i]);
  return shown == subgraphs.size() ? text
                                   : text + " and " + std::to_string(subgraphs.size() - shown) + " more";
}

Style style_of(Bottleneck bound) {
  return bound == Bottleneck::kComputeBound ? Style::kGood : Style::kWarning;
}

std::vector<std::uint32_t> all_nodes(const GraphView& view) {
  std::vector<std::uint32_t> nodes(view.nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) nodes[n] = n;
  return nodes;
}

std::vector<std::uint32_t> nodes_of_subgraph(const GraphView& view, SubgraphId subgraph) {
  std::vector<std::uint32_t> nodes;
  const Partition& partition = view.profile->partition();
  for (const OpId op : partition.ops_of(partition.subgraphs[subgraph])) nodes.push_back(view.node_of[op]);
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

namespace {

constexpr std::size_t kNodesShown = 24, kStagesShown = 40;

// "2:conv1 -> 3:bn1 -> (5 more) -> 12:layer1.0.add"
std::string way_text(const GraphView& view, const std::vector<std::uint32_t>& way, bool all) {
  const bool cut = !all && way.size() > kNodesShown;
  std::string text;
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (cut && i == kNodesShown - 4) {
      text += " -> (" + std::to_string(way.size() - kNodesShown) + " more)";
      i = way.size() - 4;
    }
    // No space between number and name, where a line could end.
    text += (i ? " -> " : "") + std::to_string(way[i] + 1) + ":" + std::string(view.nodes[way[i]].name);
  }
  return text;
}

std::string ways_text(const Stage& stage) {
  if (!stage.ways) return "";
  if (stage.between == 0) return "directly";
  return (stage.ways == Count{1} ? "1 path" : format_count(stage.ways) + " paths") + " through " +
         plural(stage.between, "node");
}

Section overview(const GraphView& view, const Ways& ways, const TextOptions& options) {
  const std::string title =
      "From " + node_text(view, ways.stages.front().node) + " to " + node_text(view, ways.stages.back().node);
  Facts section(title);
  const auto add = [&](auto... cells) { section.add(std::move(cells)...); };
  add("Paths", ways.count.saturated() ? format_count(ways.count) : format_exact(ways.count), "");
  add("Nodes on any path", std::to_string(ways.nodes), "");
  add("Nodes on every path", std::to_string(ways.stages.size()), "");
  add("Shortest", plural(ways.shortest.size(), "node"), "");
  add("Most FLOPs", plural(ways.costliest.size(), "node"),
      format_count(ways.costliest_flops) + " FLOPs, " +
          format_percent(ways.costliest_flops, view.profile->totals.flops) + " of the model's");
  const bool same = ways.shortest == ways.costliest;
  section.entries.push_back(
      {same ? "shortest, most FLOPs" : "shortest", {way_text(view, ways.shortest, options.verbose)}});
  if (!same) section.entries.push_back({"most FLOPs", {way_text(view, ways.costliest, options.verbose)}});
  return section;
}

Section stages(const GraphView& view, const Ways& ways, const TextOptions& options) {
  using Row = const Stage&;
  const auto node = [&view](const auto& read, Style style = Style::kPlain) {
    return [&view, read, style](Row stage) { return Cell(read(view.nodes[stage.node]), style); };
  };
  const Columns<Stage> columns{
      {number("#"), [](Row stage) { return Cell(stage.node + 1, Style::kQuiet); }},
      {words("On every path", 20, 40), node([](const ViewNode& n) { return n.name; })},
      {words("Target", 10), node([](const ViewNode& n) { return n.target; }, Style::kQuiet)},
      {words("Output", 10),
       node([&](const ViewNode& n) { return shape_of(*view.profile->graph, n.output); })},
      {number("FLOPs"), [&](Row stage) { return flops_cell(view.nodes[stage.node].metrics); }},
      {words("To the next"), [](Row stage) { return Cell(ways_text(stage), Style::kQuiet); }}};
  std::span<const Stage> rows = ways.stages;
  if (!options.verbose) rows = rows.first(std::min(rows.size(), kStagesShown));
  Section section{"On every path", table_of(columns, rows)};
  say_more(section, rows.size(), ways.stages.size(), "node");
  return section;
}

Document ways_document(const GraphView& view, const Ways& ways, const TextOptions& options) {
  Document document{header_cells(*view.profile), note_lines(*view.profile, options), {}};
  document.sections.push_back(overview(view, ways, options));
  document.sections.push_back(stages(view, ways, options));
  return document;
}

}  // namespace

std::string explore_ways(const GraphView& view, const Ways& ways, Format format, const TextOptions& options) {
  const auto csv = [&] {
    std::vector<std::uint32_t> on_all;
    for (const Stage& stage : ways.stages) on_all.push_back(stage.node);
    return nodes_table(view, on_all);
  };
  return to_format(Report{[&](JsonWriter& json) { write_ways(json, view, ways); }, csv,
                          [&] { return ways_document(view, ways, options); }},
                   format, options);
}

}  // namespace opscope
