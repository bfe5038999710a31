// What `opscope fuse` shows: the subgraphs of a profile, what fusing saves, and where it stops; beside
// another compiler's kernels too.
#pragma once

#include <string>

#include "analyse/fusion/comparison.h"
#include "analyse/profile/profile.h"
#include "report/core/document.h"

namespace opscope {

// A metric of subgraphs; nullptr for "order", that in which they run. Throws Error naming the choices.
const Metric* fuse_sort_from_name(std::string_view text, const std::string& where);

struct FuseOptions {
  const Metric* sort = nullptr;  // as they run
  TextOptions text{};
};

std::string fuse_report(const Profile& profile, Format format, const FuseOptions& options);

// "partition": how it was made, its totals, and what was missed.
void write_partition(JsonWriter& json, const Profile& profile);
// "subgraphs": one object each.
void write_subgraphs(JsonWriter& json, const Profile& profile);

// options.top: how many rows of each table are shown to people; options.verbose: all of them. JSON and CSV
// carry everything; CSV has a row for each sort of pair that differs.
std::string to_format(const FusionComparison& comparison, Format format, const TextOptions& options);

}  // namespace opscope
