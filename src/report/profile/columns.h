// The columns that rows of a profile have for programs, each under one key in JSON and CSV.
#pragma once

#include "report/profile/sections.h"
#include "report/times/times.h"

namespace opscope {

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
// All of these that the profile has, with the confidence among them.
Columns<Metrics> metric_columns(const Profile& profile);
// For people, by name: "flops flops% macs?"; with % as the share of the model's, with ? left out where there
// is no room.
Columns<Metrics> shown_columns(const Profile& profile, std::string_view names);
// Ops or subgraphs that are limited alike, and their shares of all.
Columns<Band> band_columns(const Band& all, const std::string& what);
// What was achieved in the time measured: FLOPs, bytes, and how far from the roof where a device is named.
Columns<Metrics> rate_columns(const Profile& profile);
// Of what was measured: metrics with the spread over runs between `before` and `after`, then the rates.
template <class Row, class Of, class Times>
Columns<Row> timed_columns(const Profile& profile, const Of& metrics_of, const Times& times_of,
                           std::string_view before, std::string_view after) {
  Columns<Row> columns = through<Row>(metrics_of, shown_columns(profile, before));
  columns += {{spread_column(), [=](const Row& row) { return spread_cell(std::invoke(times_of, row)); }}};
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
