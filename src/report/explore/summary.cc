// A view as a whole: how many nodes became how many subgraphs, what limits them, which ops there are, and how
// to look further.
#include <algorithm>

#include "base/text.h"
#include "report/explore/explore.h"
#include "report/profile/columns.h"

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

}  // namespace opscope
