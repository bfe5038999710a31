// What `opscope fuse` shows: the subgraphs of a profile, what fusing saves, and where it stops.
#pragma once

#include "analyse/profile/profile.h"
#include "report/core/document.h"
#include "report/core/table.h"

namespace opscope {

// A metric of subgraphs; nullptr for "order", that in which they run. Throws Error naming the choices.
const Metric* fuse_sort_from_name(std::string_view text, const std::string& where);

struct FuseOptions {
  const Metric* sort = nullptr;  // as they run
  TextOptions text{};
};

std::string fuse_report(const Profile& profile, Format format, const FuseOptions& options);

// The pieces, one file each.
Section fuse_summary_section(const Profile& profile);
Section fuse_bounds_section(const Profile& profile);
Section subgraphs_section(const Profile& profile, const FuseOptions& options);
Section savings_section(const Profile& profile, const FuseOptions& options);
Section missed_section(const Profile& profile, const FuseOptions& options);

// Subgraphs for programs: the rows of CSV, and the partition's part of a profile's JSON.
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
