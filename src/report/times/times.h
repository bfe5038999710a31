// Measured times as cells of tables: what every table of a measured profile has in the same words.
#pragma once

#include <string>
#include <vector>

#include "analyse/times/times.h"
#include "report/core/document.h"

namespace opscope {

inline bool is_measured(const Profile& profile) { return !profile.graph->measurement.empty(); }

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

// Time, its share of all ops, and the spread over runs.
std::vector<Column> time_columns();
void add_time_cells(const Profile& profile, const Metrics& metrics, const Statistics& statistics, Style style,
                    std::vector<Cell>& cells);
// What was achieved in that time: FLOPs, bytes, and how far from the roof where a device is named.
std::vector<Column> rate_columns(const Profile& profile);
void add_rate_cells(const Profile& profile, const Metrics& metrics, Style style, std::vector<Cell>& cells);

inline void append(std::vector<Column>& columns, std::vector<Column> more) {
  for (Column& column : more) columns.push_back(std::move(column));
}

// Sections of the measured report.
Section runs_section(const Profile& profile, const RunTimes& runs);
Section phases_section(const Profile& profile, const RunTimes& runs);

}  // namespace opscope
