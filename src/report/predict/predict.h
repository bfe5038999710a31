// The report of `opscope predict`, and what its tables have of other reports.
#pragma once

#include <span>
#include <string>

#include "report/predict/cells.h"
#include "report/profile/sections.h"

namespace opscope {

// What its predicted time goes into: "host" where most of it is the device waiting for the host, else
// "compute" or "memory".
Cell predicted_bound_cell(const Metrics& metrics);
// The run as a whole: time, where it goes, how it is known.
Section prediction_section(const Profile& profile);

// One device: the run, and the tables of a profile led by predicted time. Several: side by side.
std::string prediction_report(std::span<const Profile> profiles, Format format, const TextOptions& options);

// The run in the Trace Event Format: modules with their ops inside, and the device's lane.
std::string predicted_trace(const Profile& profile);

}  // namespace opscope
