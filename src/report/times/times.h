// Measured models: times as cells of tables, the report with its sections, `measurement` of a profile's JSON,
// the run as a trace, and the text files of opscope.Profiler.
#pragma once

#include <string>
#include <string_view>

#include "analyse/times/profiler_graph.h"
#include "analyse/times/where_time_goes.h"
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

// A measured run in the Trace Event Format, for chrome://tracing, ui.perfetto.dev and what else reads it:
// phases, module calls with their ops inside, the device's lane with an arrow from each op to its work there,
// and the predicted memory as a counter. Throws Error where the profile's graph was not measured.
std::string chrome_trace(const Profile& profile);

// "measurement": where and how, whole runs, how far ops account for them, phases, memory, what to look at.
void write_measurement(JsonWriter& json, const Profile& profile, const OpTimes& times);

// What runs took, how far the ops account for it, the module tree with times beside costs, and where the time
// goes in words. JSON and CSV are the profile's own, which carry the times. `profile` is of a measured graph.
std::string measure_report(const Profile& profile, Format format, const TextOptions& options = {});

// The text files of opscope.Profiler, and the totals that its graphs print: aligned, nothing cut.
struct ProfilerTextOptions {
  bool include_edges = true;
  bool include_stats = true;
  std::string_view tokens{};  // name of the input that carries the tokens; "" where there is none
};

std::string profiler_text(const ProfilerGraph& graph, const ProfilerTextOptions& options);
std::string profiler_stats_text(const ProfilerGraph& graph);  // the statistics alone

// Sections of the measured report.
Section runs_section(const Profile& profile, const RunTimes& runs);
Section phases_section(const Profile& profile, const RunTimes& runs);
Section where_time_goes_section(const Profile& profile, const WhereTimeGoes& where);

// The host's own time: lines between ops, synchronisations, transfers; "slow spends 30.1 ms outside any op at
// model.py:14, between linear and relu"; and of a device's idle time, what it waited for.
std::vector<Section> host_sections(const Profile& profile, const HostTime& host, const TextOptions& options);
std::string outside_text(const Profile& profile, const OutsideRow& row);
std::string device_gaps_text(const DeviceGaps& gaps);
void write_host_time(JsonWriter& json, const Profile& profile, const HostTime& host);

// Ops measured alone, as a table of distinct ops and as JSON.
Section repeated_ops_section(const Profile& profile, const RepeatedOps& repeated, const TextOptions& options);
void write_repeated_ops(JsonWriter& json, const Profile& profile, const RepeatedOps& repeated);

}  // namespace opscope
