// A sweep as JSON, and as CSV: every point a row, every metric a column, whatever the table shows.
#include "base/json_writer.h"
#include "base/text.h"
#include "graph/writer.h"
#include "report/core/json_parts.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

void write_value(JsonWriter& json, const Metric& metric, const SweepFigures& figures) {
  json.key(metric.key);
  const auto amount = amount_in(figures, metric);
  if (!amount) return json.null();
  is_whole(metric.unit) ? json.value(amount->count) : json.value(amount->real);
}

void write_place(JsonWriter& json, const SweepResult& result, const SweepPlace& place) {
  for (std::size_t a = 0; a < result.axes.size(); ++a) {
    json.key(result.axes[a].name);
    if (result.axes[a].numeric)
      json.value(place[a]);
    else
      json.value(result.text_of(place, a));
  }
}

void write_point(JsonWriter& json, const SweepResult& result, std::size_t i) {
  const SweepPoint& point = result.points[i];
  json.begin_object(JsonLayout::kInline);
  write_place(json, result, result.place(i));
  json.field("state", name(point.state));
  if (point.has_figures()) {
    for (const Metric* metric : metrics_given(kSweepNeeds)) write_value(json, *metric, point.figures);
    json.field("confidence", name(point.figures.totals.confidence));
  } else {
    json.field("problem", point.problem);
  }
  json.end_object();
}

void write_axes(JsonWriter& json, const SweepResult& result) {
  json.objects("axes", result.axes, [&](const SweepAxis& axis) {
    json.field("name", axis.name);
    axis.numeric ? json.list("values", axis.numbers) : json.list("values", axis.texts);
  });
}

void write_turns(JsonWriter& json, const SweepReport& report) {
  const SweepResult& result = *report.result;
  json.key("turning_points");
  json.begin_array();
  for (const Turn& turn : report.turns)
    for (const TurnLine& line : turn.lines) {
      json.begin_object(JsonLayout::kInline);
      json.field("kind", name(turn.kind));
      json.field("along", result.axes[turn.axis].name);
      for (std::size_t a = 0; a < result.axes.size(); ++a)
        if (a != turn.axis) json.field(result.axes[a].name, result.text_of(line.held, a));
      const bool crosses = line.course == TurnLine::Course::kCrosses;
      json.field("course", crosses                                   ? (line.upward ? "rises" : "falls")
                           : line.course == TurnLine::Course::kAbove ? "above"
                                                                     : "below");
      json.key("after");
      crosses ? json.value(line.before) : json.null();
      json.key("at");
      crosses ? json.value(line.after) : json.null();
      json.end_object();
    }
  json.end_array();
}

}  // namespace

std::string sweep_json(const SweepReport& report) {
  const SweepResult& result = *report.result;
  std::string out;
  JsonWriter json(out);
  begin_report(json);
  json.field("model", result.model);
  json.field("source", result.source);
  json.field("inputs", result.inputs);
  json.field("convention", name(result.options.profile.convention));
  json.field("hardware",
             result.options.profile.hardware ? result.options.profile.hardware->id : std::string());
  json.field("complete", result.count(SweepState::kNotDone) == 0);
  json.field("captures", result.captures);
  json.field("confirmed_by", result.confirmed);
  write_axes(json, result);
  json.key("points");
  json.begin_array();
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (result.points[i].state != SweepState::kNotDone) write_point(json, result, i);
  json.end_array();
  write_turns(json, report);
  json.list("remarks", turn_lines(report));
  json.list("notes", result.notes);
  json.end_object();
  return out + "\n";
}

std::string sweep_csv(const SweepReport& report) {
  const SweepResult& result = *report.result;
  std::string out;
  for (const SweepAxis& axis : result.axes) out += csv_field(axis.name) + ",";
  const auto columns = metrics_given(kSweepNeeds);
  for (const Metric* metric : columns) out.append(metric->key).append(",");
  out += "state,problem\n";
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const SweepPoint& point = result.points[i];
    if (point.state == SweepState::kNotDone) continue;
    const SweepPlace place = result.place(i);
    for (std::size_t a = 0; a < place.size(); ++a) out += csv_field(result.text_of(place, a)) + ",";
    for (const Metric* metric : columns) {
      const auto amount = point.has_figures() ? amount_in(point.figures, *metric) : std::nullopt;
      if (amount && is_whole(metric->unit))
        out += std::to_string(amount->count.value());
      else if (amount)
        append_json_double(out, amount->real);
      out += ",";
    }
    out.append(name(point.state)).append(",").append(csv_field(point.problem)).append("\n");
  }
  return out;
}

}  // namespace opscope
