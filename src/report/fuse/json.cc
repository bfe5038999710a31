// Subgraphs count from 1, as nodes and parts do; ops from 0, as in the profile's `ops`.
#include "report/fuse/json.h"

#include "analyse/fusion/subgraphs.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

Cell op_cell(OpId op) { return op == kNone ? Cell() : Cell(op); }

}  // namespace

void write_partition(JsonWriter& json, const Profile& profile) {
  const Partition& partition = profile.partition();
  const PartitionSummary summary = summarise_partition(profile);
  json.key("partition");
  json.begin_object();
  json.field("strategy", name(partition.options.strategy));
  json.field("fast_memory", partition.options.fast_memory);
  json.field("subgraphs", summary.subgraphs);
  json.field("ops", summary.ops);
  json.field("unfused_bytes", partition.unfused_bytes);
  json.field("fused_bytes", partition.fused_bytes);
  json.field("saved_bytes", partition.unfused_bytes - partition.fused_bytes);
  json.field("arithmetic_intensity", summary.intensity_after);
  json.field("unfused_arithmetic_intensity", summary.intensity_before);
  json.objects("missed", partition.missed, [&](const MissedFusion& missed) {
    json.field("from", missed.from + 1);
    json.field("to", missed.to + 1);
    json.field("why", name(missed.why));
    json.field("bytes", missed.bytes);
  });
  json.end_object();
}

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
  Columns<SubgraphCosts> columns{
      {"id", [](Row row) { return row.id + 1; }},
      {"type", of(&Subgraph::type)},
      {"category", [](Row row) { return name(row.subgraph->category); }},
      {"module", [&](Row row) { return graph.path(graph.modules[row.subgraph->module]); }},
      {"ops",
       [&](Row row) {
         const auto ops = partition.ops_of(*row.subgraph);
         return Numbers(ops.begin(), ops.end());
       }},
      {"macs", [](Row row) { return row.subgraph->work.macs; }},
      {"other_flops", [](Row row) { return row.subgraph->work.other_flops; }},
      {"specials", [](Row row) { return row.subgraph->work.specials; }},
      {"flops", of(&Subgraph::flops)},
      {"input_bytes", [](Row row) { return row.subgraph->traffic.input_bytes; }},
      {"output_bytes", [](Row row) { return row.subgraph->traffic.output_bytes; }},
      {"weight_bytes", [](Row row) { return row.subgraph->traffic.weight_bytes; }},
      {"memory_bytes", of(&Subgraph::memory_bytes)},
      {"unfused_bytes", of(&Subgraph::unfused_bytes)},
      {"saved_bytes", of(&Subgraph::saved_bytes)},
      {"working_set_bytes", of(&Subgraph::working_set_bytes)},
      {"arithmetic_intensity", [](Row row) { return row.metrics.arithmetic_intensity(); }}};
  if (is_measured(profile))
    columns.push_back(
        {{.key = "time_seconds", .in = In::kJson}, [](Row row) { return row.metrics.time_seconds(); }});
  const auto rooflines = through<SubgraphCosts>(&SubgraphCosts::kernel, roofline_columns());
  if (has_device(profile)) columns += in_format_alone(In::kJson, rooflines);
  columns +=
      {{"bottleneck", [&](Row row) { return name(bottleneck_of(profile, *row.subgraph)); }},
       {"parallelism", of(&Subgraph::parallelism)},
       {"confidence", [](Row row) { return name(row.subgraph->confidence); }},
       {"depends_on",
        [&](Row row) {
          Numbers others;
          for (const SubgraphId id : partition.depends_on(*row.subgraph)) others.push_back(id + 1);
          return others;
        }},
       {"begins", [](Row row) { return name(row.subgraph->begins); }},
       {{.key = "begins_at", .in = In::kJson}, [](Row row) { return op_cell(row.subgraph->begins_at); }},
       {"ends", [](Row row) { return name(row.subgraph->ends); }},
       {{.key = "ends_at", .in = In::kJson}, [](Row row) { return op_cell(row.subgraph->ends_at); }}};
  return has_device(profile) ? columns += in_format_alone(In::kCsv, rooflines) : columns;
}

void write_subgraphs(JsonWriter& json, const Profile& profile) {
  write_rows(json, "subgraphs", subgraph_columns(profile), subgraph_costs(profile));
}

}  // namespace opscope
