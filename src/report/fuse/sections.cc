// The sections of the fusion report: cells worded from the partition, nothing computed.
#include <algorithm>
#include <numeric>

#include "analyse/fusion/subgraphs.h"
#include "base/seconds.h"
#include "base/text.h"
#include "report/fuse/report.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

std::string strategy_text(const PartitionOptions& options) {
  switch (options.strategy) {
    case Strategy::kEachOp:
      return "one op per subgraph";
    case Strategy::kLayer:
      return "one leaf module per subgraph";
    case Strategy::kFused:
      break;
  }
  return options.fast_memory ? "one kernel each, " + format_bytes(options.fast_memory) + " of fast memory"
                             : "one kernel each";
}

std::string module_text(const Profile& profile, const Subgraph& subgraph) {
  const auto path = profile.graph->path(profile.graph->modules[subgraph.module]);
  return path.empty() ? "(model)" : std::string(path);
}

// Of all that a row stands for; a ratio is that of each.
double measure(const Profile& profile, const SubgraphRow& row, const Metric& metric) {
  const Subgraph& subgraph = profile.partition.subgraphs[row.ids[0]];
  Metrics sums = metrics_of(profile, subgraph);
  if (has_device(profile)) sums.roofline_time = kernel_roofline(profile, row.ids[0]).roofline_time;
  Costs costs = costs_of(profile, sums);
  costs.saved_bytes = subgraph.saved_bytes();
  const double value = value_of(metric, costs);
  return adds_up(metric.unit) ? value * static_cast<double>(row.ids.size()) : value;
}

std::vector<SubgraphRow> sorted_rows(const Profile& profile, const FuseOptions& options, const Metric* sort) {
  auto rows = subgraph_rows(profile, options.text.fold);
  if (!sort) return rows;
  if (sort->need == kNeedsDevice) require_known(*sort, costs_of(profile, profile.totals), "--sort");
  std::ranges::stable_sort(rows, std::greater{},
                           [&](const SubgraphRow& row) { return measure(profile, row, *sort); });
  return rows;
}

std::string number_text(SubgraphId id) { return "#" + std::to_string(id + 1); }
std::string times_text(std::size_t count) { return count > 1 ? "x" + std::to_string(count) : ""; }

// Of rows that stand for several: the costs of one, as with folded modules.
std::vector<Cell> row_cells(const Profile& profile, const SubgraphRow& row) {
  const Subgraph& s = profile.partition.subgraphs[row.ids[0]];
  const Metrics metrics = metrics_of(profile, s);
  const Bottleneck bound = bottleneck_of(profile, s);
  std::vector<Cell> cells{{number_text(row.ids[0])},
                          {times_text(row.ids.size()), Style::kStrong},
                          {std::string(s.type)},
                          {module_text(profile, s), Style::kQuiet},
                          {std::to_string(metrics.ops)},
                          {flops_text(metrics)},
                          {format_bytes(s.memory_bytes(), Zero::kDash)},
                          {format_bytes(s.saved_bytes(), Zero::kDash)},
                          {format_ratio(metrics.arithmetic_intensity(), Zero::kDash)}};
  if (has_device(profile)) cells.push_back({roofline_text(kernel_roofline(profile, row.ids[0]))});
  cells.push_back(
      {std::string(word(bound)), bound == Bottleneck::kMemoryBound ? Style::kWarning : Style::kPlain});
  for (const Border border : {s.begins, s.ends}) cells.push_back({std::string(name(border)), Style::kQuiet});
  return cells;
}

}  // namespace

Section fuse_summary_section(const Profile& profile) {
  Section section{"Summary", {{{"Summary", Align::kLeft}, {""}, {"", Align::kLeft, 20}}, {}}, {}};
  const auto add = [&](std::string label, std::string value, std::string detail) {
    section.table.rows.push_back(
        {{std::move(label)}, {std::move(value), Style::kStrong}, {std::move(detail), Style::kQuiet}});
  };
  const Partition& partition = profile.partition;
  const PartitionSummary summary = summarise_partition(profile);
  const Count saved = partition.unfused_bytes - partition.fused_bytes;
  add("Subgraphs", std::to_string(summary.subgraphs),
      "from " + plural(summary.ops, "op") + " that do work, " + std::to_string(profile.totals.ops) +
          " in all; " + strategy_text(partition.options));
  add("Largest", std::to_string(summary.largest), "ops in one subgraph");
  add("Memory", format_bytes(partition.fused_bytes),
      "against " + format_bytes(partition.unfused_bytes) + " op by op: " + format_bytes(saved) + ", " +
          format_percent(saved, partition.unfused_bytes) + " stays inside");
  add("Intensity", format_ratio(summary.intensity_after),
      "FLOPs per byte, " + format_ratio(summary.intensity_before) + " op by op");
  if (has_device(profile))
    add("Roofline", format_time(static_cast<double>(profile.roofline.fused_time) * kPicosecond),
        "on " + profile.roofline.device->id + ", " + roofline_text(profile.totals) + " op by op");
  return section;
}

Section fuse_bounds_section(const Profile& profile) {
  Section section{"Bound",
                  {{{"Bound", Align::kLeft}, {"Subgraphs"}, {"% Subgraphs"}, {"% FLOPs"}, {"% Mem"}}, {}},
                  {bottleneck_legend(profile.options.ridge)}};
  const PartitionSummary summary = summarise_partition(profile);
  Band all;
  for (const Band& band : summary.bounds) all.flops += band.flops, all.memory_bytes += band.memory_bytes;
  for (std::size_t i = 0; i < kBottlenecks; ++i) {
    const Band& band = summary.bounds[i];
    section.table.rows.push_back({{std::string(name(static_cast<Bottleneck>(i)))},
                                  {std::to_string(band.ops)},
                                  {format_percent(Count{band.ops}, Count{summary.subgraphs}, Zero::kDash)},
                                  {format_percent(band.flops, all.flops, Zero::kDash)},
                                  {format_percent(band.memory_bytes, all.memory_bytes, Zero::kDash)}});
  }
  return section;
}

Section subgraphs_section(const Profile& profile, const FuseOptions& options) {
  Section section{"Subgraphs",
                  {{{"#"},
                    {"", Align::kLeft},
                    {"Type", Align::kLeft, 16, false, 28},
                    {"Module", Align::kLeft, 12, false, 16},
                    {"Ops"},
                    {"FLOPs"},
                    {"Memory"},
                    {"Saved"},
                    {"AI"}},
                   {}},
                  {}};
  auto& columns = section.table.columns;
  if (has_device(profile)) columns.push_back({"Roofline"});
  columns.push_back({"Bound", Align::kLeft});
  for (const char* title : {"Begins", "Ends"}) columns.push_back({title, Align::kLeft, 0, true});
  const auto rows = sorted_rows(profile, options, options.sort);
  // A screenful, or all.
  const std::size_t shown = options.text.verbose || rows.size() <= 40 ? rows.size() : 40;
  for (std::size_t i = 0; i < shown; ++i) section.table.rows.push_back(row_cells(profile, rows[i]));
  if (shown < rows.size())
    section.remarks.push_back(std::to_string(rows.size() - shown) + " more rows: --verbose shows them");
  if (rows.size() < profile.partition.subgraphs.size())
    section.remarks.push_back("x2: equal subgraphs in one row, with the cost of one; --no-fold shows each");
  return section;
}

Section savings_section(const Profile& profile, const FuseOptions& options) {
  Section section{"Largest savings",
                  {{{"Largest savings", Align::kLeft, 16, false, 28},
                    {"", Align::kLeft},
                    {"Saved"},
                    {"% Saved"},
                    {"Memory"},
                    {"Op by op"},
                    {"First in", Align::kLeft, 12}},
                   {}},
                  {}};
  const Partition& partition = profile.partition;
  const Count all = partition.unfused_bytes - partition.fused_bytes;
  const auto rows = sorted_rows(profile, options, &metric_at("saved_bytes"));
  const auto top = static_cast<std::size_t>(options.text.top);
  for (std::size_t i = 0; i < rows.size() && i < top && rows[i].saved_bytes; ++i) {
    const Subgraph& s = partition.subgraphs[rows[i].ids[0]];
    section.table.rows.push_back({{std::string(s.type)},
                                  {times_text(rows[i].ids.size()), Style::kStrong},
                                  {format_bytes(rows[i].saved_bytes)},
                                  {format_percent(rows[i].saved_bytes, all)},
                                  {format_bytes(rows[i].memory_bytes)},
                                  {format_bytes(rows[i].memory_bytes + rows[i].saved_bytes)},
                                  {module_text(profile, s), Style::kQuiet}});
  }
  return section;
}

Section missed_section(const Profile& profile, const FuseOptions& options) {
  Section section{"Not fused",
                  {{{"Not fused", Align::kLeft, 14, false, 24},
                    {"with", Align::kLeft, 14, false, 24},
                    {"", Align::kLeft},
                    {"Would save"},
                    {"Because", Align::kLeft, 20, false, 40}},
                   {}},
                  {}};
  const auto rows = missed_rows(profile);
  const auto top = options.text.verbose ? rows.size() : static_cast<std::size_t>(options.text.top);
  for (std::size_t i = 0; i < rows.size() && i < top; ++i)
    section.table.rows.push_back({{std::string(rows[i].from)},
                                  {std::string(rows[i].to)},
                                  {times_text(rows[i].count), Style::kStrong},
                                  {format_bytes(rows[i].bytes)},
                                  {std::string(explanation(rows[i].why)), Style::kQuiet}});
  return section;
}

}  // namespace opscope
