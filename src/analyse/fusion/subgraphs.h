// Subgraphs as rows that compare with layers and ops: their metrics, what bounds them, and equal ones
// together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

// Of a subgraph as one kernel: the bytes are those that it still moves. Its ops are those that do work.
Metrics metrics_of(const Profile& profile, const Subgraph& subgraph);
Bottleneck bottleneck_of(const Profile& profile, const Subgraph& subgraph);
// Its roofline on the profile's device, as one kernel: roofline_time, compute_bound_time and
// roofline_unknown.
Metrics kernel_roofline(const Profile& profile, SubgraphId subgraph);

struct PartitionSummary {
  std::uint64_t subgraphs = 0, ops = 0;     // ops that do work
  std::uint64_t largest = 0;                // ops of the largest
  std::array<Band, kBottlenecks> bounds{};  // by Bottleneck; Band::ops counts subgraphs
  double intensity_before = 0, intensity_after = 0;
};
PartitionSummary summarise_partition(const Profile& profile);

// Subgraphs that are alike: of one type, with the same costs and the same borders.
struct SubgraphRow {
  std::vector<SubgraphId> ids;                   // the first is the one shown
  Count saved_bytes{}, memory_bytes{}, flops{};  // of all of them
};
// In the order of their first; without `fold` each by itself.
std::vector<SubgraphRow> subgraph_rows(const Profile& profile, bool fold);

// Two neighbours that are apart, by their types and the reason, with all pairs that are alike.
struct MissedRow {
  std::string_view from, to;  // types
  Border why = Border::kAnchor;
  std::uint64_t count = 0;
  Count bytes{};  // of all of them
  MissedFusion first{};
};
std::vector<MissedRow> missed_rows(const Profile& profile);  // the most bytes first

}  // namespace opscope
