// Groupings of subgraphs for the reports; the subgraphs themselves are the partitioner's.
#include "analyse/fusion/subgraphs.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace opscope {

Metrics metrics_of(const Profile& profile, const Subgraph& subgraph) {
  Metrics metrics{.work = subgraph.work,
                  .traffic = subgraph.traffic,
                  .flops = subgraph.flops,
                  .confidence = subgraph.confidence};
  for (const OpId op : profile.partition().ops_of(subgraph)) {
    const OpCost& cost = profile.costs[op];
    metrics.time += cost.time, metrics.roofline_time += cost.roofline_time;
    metrics.roofline_unknown += !cost.roofline_known;
    if (cost.work != Work{} || cost.traffic.total() || cost.confidence == Confidence::kUnknown) ++metrics.ops;
  }
  return metrics;
}

Bottleneck bottleneck_of(const Profile& profile, const Subgraph& subgraph) {
  return bottleneck_of(subgraph.flops, subgraph.memory_bytes(), profile.options.ridge);
}

Metrics kernel_roofline(const Profile& profile, SubgraphId subgraph) {
  const RooflineTime& time = profile.fused_roofline().subgraphs[subgraph];
  Metrics metrics;
  metrics.roofline_unknown = !time.known;
  if (!time.known) return metrics;
  metrics.roofline_time = picoseconds(time.seconds());
  if (time.compute_seconds() > time.memory_seconds) metrics.compute_bound_time = metrics.roofline_time;
  return metrics;
}

PartitionSummary summarise_partition(const Profile& profile) {
  PartitionSummary summary;
  Metrics all;
  for (const Subgraph& subgraph : profile.partition().subgraphs) {
    const Metrics metrics = metrics_of(profile, subgraph);
    all += metrics;
    summary.largest = std::max(summary.largest, metrics.ops);
    Band& band = summary.bounds[static_cast<std::size_t>(bottleneck_of(profile, subgraph))];
    ++band.ops;
    band.flops += metrics.flops;
    band.memory_bytes += metrics.memory_bytes();
  }
  summary.subgraphs = profile.partition().subgraphs.size();
  summary.ops = all.ops;
  summary.intensity_before = profile.totals.arithmetic_intensity();
  summary.intensity_after = all.arithmetic_intensity();
  return summary;
}

std::vector<SubgraphRow> subgraph_rows(const Profile& profile, bool fold) {
  std::vector<SubgraphRow> rows;
  using Key = std::tuple<std::string_view, Count, Count, Count, Count, std::uint32_t, Border, Border>;
  std::map<Key, std::size_t> row_of;
  const Partition& partition = profile.partition();
  for (SubgraphId id = 0; id < partition.subgraphs.size(); ++id) {
    const Subgraph& s = partition.subgraphs[id];
    const Key key{s.type,        s.flops,    s.memory_bytes(), s.unfused_bytes,
                  s.parallelism, s.ops.size, s.begins,         s.ends};
    std::size_t at = rows.size();
    if (fold) at = row_of.emplace(key, at).first->second;
    if (at == rows.size()) rows.emplace_back();
    SubgraphRow& row = rows[at];
    row.ids.push_back(id);
    row.saved_bytes += s.saved_bytes();
    row.memory_bytes += s.memory_bytes();
    row.flops += s.flops;
  }
  return rows;
}

std::vector<MissedRow> missed_rows(const Profile& profile) {
  std::vector<MissedRow> rows;
  std::map<std::tuple<std::string_view, std::string_view, Border>, std::size_t> row_of;
  const Partition& partition = profile.partition();
  for (const MissedFusion& missed : partition.missed) {
    const std::string_view from = partition.subgraphs[missed.from].type,
                           to = partition.subgraphs[missed.to].type;
    const auto at = row_of.emplace(std::tuple(from, to, missed.why), rows.size()).first->second;
    if (at == rows.size()) rows.push_back({from, to, missed.why, 0, {}, missed});
    ++rows[at].count;
    rows[at].bytes += missed.bytes;
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return rows;
}

}  // namespace opscope
