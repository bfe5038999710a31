// The ways between two nodes: how many, the shortest and the costliest, and the nodes that all of them pass.
#include "base/text.h"
#include "report/explore/explore.h"

namespace opscope {
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
  Section section{title, {{{title, Align::kLeft}, {""}, {"", Align::kLeft, 20}}, {}}, {}};
  const auto add = [&](std::string label, std::string value, std::string detail) {
    section.table.rows.push_back(
        {{std::move(label)}, {std::move(value), Style::kStrong}, {std::move(detail), Style::kQuiet}});
  };
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
  Section section{"On every path", {{{"#"}}, {}}, {}};
  section.table.columns.push_back(
      {.title = "On every path", .align = Align::kLeft, .min_width = 20, .good_width = 40});
  section.table.columns.push_back({"Target", Align::kLeft, 10});
  section.table.columns.push_back({"Output", Align::kLeft, 10});
  section.table.columns.push_back({"FLOPs"});
  section.table.columns.push_back({"To the next", Align::kLeft});
  const std::size_t shown = options.verbose ? ways.stages.size() : std::min(ways.stages.size(), kStagesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Stage& stage = ways.stages[i];
    const ViewNode& node = view.nodes[stage.node];
    section.table.rows.push_back({{std::to_string(stage.node + 1), Style::kQuiet},
                                  {std::string(node.name)},
                                  {std::string(node.target), Style::kQuiet},
                                  {shape_of(*view.profile->graph, node.output)},
                                  {flops_text(node.metrics)},
                                  {ways_text(stage), Style::kQuiet}});
  }
  if (shown < ways.stages.size())
    section.remarks.push_back("and " + plural(ways.stages.size() - shown, "more node") +
                              ": --verbose shows them");
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
    return nodes_csv(view, on_all);
  };
  return in_format(
      format, options, [&] { return ways_json(view, ways); }, csv,
      [&] { return ways_document(view, ways, options); });
}

}  // namespace opscope
