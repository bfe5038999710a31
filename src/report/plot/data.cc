// The plotted numbers as JSON and CSV.
#include <span>
#include <variant>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/seconds.h"
#include "report/core/document.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

using Field = std::variant<std::string_view, Count, double>;

struct Named {
  std::string_view key;
  Field value;
};

void write(JsonWriter& json, const Named& field) {
  json.key(field.key);
  std::visit([&](const auto& value) { json.value(value); }, field.value);
}

std::string csv_text(const Field& field) {
  if (const auto* text = std::get_if<std::string_view>(&field)) return csv_field(*text);
  if (const auto* count = std::get_if<Count>(&field)) return std::to_string(count->value());
  std::string number;
  append_json_double(number, std::get<double>(field));
  return number;
}

// One row a point, bar or slice; what holds for all of them stands before the rows in JSON.
class DataWriter {
 public:
  DataWriter(const Profile& profile, PlotKind kind, Format format, std::span<const Named> about)
      : format_(format), json_(out_) {
    OPSCOPE_CHECK(format == Format::kJson || format == Format::kCsv);
    if (format == Format::kCsv) return;
    json_.begin_object();
    json_.field("schema_version", kSchemaVersion);
    json_.field("plot", name(kind));
    json_.field("model", model_name(*profile.graph));
    json_.field("convention", name(profile.options.convention));
    for (const Named& field : about) write(json_, field);
  }

  void begin_rows(std::string_view key) {
    if (format_ == Format::kCsv) return;
    json_.key(key);
    json_.begin_array();
  }

  void row(std::span<const Named> fields) {
    if (format_ == Format::kJson) {
      json_.begin_object(JsonLayout::kInline);
      for (const Named& field : fields) write(json_, field);
      return json_.end_object();
    }
    if (out_.empty()) {
      for (const Named& field : fields) out_.append(field.key).append(",");
      out_.back() = '\n';
    }
    for (const Named& field : fields) out_.append(csv_text(field.value)).append(",");
    out_.back() = '\n';
  }

  std::string end() {
    if (format_ == Format::kCsv) return std::move(out_);
    json_.end_array();
    json_.end_object();
    return std::move(out_ += "\n");
  }

 private:
  Format format_;
  std::string out_;
  JsonWriter json_;
};

double share(Count part, Count whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::string roofline_data(const Profile& profile, const RooflinePlot& plot, Format format) {
  const std::vector<Named> about{{"level", name(plot.level)},
                                 {"ridge", plot.roof.ridge},
                                 {"flops", plot.flops},
                                 {"memory_bytes", plot.memory_bytes},
                                 {"compute_bound_time_share", plot.compute_bound.time_share},
                                 {"memory_bound_time_share", plot.memory_bound.time_share}};
  DataWriter data(profile, PlotKind::kRoofline, format, about);
  data.begin_rows("points");
  for (const RooflinePoint& point : plot.points) {
    const std::vector<Named> row{{"name", point.name},
                                 {"type", point.type},
                                 {"category", name(point.category)},
                                 {"count", Count{point.count}},
                                 {"flops", point.flops},
                                 {"memory_bytes", point.memory_bytes},
                                 {"arithmetic_intensity", point.intensity},
                                 {"bound", point.compute_bound ? "compute" : "memory"},
                                 {"time_share", point.time_share}};
    data.row(row);
  }
  return data.end();
}

std::string types_data(const Profile& profile, const TypesPlot& plot, Format format) {
  const std::vector<Named> about{{"metric", plot.metric->key},
                                 {"macs", plot.totals.work.macs},
                                 {"flops", plot.totals.flops},
                                 {"memory_bytes", plot.totals.memory_bytes()}};
  DataWriter data(profile, PlotKind::kTypes, format, about);
  data.begin_rows("types");
  const auto add = [&](std::string_view type, std::string_view category, const Metrics& metrics) {
    std::vector<Named> row{{"type", type},
                           {"category", category},
                           {"ops", Count{metrics.ops}},
                           {"macs", metrics.work.macs},
                           {"flops", metrics.flops},
                           {"flops_share", share(metrics.flops, plot.totals.flops)},
                           {"memory_bytes", metrics.memory_bytes()},
                           {"memory_bytes_share", share(metrics.memory_bytes(), plot.totals.memory_bytes())}};
    if (plot.totals.time) {
      row.push_back({"time_seconds", metrics.time_seconds()});
      row.push_back({"time_share", share(metrics.time, plot.totals.time)});
    }
    data.row(row);
  };
  for (const TypeRow& type : plot.rows) add(type.type, name(type.category), type.metrics);
  if (plot.others) add("others", "", plot.rest);
  return data.end();
}

std::string icicle_data(const Profile& profile, const IciclePlot& plot, Format format, PlotKind kind) {
  const auto value = [&](Count count) -> Field {  // time in seconds
    if (plot.metric->unit == Unit::kSeconds) return static_cast<double>(count) * kPicosecond;
    return count;
  };
  const std::vector<Named> about{{"metric", plot.metric->key}, {"total", value(plot.total)}};
  DataWriter data(profile, kind, format, about);
  data.begin_rows("slices");
  for (const IcicleSlice& slice : plot.slices) {
    const std::vector<Named> row{
        {"path", slice.path},          {"name", slice.name},
        {"type", slice.type},          {"category", slice.category ? name(*slice.category) : ""},
        {"depth", Count{slice.depth}}, {"blocks", Count{slice.repeat}},
        {"value", value(slice.value)}, {"begin", slice.begin},
        {"share", slice.share}};
    data.row(row);
  }
  return data.end();
}

}  // namespace opscope
