// Measured times as cells of tables: what every table of a measured profile has in the same words.
#pragma once

#include <string>
#include <vector>

#include "analyse/times/times.h"
#include "report/profile/sections.h"

namespace opscope {

// "±2.1%": the standard deviation of runs, as a share of the median, from ten times it on as a factor of it,
// "±57x"; "-" where there is one run.
std::string spread_text(const Statistics& statistics);
// "412G", "3.20GB"
std::string flops_rate_text(double per_second);
std::string bytes_rate_text(double per_second);
// "12.3%", "<0.1%", "-" for none; above 100% too: a cache may beat the memory.
std::string share_text(double share);
// "1.035x", "0.98x"
std::string ratio_text(double ratio);

// The spread over runs, beside the time.
Column spread_column();
Cell spread_cell(const Statistics& statistics);

// Sections of the measured report.
Section runs_section(const Profile& profile, const RunTimes& runs);
Section phases_section(const Profile& profile, const RunTimes& runs);

}  // namespace opscope
