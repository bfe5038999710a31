// The sections of a profile's report, which reports of other things show as well.
#pragma once

#include <string_view>

#include "analyse/profile/profile.h"
#include "base/json_writer.h"
#include "base/statistics.h"
#include "report/core/document.h"

namespace opscope {

inline bool is_measured(const Profile& profile) { return !profile.graph->measurement.empty(); }
inline bool has_device(const Profile& profile) { return profile.roofline.device != nullptr; }

std::vector<Cell> model_cells(const Graph& graph);  // the model, where it is from, its inputs
std::vector<Cell> header_cells(const Profile& profile);
// all_breaks: a line for each graph break, also where not everything was asked for.
std::vector<std::string> note_lines(const Profile& profile, const TextOptions& options,
                                    bool all_breaks = false);
// "scores: 5x4 float32", one text an output; what is more than two tensors of one structure is told as one.
std::vector<std::string> output_texts(const Graph& graph);
// The tree of modules, or the pieces that were asked for.
Section pieces_section(const Profile& profile, const TextOptions& options);
Section tree_section(const Profile& profile, const TextOptions& options);
Section summary_section(const Profile& profile);
Section breakdown_section(const Profile& profile, const TextOptions& options);
Section bottleneck_section(const Profile& profile);
Section top_layers_section(const Profile& profile, const TextOptions& options);
Section parts_section(const Profile& profile);

// Graph breaks in a line each: "break 1 after graph 1 at model.py:42: a call of print", the graph where there
// are several; those of one place and reason together: "breaks 1, 3 at ...". With `verbose` each on its own,
// and all that PyTorch says on lines of its own.
std::vector<std::string> break_lines(const std::vector<Break>& breaks, bool in_several, bool verbose);
std::uint64_t slow_path_ops(const CaptureInfo& capture);
// "forward, from line 14 on" for what Dynamo calls "torch_dynamo_resume_in_forward_at_14".
std::string function_text(std::string_view name);

void write_profile(JsonWriter& json, const Profile& profile);
// One field of it: "totals", "layers", ...; nothing where the profile has no such part. Throws Error for a
// name that is none.
void write_profile_part(JsonWriter& json, const Profile& profile, std::string_view part);
Table profile_rows(const Profile& profile, Level level);  // CSV: of modules or layers

// The columns that rows of a profile have for programs, each under one key in JSON and CSV.

// The metrics that a row with parameters has, of its parameters and its sums.
template <class Row>
Columns<Row> parameter_columns() {
  Columns<Row> columns;
  for (const Metric& metric : metrics())
    if (metric.need == kNeedsParameters)
      columns.push_back({keyed(std::string(metric.key), number(std::string(metric.title), metric.unit)),
                         [&metric](const Row& row) {
                           return amount_cell(
                               metric.unit, metric.of({.sums = row.metrics, .parameters = &row.parameters}));
                         }});
  return columns;
}
Columns<Metrics> cost_columns();                        // work, bytes, ops and intensity
Columns<Metrics> cost_columns(std::string_view keys);   // "ops macs": these, in this order
Columns<Metrics> time_columns(const Profile& profile);  // where it was measured: its time and the rates
Columns<Statistics> statistics_columns();               // over runs
// What a module returned: the shape of a tensor, or of the first few, (2x8, 4x2x8, +3).
Cell outputs_cell(const Graph& graph, const ModuleRow& row);

// All of these that the profile has, with the confidence among them.
Columns<Metrics> metric_columns(const Profile& profile);
// For people, by name: "flops flops% macs?"; with % as the share of the model's, with ? left out where there
// is no room.
Columns<Metrics> shown_columns(const Profile& profile, std::string_view names);
// Ops or subgraphs that are limited alike, and their shares of all.
Columns<Band> band_columns(const Band& all, const std::string& what);
// What was achieved in the time measured: FLOPs, bytes, and how far from the roof where a device is named.
Columns<Metrics> rate_columns(const Profile& profile);
// The spread over runs, beside the time.
Columns<Statistics> spread_columns();
// Of what was measured: metrics with the spread over runs between `before` and `after`, then the rates.
template <class Row, class Of, class Times>
Columns<Row> timed_columns(const Profile& profile, const Of& metrics_of, const Times& times_of,
                           std::string_view before, std::string_view after) {
  Columns<Row> columns = through<Row>(metrics_of, shown_columns(profile, before));
  columns += through<Row>(times_of, spread_columns());
  columns += through<Row>(metrics_of, shown_columns(profile, after));
  return columns += through<Row>(metrics_of, rate_columns(profile));
}
// {"samples": 9, "median_seconds": ...}; null where nothing was measured.
Cell statistics_cell(const Statistics& statistics);
// "shape", "dtype" and "bytes" of a value; absent where there is none.
Columns<ValueId> value_columns(const Graph& graph);

// A tracer's graphs, with the metrics that are asked for. Parts count from 1, as --graph-part does.
Columns<PartRow> part_columns(const Graph& graph, const Columns<Metrics>& metrics);
// What a tracer tried, and where it cut the graph.
Columns<Rung> rung_columns();
Columns<Break> break_columns();

}  // namespace opscope
