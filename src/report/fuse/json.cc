// Subgraphs count from 1, as nodes and parts do; ops from 0, as in the profile's `ops`.
#include "report/fuse/json.h"

#include "analyse/fusion/subgraphs.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

void write_subgraph(JsonWriter& json, const Profile& profile, SubgraphId id) {
  const Partition& partition = profile.partition;
  const Subgraph& s = partition.subgraphs[id];
  const Metrics metrics = metrics_of(profile, s);
  json.field("id", id + 1);
  json.field("type", s.type);
  json.field("category", name(s.category));
  json.field("module", profile.graph->path(profile.graph->modules[s.module]));
  json.list("ops", partition.ops_of(s));
  json.field("macs", s.work.macs);
  json.field("other_flops", s.work.other_flops);
  json.field("specials", s.work.specials);
  json.field("flops", s.flops);
  json.field("input_bytes", s.traffic.input_bytes);
  json.field("output_bytes", s.traffic.output_bytes);
  json.field("weight_bytes", s.traffic.weight_bytes);
  json.field("memory_bytes", s.memory_bytes());
  json.field("unfused_bytes", s.unfused_bytes);
  json.field("saved_bytes", s.saved_bytes());
  json.field("working_set_bytes", s.working_set_bytes);
  json.field("arithmetic_intensity", metrics.arithmetic_intensity());
  if (!profile.graph->measurement.empty()) json.field("time_seconds", metrics.time_seconds());
  if (has_device(profile)) write_roofline(json, kernel_roofline(profile, id));
  json.field("bottleneck", name(bottleneck_of(profile, s)));
  json.field("parallelism", s.parallelism);
  json.field("confidence", name(s.confidence));
  json.key("depends_on");
  json.begin_array(JsonLayout::kInline);
  for (const SubgraphId other : partition.depends_on(s)) json.value(other + 1);
  json.end_array();
  json.field("begins", name(s.begins));
  id_or_null(json, "begins_at", s.begins_at);
  json.field("ends", name(s.ends));
  id_or_null(json, "ends_at", s.ends_at);
}

}  // namespace

void write_partition(JsonWriter& json, const Profile& profile) {
  const Partition& partition = profile.partition;
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

void write_subgraphs(JsonWriter& json, const Profile& profile) {
  std::vector<SubgraphId> ids(profile.partition.subgraphs.size());
  for (SubgraphId id = 0; id < ids.size(); ++id) ids[id] = id;
  json.objects("subgraphs", ids, [&](SubgraphId id) { write_subgraph(json, profile, id); });
}

}  // namespace opscope
