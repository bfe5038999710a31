// What `opscope fuse` shows: the subgraphs of a profile, what fusing saves, and where it stops.
#pragma once

#include "report/core/document.h"

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

}  // namespace opscope
