// A view as a whole: how many nodes became how many subgraphs, what limits them, which ops there are, and how
// to look further; the ways between two nodes; and the words that all of explore's reports share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <set>

#include "analyse/fusion/subgraphs.h"
#include "base/text.h"
#include "report/explore/explore.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 12, kNodesShown = 24, kStagesShown = 40;
constexpr std::size_t kInputsShown = 2, kIdsShown = 4;

std::string kinds_text(const ExploreSummary& summary) {
  const auto text = [](const auto& kind) { return fmt::format("{} {}", kind.second, kind.first); };
  return fmt::format("{}", fmt::join(summary.kinds | std::views::transform(text), ", "));
}

std::string strategy_text(const PartitionOptions& options) {
  const std::string text = fmt::format("--partition {}", name(options.strategy));
  return options.fast_memory ? text + ", fast memory of " + format_bytes(options.fast_memory) : text;
}

Section overview(const GraphView& view, const ExploreSummary& summary) {
  const Partition& partition = view.profile->partition();
  Facts section("Nodes and subgraphs");
  section.add("Total nodes", std::to_string(view.nodes.size()), kinds_text(summary));
  section.add(
      "Partitioned nodes", std::to_string(summary.partitioned_nodes),
      format_percent(Count{summary.partitioned_nodes}, Count{view.nodes.size()}) + "; the rest do no work");
  section.add("Partitioned subgraphs", std::to_string(partition.subgraphs.size()),
              strategy_text(partition.options));
  section.add(
      "Partition coverage", format_percent(Count{summary.partitioned_ops}, Count{summary.working_ops}),
      fmt::format("{} of {} that do work", summary.partitioned_ops, plural(summary.working_ops, "op")));
  section.add("Bytes, op by op", format_bytes(partition.unfused_bytes));
  section.add(
      "Bytes, by subgraph", format_bytes(partition.fused_bytes),
      format_percent(partition.unfused_bytes - partition.fused_bytes, partition.unfused_bytes) + " saved");
  return section;
}

Section bounds(const Profile& profile) {
  const auto bands = summarise_partition(profile).bounds;
  Band all;
  for (const Band& band : bands)
    all.ops += band.ops, all.flops += band.flops, all.memory_bytes += band.memory_bytes;
  Columns<Band> columns{{words("Bottleneck Distribution"), [&](const Band& band) {
                           const auto bound = static_cast<Bottleneck>(&band - bands.data());
                           return Cell(name(bound), style_of(bound));
                         }}};
  columns += band_columns(all, "Subgraphs");
  return {"Bottleneck Distribution",
          table_of(columns, bands),
          {bottleneck_legend(profile.options.ridge) + " (--ridge)"}};
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
  const std::size_t count = view.nodes.size(), middle = count / 2 + 1;
  Section section{"To look further"};
  section.entries = {
      {fmt::format("--start 1 --end {}", std::min<std::size_t>(count, 20)), {"nodes and their subgraphs"}},
      {fmt::format("--around {} --context 5", middle), {"nodes near one node, given by number or name"}},
      {"--find TEXT", {"nodes whose name, target, module or shape contains TEXT"}},
      {"--type conv, --module PATH", {"nodes of one type, or of one module"}},
      {"--bottleneck memory", {"memory-bound nodes; or compute"}},
      {"--top 10 --sort mem", {"the most expensive nodes"}},
      {fmt::format("--node {}", middle), {"everything about one node"}},
      {fmt::format("--path 1 {}", count), {"paths between two nodes"}},
      {"--level op", {"nodes of another level: module, op or subgraph"}},
      {"--interactive", {"browse the model in the terminal"}}};
  return section;
}

// "2:conv1 -> 3:bn1 -> (5 more) -> 12:layer1.0.add"
std::string way_text(const GraphView& view, const std::vector<std::uint32_t>& way, bool all) {
  const bool cut = !all && way.size() > kNodesShown;
  std::string text;
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (cut && i == kNodesShown - 4) {
      text += fmt::format(" -> ({} more)", way.size() - kNodesShown);
      i = way.size() - 4;
    }
    // No space between number and name, where a line could end.
    text += fmt::format("{}{}:{}", i ? " -> " : "", way[i] + 1, view.nodes[way[i]].name);
  }
  return text;
}

std::string ways_text(const Stage& stage) {
  if (!stage.ways) return "";
  if (stage.between == 0) return "directly";
  return (stage.ways == Count{1} ? "1 path" : format_count(stage.ways) + " paths") + " through " +
         plural(stage.between, "node");
}

Section ways_overview(const GraphView& view, const Ways& ways, const TextOptions& options) {
  Facts section("From " + node_text(view, ways.stages.front().node) + " to " +
                node_text(view, ways.stages.back().node));
  section.add("Paths", ways.count.saturated() ? format_count(ways.count) : format_exact(ways.count));
  section.add("Nodes on any path", std::to_string(ways.nodes));
  section.add("Nodes on every path", std::to_string(ways.stages.size()));
  section.add("Shortest", plural(ways.shortest.size(), "node"));
  section.add("Most FLOPs", plural(ways.costliest.size(), "node"),
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
  const auto node = [&view](const auto& read) {
    return [&view, read](Row stage) { return Cell(std::invoke(read, view.nodes[stage.node])); };
  };
  const Columns<Stage> columns{
      {number("#").quiet(), [](Row stage) { return stage.node + 1; }},
      {words("On every path", 20, 40), node(&ViewNode::name)},
      {words("Target", 10).quiet(), node(&ViewNode::target)},
      {words("Output", 10),
       node([&](const ViewNode& n) { return shape_text(*view.profile->graph, n.output); })},
      {number("FLOPs"), [&](Row stage) { return flops_cell(view.nodes[stage.node].metrics); }},
      {words("To the next").quiet(), ways_text}};
  std::span<const Stage> rows = ways.stages;
  if (!options.verbose) rows = rows.first(std::min(rows.size(), kStagesShown));
  Section section{"On every path", table_of(columns, rows)};
  say_more(section, rows.size(), ways.stages.size(), "node");
  return section;
}

}  // namespace

std::string created_text(const GraphView& view) {
  return "Created " + plural(view.profile->partition().subgraphs.size(), "subgraph") + " from " +
         plural(view.nodes.size(), "node");
}

std::string explore_summary(const GraphView& view, Format format, const TextOptions& options) {
  const auto sections = [&] {
    const ExploreSummary summary = summarise(view);
    const std::string title = created_text(view);
    return std::vector<Section>{{title, {{words(title)}, {}}},
                                overview(view, summary),
                                bounds(*view.profile),
                                types(view, options),
                                further(view)};
  };
  std::vector<std::uint32_t> nodes(view.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0U);
  return explore_report(view, format, options, {.nodes = nodes, .sections = sections, .summary = true});
}

std::string explore_ways(const GraphView& view, const Ways& ways, Format format, const TextOptions& options) {
  const auto sections = [&] {
    return std::vector<Section>{ways_overview(view, ways, options), stages(view, ways, options)};
  };
  std::vector<std::uint32_t> on_all;
  for (const Stage& stage : ways.stages) on_all.push_back(stage.node);
  return explore_report(view, format, options, {.nodes = on_all, .sections = sections, .ways = &ways});
}

std::function<double(const ViewNode&)> sort_key(const Profile& profile, const Metric& metric) {
  require_known(metric, costs_of(profile, profile.totals, &profile.parameters), "--sort");
  return [&](const ViewNode& node) {
    return value_of(metric, costs_of(profile, node.metrics, &node.parameters));
  };
}

std::string node_text(const GraphView& view, std::uint32_t node) {
  return fmt::format("{} {}", node + 1, view.nodes[node].name);
}

std::string shapes_text(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  const std::string result = shape_text(graph, node.output);
  if (node.kind == "placeholder" || node.kind == "get_attr")
    return node.output == kNone ? "" : fmt::format("{} {}", result, name(graph.values[node.output].dtype));
  std::vector<std::string> shapes;
  for (const ViewEdge& edge : view.inputs_of(node))
    if (edge.value != kNone) shapes.push_back(shape_text(graph, edge.value));
  std::string text = fmt::format("{}", fmt::join(shapes | std::views::take(kInputsShown), ", "));
  if (shapes.size() > kInputsShown) text += fmt::format(" +{}", shapes.size() - kInputsShown);
  if (node.kind == "output") return text;
  return text + (text.empty() ? "-> " : " -> ") + (result.empty() ? "nothing" : result);
}

std::string border_text(const GraphView& view, std::string_view side, Border border, OpId at) {
  const std::string where =
      at == kNone ? "" : fmt::format("{} {}: ", side, node_text(view, view.node_of[at]));
  return where + std::string(explanation(border));
}

std::string subgraphs_text(const std::vector<SubgraphId>& ids) {
  const auto text = [](SubgraphId id) { return fmt::format("#{}", id + 1); };
  if (ids.size() > 2 && ids.back() - ids.front() + 1 == ids.size())
    return text(ids.front()) + " to " + text(ids.back());
  const std::size_t shown = ids.size() > kIdsShown + 1 ? kIdsShown : ids.size();
  const std::string list =
      fmt::format("{}", fmt::join(ids | std::views::take(shown) | std::views::transform(text), ", "));
  return shown == ids.size() ? list : fmt::format("{} and {} more", list, ids.size() - shown);
}

std::vector<std::string> explained_lines(const Profile& profile, OpId op) {
  std::vector<std::string> lines;
  const std::string text = explain(*profile.graph, op, profile.experts);
  for (std::size_t begin = 0; begin < text.size(); begin += lines.back().size() + 1)
    lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
  return lines;
}

Style style_of(Bottleneck bound) {
  return bound == Bottleneck::kComputeBound ? Style::kGood : Style::kWarning;
}

std::vector<std::uint32_t> nodes_of_subgraph(const GraphView& view, SubgraphId subgraph) {
  const Partition& partition = view.profile->partition();
  std::set<std::uint32_t> nodes;
  for (const OpId op : partition.ops_of(partition.subgraphs[subgraph])) nodes.insert(view.node_of[op]);
  return {nodes.begin(), nodes.end()};
}

}  // namespace opscope
