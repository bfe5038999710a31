// The ways between two nodes: how many, the shortest and the costliest, and the nodes that all of them pass.
#include "base/text.h"
#include "report/explore/explore.h"
#include "report/profile/sections.h"

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
