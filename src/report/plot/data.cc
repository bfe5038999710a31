// The plotted numbers as JSON and CSV.
#include "base/seconds.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

struct Named {
  std::string_view key;
  CellValue value;
};

// One row a point, bar or slice; what holds for all of them stands before the rows in JSON.
template <class Row, class Rows>
std::string plot_data(const Profile& profile, PlotKind kind, Format format, const std::vector<Named>& about,
                      std::string_view key, const Columns<Row>& columns, const Rows& rows) {
  const auto json = [&](JsonWriter& out) {
    out.begin_object();
    out.field("schema_version", kSchemaVersion);
    out.field("plot", name(kind));
    out.field("model", model_name(*profile.graph));
    out.field("convention", name(profile.options.convention));
    for (const Named& field : about) write_field(out, field.key, field.value);
    write_rows(out, key, columns, rows);
  };
  return to_format(Report{json, [&] { return table_of(columns, rows, In::kCsv); }, {}}, format, {});
}

}  // namespace

std::string roofline_data(const Profile& profile, const RooflinePlot& plot, Format format) {
  using Row = const RooflinePoint&;
  Columns<RooflinePoint> columns{{"name", &RooflinePoint::name},
                                 {"type", &RooflinePoint::type},
                                 {"category", [](Row point) { return name(point.category); }},
                                 {"count", &RooflinePoint::count},
                                 {"flops", &RooflinePoint::flops},
                                 {"memory_bytes", &RooflinePoint::memory_bytes}};
  columns += real_column<RooflinePoint>("arithmetic_intensity", &RooflinePoint::intensity);
  columns += {{"bound", [](Row point) { return point.compute_bound ? "compute" : "memory"; }}};
  columns += real_column<RooflinePoint>("time_share", &RooflinePoint::time_share);
  return plot_data(profile, PlotKind::kRoofline, format,
                   {{"level", name(plot.level)},
                    {"ridge", plot.roof.ridge},
                    {"flops", plot.flops},
                    {"memory_bytes", plot.memory_bytes},
                    {"compute_bound_time_share", plot.compute_bound.time_share},
                    {"memory_bound_time_share", plot.memory_bound.time_share}},
                   "points", columns, plot.points);
}

std::string types_data(const Profile& profile, const TypesPlot& plot, Format format) {
  struct Row {
    std::string_view type, category;
    const Metrics& metrics;
  };
  std::vector<Row> rows;
  for (const TypeRow& row : plot.rows) rows.push_back({row.type, name(row.category), row.metrics});
  if (plot.others) rows.push_back({"others", "", plot.rest});
  const Metrics& totals = plot.totals;
  Columns<Row> columns{{"type", &Row::type},
                       {"category", &Row::category},
                       {"ops", [](const Row& row) { return row.metrics.ops; }},
                       {"macs", [](const Row& row) { return row.metrics.work.macs; }},
                       {"flops", [](const Row& row) { return row.metrics.flops; }}};
  columns += real_column<Row>("flops_share",
                              [&](const Row& row) { return share_of(row.metrics.flops, totals.flops); });
  columns += {{"memory_bytes", [](const Row& row) { return row.metrics.memory_bytes(); }}};
  columns += real_column<Row>("memory_bytes_share", [&](const Row& row) {
    return share_of(row.metrics.memory_bytes(), totals.memory_bytes());
  });
  if (totals.time) {
    columns += real_column<Row>("time_seconds", [](const Row& row) { return row.metrics.time_seconds(); });
    columns += real_column<Row>("time_share",
                                [&](const Row& row) { return share_of(row.metrics.time, totals.time); });
  }
  return plot_data(profile, PlotKind::kTypes, format,
                   {{"metric", plot.metric->key},
                    {"macs", totals.work.macs},
                    {"flops", totals.flops},
                    {"memory_bytes", totals.memory_bytes()}},
                   "types", columns, rows);
}

std::string icicle_data(const Profile& profile, const IciclePlot& plot, Format format, PlotKind kind) {
  using Row = const IcicleSlice&;
  const bool is_time = plot.metric->unit == Unit::kSeconds;  // in seconds
  const auto seconds = [](Count count) { return static_cast<double>(count) * kPicosecond; };
  Columns<IcicleSlice> columns{
      {"path", &IcicleSlice::path},
      {"name", &IcicleSlice::name},
      {"type", &IcicleSlice::type},
      {"category", [](Row slice) { return slice.category ? name(*slice.category) : ""; }},
      {"depth", &IcicleSlice::depth},
      {"blocks", &IcicleSlice::repeat}};
  if (is_time)
    columns += real_column<IcicleSlice>("value", [=](Row slice) { return seconds(slice.value); });
  else
    columns += {{"value", &IcicleSlice::value}};
  columns += real_column<IcicleSlice>("begin", &IcicleSlice::begin);
  columns += real_column<IcicleSlice>("share", &IcicleSlice::share);
  const CellValue total = is_time ? CellValue(seconds(plot.total)) : CellValue(plot.total);
  return plot_data(profile, kind, format, {{"metric", plot.metric->key}, {"total", total}}, "slices", columns,
                   plot.slices);
}

}  // namespace opscope
