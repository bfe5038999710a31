// Subgraphs for programs: the rows of CSV, and the partition's part of a profile's JSON.
#pragma once

#include "analyse/profile/profile.h"
#include "report/core/table.h"

namespace opscope {

struct SubgraphCosts {
  SubgraphId id = 0;
  const Subgraph* subgraph = nullptr;
  Metrics metrics{}, kernel{};  // kernel: on the device, as one
};
std::vector<SubgraphCosts> subgraph_costs(const Profile& profile);
Columns<SubgraphCosts> subgraph_columns(const Profile& profile);

// "partition": how it was made, its totals, and what was missed.
void write_partition(JsonWriter& json, const Profile& profile);
// "subgraphs": one object each.
void write_subgraphs(JsonWriter& json, const Profile& profile);

}  // namespace opscope
