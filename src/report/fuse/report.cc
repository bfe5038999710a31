// The report in each format. For people: summary, subgraphs, savings, what was missed.
#include "report/fuse/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "analyse/fusion/subgraphs.h"
#include "base/text.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

Cell op_cell(OpId op) { return op == kNone ? Cell() : Cell(op); }

struct SubgraphCosts {
  SubgraphId id = 0;
  const Subgraph* subgraph = nullptr;
  Metrics metrics{}, kernel{};  // kernel: on the device, as one
};
std::vector<SubgraphCosts> subgraph_costs(const Profile& profile) {
  std::vector<SubgraphCosts> rows;
  for (SubgraphId id = 0; id < profile.partition().subgraphs.size(); ++id) {
    const Subgraph& subgraph = profile.partition().subgraphs[id];
    rows.push_back({id, &subgraph, metrics_of(profile, subgraph), {}});
    if (has_device(profile)) rows.back().kernel = kernel_roofline(profile, id);
  }
  return rows;
}

Columns<SubgraphCosts> subgraph_columns(const Profile& profile) {
  using Row = const SubgraphCosts&;
  const Graph& graph = *profile.graph;
  const Partition& partition = profile.partition();
  const auto of = [](auto member) { return [=](Row row) { return std::invoke(member, *row.subgraph); }; };
  const auto metrics = [](std::string_view keys) {
    return through<SubgraphCosts>(&SubgraphCosts::metrics, cost_columns(keys));
  };
  Columns<SubgraphCosts> columns{
      {"id", [](Row row) { return row.id + 1; }},
      {"type", of(&Subgraph::type)},
      {"category", [](Row row) { return name(row.subgraph->category); }},
      {"module", [&](Row row) { return graph.path(graph.modules[row.subgraph->module]); }},
      {"ops", [&](Row row) {
         const auto ops = partition.ops_of(*row.subgraph);
         return Numbers(ops.begin(), ops.end());
       }}};
  columns += metrics("macs other_flops specials flops input_bytes output_bytes weight_bytes memory_bytes");
  columns += {{"unfused_bytes", of(&Subgraph::unfused_bytes)},
              {"saved_bytes", of(&Subgraph::saved_bytes)},
              {"working_set_bytes", of(&Subgraph::working_set_bytes)}};
  columns += metrics("arithmetic_intensity");
  if (is_measured(profile)) columns += in_format_alone(In::kJson, metrics("time_seconds"));
  const auto rooflines = through<SubgraphCosts>(&SubgraphCosts::kernel, roofline_columns());
  if (has_device(profile)) columns += in_format_alone(In::kJson, rooflines);
  columns += {{"bottleneck", [&](Row row) { return name(bottleneck_of(profile, *row.subgraph)); }},
              {"parallelism", of(&Subgraph::parallelism)},
              {"confidence", [](Row row) { return name(row.subgraph->confidence); }},
              {"depends_on", [&](Row row) { return counted_from_1(partition.depends_on(*row.subgraph)); }},
              {"begins", [](Row row) { return name(row.subgraph->begins); }},
              {in_json("begins_at"), [](Row row) { return op_cell(row.subgraph->begins_at); }},
              {"ends", [](Row row) { return name(row.subgraph->ends); }},
              {in_json("ends_at"), [](Row row) { return op_cell(row.subgraph->ends_at); }}};
  return has_device(profile) ? columns += in_format_alone(In::kCsv, rooflines) : columns;
}

std::string strategy_text(const PartitionOptions& options) {
  if (options.strategy == Strategy::kEachOp) return "one op per subgraph";
  if (options.strategy == Strategy::kLayer) return "one leaf module per subgraph";
  return options.fast_memory ? "one kernel each, " + format_bytes(options.fast_memory) + " of fast memory"
                             : "one kernel each";
}

std::string module_text(const Profile& profile, const Subgraph& subgraph) {
  const auto path = profile.graph->path(profile.graph->modules[subgraph.module]);
  return path.empty() ? "(model)" : std::string(path);
}

// Of all that a row stands for; a ratio is that of each.
double measure(const Profile& profile, const SubgraphRow& row, const Metric& metric) {
  const Subgraph& subgraph = profile.partition().subgraphs[row.ids[0]];
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

std::string times_text(std::size_t count) { return count > 1 ? "x" + std::to_string(count) : ""; }

// Of rows that stand for several: the costs of one, as with folded modules.
Columns<SubgraphRow> row_columns(const Profile& profile) {
  using Row = const SubgraphRow&;
  const auto of = [&profile](const auto& read) {
    return [&profile, read](Row row) {
      return Cell(std::invoke(read, profile.partition().subgraphs[row.ids[0]]));
    };
  };
  using S = const Subgraph&;
  Columns<SubgraphRow> columns{
      {number("#"), [](Row row) { return fmt::format("#{}", row.ids[0] + 1); }},
      {words("").strong(), [](Row row) { return times_text(row.ids.size()); }},
      {words("Type", 16, 28), of(&Subgraph::type)},
      {words("Module", 12, 16).quiet(), of([&](S s) { return module_text(profile, s); })},
      {number("Ops"), of([&](S s) { return metrics_of(profile, s).ops; })},
      {number("FLOPs"), of([&](S s) { return flops_cell(metrics_of(profile, s)); })},
      {number("Bytes", Unit::kBytes), of(&Subgraph::memory_bytes)},
      {number("Saved", Unit::kBytes), of(&Subgraph::saved_bytes)},
      {number("AI", Unit::kRatio), of([&](S s) { return metrics_of(profile, s).arithmetic_intensity(); })}};
  if (has_device(profile))
    columns +=
        {{number("Roofline"), [&](Row row) { return roofline_text(kernel_roofline(profile, row.ids[0])); }}};
  return columns +=
         {{words("Bound"), of([&](S s) {
             const Bottleneck bound = bottleneck_of(profile, s);
             return Cell(word(bound), bound == Bottleneck::kMemoryBound ? Style::kWarning : Style::kPlain);
           })},
          {words("Begins").or_not().quiet(), of(&Subgraph::begins)},
          {words("Ends").or_not().quiet(), of(&Subgraph::ends)}};
}

Section fuse_summary_section(const Profile& profile) {
  Facts facts("Summary");
  const Partition& partition = profile.partition();
  const PartitionSummary summary = summarise_partition(profile);
  const Count saved = partition.unfused_bytes - partition.fused_bytes;
  facts.add("Subgraphs", summary.subgraphs,
            fmt::format("from {} that do work, {} in all; {}", plural(summary.ops, "op"), profile.totals.ops,
                        strategy_text(partition.options)));
  facts.add("Largest", summary.largest, "ops in one subgraph");
  facts.add("Bytes moved", format_bytes(partition.fused_bytes),
            fmt::format("against {} op by op: {}, {} stays inside", format_bytes(partition.unfused_bytes),
                        format_bytes(saved), format_percent(saved, partition.unfused_bytes)));
  facts.add("Intensity", format_ratio(summary.intensity_after),
            "FLOPs per byte, " + format_ratio(summary.intensity_before) + " op by op");
  if (has_device(profile))
    facts.add("Roofline", format_time(static_cast<double>(profile.fused_roofline().time) * kPicosecond),
              "on " + profile.roofline.device->id + ", " + roofline_text(profile.totals) + " op by op");
  return facts;
}

Section fuse_bounds_section(const Profile& profile) {
  const PartitionSummary summary = summarise_partition(profile);
  Band all;
  for (const Band& band : summary.bounds) all.flops += band.flops, all.memory_bytes += band.memory_bytes;
  using Row = const Band&;
  const Columns<Band> columns{
      {words("Bound"),
       [&](Row band) { return name(static_cast<Bottleneck>(&band - summary.bounds.data())); }},
      {number("Subgraphs"), &Band::ops},
      {number("% Subgraphs"),
       [&](Row band) { return share_cell(Count{band.ops}, Count{summary.subgraphs}); }},
      {number("% FLOPs"), [&](Row band) { return share_cell(band.flops, all.flops); }},
      {number("% Bytes"), [&](Row band) { return share_cell(band.memory_bytes, all.memory_bytes); }}};
  return {"Bound", table_of(columns, summary.bounds), {bottleneck_legend(profile.options.ridge)}};
}

Section subgraphs_section(const Profile& profile, const FuseOptions& options) {
  const auto rows = sorted_rows(profile, options, options.sort);
  const auto shown = std::span(rows).first(
      options.text.verbose ? rows.size() : std::min<std::size_t>(rows.size(), 40));  // a screenful
  Section section{"Subgraphs", table_of(row_columns(profile), shown)};
  if (shown.size() < rows.size())
    section.remarks.push_back(fmt::format("{} more rows: --verbose shows them", rows.size() - shown.size()));
  if (rows.size() < profile.partition().subgraphs.size())
    section.remarks.push_back("x2: equal subgraphs in one row, with the cost of one; --no-fold shows each");
  return section;
}

Section savings_section(const Profile& profile, const FuseOptions& options) {
  using Row = const SubgraphRow&;
  const Partition& partition = profile.partition();
  const Count all = partition.unfused_bytes - partition.fused_bytes;
  const auto first = [&](Row row) -> const Subgraph& { return partition.subgraphs[row.ids[0]]; };
  const Columns<SubgraphRow> columns{
      {words("Largest savings", 16, 28), [=](Row row) { return first(row).type; }},
      {words("").strong(), [](Row row) { return times_text(row.ids.size()); }},
      {number("Saved", Unit::kBytes), &SubgraphRow::saved_bytes},
      {number("% Saved"), [=](Row row) { return share_cell(row.saved_bytes, all); }},
      {number("Bytes"), [](Row row) { return format_bytes(row.memory_bytes); }},
      {number("Op by op"), [](Row row) { return format_bytes(row.memory_bytes + row.saved_bytes); }},
      {words("First in", 12).quiet(), [&, first](Row row) { return module_text(profile, first(row)); }}};
  auto rows = sorted_rows(profile, options, &metric_at("saved_bytes"));
  std::erase_if(rows, [](Row row) { return !row.saved_bytes; });
  return {"Largest savings", table_of(columns, rows | std::views::take(std::max(options.text.top, 0)))};
}

Section missed_section(const Profile& profile, const FuseOptions& options) {
  using Row = const MissedRow&;
  const Columns<MissedRow> columns{
      {words("Not fused", 14, 24), &MissedRow::from},
      {words("with", 14, 24), &MissedRow::to},
      {words("").strong(), [](Row row) { return times_text(row.count); }},
      {number("Would save"), [](Row row) { return format_bytes(row.bytes); }},
      {words("Because", 20, 40).quiet(), [](Row row) { return explanation(row.why); }}};
  const auto rows = missed_rows(profile);
  return {"Not fused", table_of(columns, std::span(rows).first(shown_of(rows.size(), options.text)))};
}

Document fuse_document(const Profile& profile, const FuseOptions& options) {
  Document document{header_cells(profile), note_lines(profile, options.text), {}};
  document.sections = {fuse_summary_section(profile), fuse_bounds_section(profile),
                       subgraphs_section(profile, options)};
  if (profile.partition().unfused_bytes > profile.partition().fused_bytes)
    document.sections.push_back(savings_section(profile, options));
  if (!profile.partition().missed.empty() && profile.partition().options.strategy == Strategy::kFused)
    document.sections.push_back(missed_section(profile, options));
  return document;
}

}  // namespace

const Metric* fuse_sort_from_name(std::string_view text, const std::string& where) {
  if (text == "order") return nullptr;
  if (find_metric(text)) return &metric_named(text, where, kSubgraphNeeds);
  throw Error("no metric called '" + std::string(text) + "'", where,
              "choose order, " + metric_choices(kSubgraphNeeds));
}

void write_partition(JsonWriter& json, const Profile& profile) {
  const Partition& partition = profile.partition();
  const PartitionSummary summary = summarise_partition(profile);
  json.object("partition", [&] {
    json.fields("strategy", name(partition.options.strategy), "fast_memory", partition.options.fast_memory);
    json.fields("subgraphs", summary.subgraphs, "ops", summary.ops, "unfused_bytes", partition.unfused_bytes);
    json.field("fused_bytes", partition.fused_bytes);
    json.field("saved_bytes", partition.unfused_bytes - partition.fused_bytes);
    json.field("arithmetic_intensity", summary.intensity_after);
    json.field("unfused_arithmetic_intensity", summary.intensity_before);
    json.objects("missed", partition.missed, [&](const MissedFusion& missed) {
      json.fields("from", missed.from + 1, "to", missed.to + 1, "why", name(missed.why));
      json.field("bytes", missed.bytes);
    });
  });
}

void write_subgraphs(JsonWriter& json, const Profile& profile) {
  write_rows(json, "subgraphs", subgraph_columns(profile), subgraph_costs(profile));
}

std::string fuse_report(const Profile& profile, Format format, const FuseOptions& options) {
  const auto json = [&](JsonWriter& out) {
    begin_report(out, *profile.graph);
    out.fields("convention", name(profile.options.convention), "ridge", profile.options.ridge);
    write_partition(out, profile);
    write_subgraphs(out, profile);
  };
  return to_format(
      Report{json, [&] { return table_of(subgraph_columns(profile), subgraph_costs(profile), In::kCsv); },
             [&] { return fuse_document(profile, options); }},
      format, options.text);
}

}  // namespace opscope
