// The report of a measured model: what runs took, how far the ops account for it, the module tree with times
// beside costs, and where the time goes in words. JSON and CSV are the profile's own, which carry the times.
#pragma once

#include <string>

#include "report/core/report.h"

namespace opscope {

// `profile` is of a measured graph: profile.graph->measurement is not empty.
std::string measure_report(const Profile& profile, Format format, const TextOptions& options = {});

}  // namespace opscope
