#include <algorithm>

#include "base/text.h"
#include "report/hardware/hardware.h"
#include "report/predict/predict.h"
#include "report/profile/sections.h"
#include "report/times/times.h"

namespace opscope {
namespace {

ColumnOf<Metrics> metric_column(const Metric& metric) {
  return {keyed(std::string(metric.key), number(std::string(metric.title), metric.unit)),
          [&](const Metrics& sums) { return amount_cell(metric.unit, metric.of({.sums = sums})); }};
}

Columns<Metrics> metrics_with(Need need) {
  Columns<Metrics> columns;
  for (const Metric& metric : metrics())
    if (metric.need == need) columns.push_back(metric_column(metric));
  return columns;
}

// What people see of a metric where it is more, or less, than its amount, and what follows from several.
struct ShownColumn {
  std::string_view name, title;
  Cell (*cell)(const Profile& profile, const Metrics& metrics);
};
using P = const Profile&;
using M = const Metrics&;
constexpr ShownColumn kShown[] = {
    {"ops", "Ops", [](P, M m) { return Cell(m.ops); }},
    {"flops", "FLOPs", [](P, M m) { return flops_cell(m); }},
    {"flops_per_second", "FLOP/s", [](P, M m) { return Cell(flops_rate_text(flops_per_second(m))); }},
    {"bytes_per_second", "Bytes/s", [](P, M m) { return Cell(bytes_rate_text(bytes_per_second(m))); }},
    {"peak", "% Peak",
     [](P p, M m) { return Cell(share_text(flops_per_second(m) / p.roofline.peak->rate.value)); }},
    {"of_roof", "Of roof", [](P, M m) { return Cell(share_text(m.roofline_seconds() / m.time_seconds())); }},
    {"roofline_seconds", "Roofline", [](P, M m) { return Cell(roofline_text(m)); }},
    {"bound", "Bound", [](P, M m) { return bound_cell(m); }},
    {"predicted_seconds", "Predicted", [](P, M m) { return Cell(predicted_text(m)); }},
    {"predicted_range", "p10 to p90",
     [](P p, M m) { return Cell(predicted_range_text(p, m), Style::kQuiet); }},
    {"predicted_bound", "Bound", [](P, M m) { return predicted_bound_cell(m); }},
    {"memory_bytes%", "% Bytes",
     [](P p, M m) { return share_cell(m.memory_bytes(), p.totals.memory_bytes()); }},
    {"predicted_seconds%", "% Time",
     [](P p, M m) { return share_cell(m.predicted_time, p.totals.predicted_time); }},
    {"roofline_seconds%", "% Roof",
     [](P p, M m) { return share_cell(m.roofline_time, p.totals.roofline_time); }},
};

ColumnOf<Metrics> shown_column(const Profile& profile, std::string_view name) {
  const auto found = std::ranges::find(kShown, name, &ShownColumn::name);
  if (found != std::end(kShown)) {
    Column column = name.ends_with("bound") ? words("Bound") : number(std::string(found->title));
    return {keyed(std::string(name), column),
            [&profile, cell = found->cell](M m) { return cell(profile, m); }};
  }
  if (!name.ends_with('%')) return metric_column(metric_at(name));
  const Metric& metric = metric_at(name.substr(0, name.size() - 1));
  return {number("% " + std::string(metric.title)), [&](M m) {
            return share_cell(metric.of({.sums = m}).real, metric.of({.sums = profile.totals}).real);
          }};
}

}  // namespace

Columns<Metrics> shown_columns(const Profile& profile, std::string_view names) {
  Columns<Metrics> columns;
  for (const std::string_view name : split_by(names, ' ')) {
    const bool optional = name.ends_with('?');
    columns.push_back(shown_column(profile, name.substr(0, name.size() - optional)));
    columns.back().column.optional = optional;
  }
  return columns;
}

Columns<Statistics> spread_columns() { return {{number("±").or_not().quiet(), spread_text}}; }

Columns<Metrics> rate_columns(const Profile& profile) {
  std::string names = "flops_per_second bytes_per_second?";
  if (profile.roofline.peak) names += " peak?";
  if (profile.totals.roofline_time) names += " of_roof";
  return shown_columns(profile, names);
}

Columns<Metrics> cost_columns() { return metrics_with(kNeedsNothing); }

Columns<Metrics> cost_columns(std::string_view keys) {
  Columns<Metrics> columns;
  for (const std::string_view key : split_by(keys, ' '))
    if (key == "confidence")
      columns.push_back({"confidence", &Metrics::confidence});
    else
      columns.push_back(metric_column(metric_at(key)));
  return columns;
}

Columns<Metrics> time_columns(const Profile& profile) {
  if (!is_measured(profile)) return {};
  Columns<Metrics> columns = metrics_with(kNeedsMeasurement);
  if (const Peak* peak = profile.roofline.peak)
    columns.push_back(
        {in_json("peak_share"), [peak](const Metrics& m) { return flops_per_second(m) / peak->rate.value; }});
  return columns;
}

Columns<Statistics> statistics_columns() {
  return {{in_json("samples"), &Statistics::samples},
          {"median_seconds", &Statistics::median},
          {"mean_seconds", &Statistics::mean},
          {"standard_deviation_seconds", &Statistics::standard_deviation},
          {"p95_seconds", &Statistics::p95},
          {"minimum_seconds", &Statistics::minimum},
          {"maximum_seconds", &Statistics::maximum},
          {"outliers", &Statistics::outliers}};
}

Columns<Metrics> metric_columns(const Profile& profile) {
  Columns<Metrics> columns = cost_columns();
  columns += cost_columns("confidence");
  columns += time_columns(profile);
  columns += predicted_columns(profile);
  return has_device(profile) ? columns += roofline_columns() : columns;
}

Cell statistics_cell(const Statistics& statistics) {
  if (statistics.samples == 0) return {};
  return NestedJson([statistics](JsonWriter& json) {
    json.begin_object(kInline);
    write_fields(json, statistics_columns(), statistics);
    json.end_object();
  });
}

Columns<ValueId> value_columns(const Graph& graph) {
  const auto known = [&graph](const auto& read) {
    return [&graph, read](ValueId id) { return id == kNone ? Cell(Absent{}) : read(graph.values[id]); };
  };
  return {{"shape", [&graph](ValueId id) { return id == kNone ? Cell(Absent{}) : shape_cell(graph, id); }},
          {"dtype", known([](const Value& value) { return Cell(name(value.dtype)); })},
          {"bytes", known([&graph](const Value& value) { return Cell(bytes_of(graph, value)); })}};
}

Cell outputs_cell(const Graph& graph, const ModuleRow& row) {
  constexpr std::size_t kShown = 4;
  if (row.outputs.size() < 2) return shape_cell(graph, row.output);
  std::vector<std::string> shapes;
  for (const ValueId id : row.outputs.first(std::min(kShown, row.outputs.size())))
    shapes.push_back(format_shape(graph.shape(graph.values[id])));
  if (row.outputs.size() > kShown) shapes.push_back("+" + std::to_string(row.outputs.size() - kShown));
  return "(" + join(shapes) + ")";
}

Columns<PartRow> part_columns(const Graph& graph, const Columns<Metrics>& metrics) {
  Columns<PartRow> columns{{"part", [](const PartRow& row) { return row.part + 1; }},
                           {"name", [&](const PartRow& row) { return graph.parts[row.part].name; }},
                           {"calls", [&](const PartRow& row) { return graph.parts[row.part].calls; }},
                           {"nodes", &PartRow::nodes}};
  return columns += through<PartRow>(&PartRow::metrics, metrics);
}

Columns<Rung> rung_columns() {
  return {{"tracer", &Rung::tracer}, {"outcome", &Rung::outcome}, {"reason", &Rung::reason},
          {"hint", &Rung::hint},     {"detail", &Rung::detail},   {"seconds", &Rung::seconds}};
}

Columns<Break> break_columns() {
  return {{"reason", &Break::reason},
          {"source", &Break::source},
          {"after", [](const Break& row) { return row.after == kNone ? Cell() : Cell(row.after + 1); }},
          {"detail", &Break::detail}};
}

}  // namespace opscope
