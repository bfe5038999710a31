// A sweep as JSON, and as CSV: every point a row, every metric a column, whatever the table shows.
#include "base/json_writer.h"
#include "base/text.h"
#include "graph/writer.h"
#include "report/core/document.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

// Points by their index.
Columns<std::size_t> point_columns(const SweepResult& result) {
  const auto figures = [&result](const auto& read) {
    return [&result, read](std::size_t i) {
      const SweepPoint& point = result.points[i];
      return point.has_figures() ? Cell(read(point.figures)) : Cell(Absent{});
    };
  };
  Columns<std::size_t> columns;
  for (std::size_t a = 0; a < result.axes.size(); ++a)
    columns.push_back({{.key = result.axes[a].name}, [&result, a](std::size_t i) {
                         const SweepPlace place = result.place(i);
                         return result.axes[a].numeric ? Cell(place[a]) : Cell(result.text_of(place, a));
                       }});
  const Columns<std::size_t> state{{"state", [&](std::size_t i) { return name(result.points[i].state); }}};
  columns += in_format_alone(In::kJson, state);
  for (const Metric* metric : metrics_given(kSweepNeeds)) {
    const std::string key(metric->key);
    const auto amount =
        figures([metric](const SweepFigures& f) { return amount_cell(metric->unit, amount_in(f, *metric)); });
    if (is_whole(metric->unit)) {
      columns.push_back({{.key = key}, amount});
      continue;
    }
    columns.push_back({{.key = key, .in = In::kJson}, amount});
    columns += in_format_alone(In::kCsv, real_column<std::size_t>(key, [&result, metric](std::size_t i) {
                                 const SweepPoint& point = result.points[i];
                                 const auto found =
                                     point.has_figures() ? amount_in(point.figures, *metric) : std::nullopt;
                                 return found ? std::optional(found->real) : std::nullopt;
                               }));
  }
  columns += {{{.key = "confidence", .in = In::kJson},
               figures([](const SweepFigures& f) { return name(f.totals.confidence); })}};
  columns += in_format_alone(In::kCsv, state);
  return columns += {{"problem", [&](std::size_t i) {
                        const SweepPoint& point = result.points[i];
                        return point.has_figures() ? Cell(Absent{}) : Cell(point.problem);
                      }}};
}

std::vector<std::size_t> done_points(const SweepResult& result) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (result.points[i].state != SweepState::kNotDone) points.push_back(i);
  return points;
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

void write_sweep(JsonWriter& json, const SweepReport& report) {
  const SweepResult& result = *report.result;
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
  write_rows(json, "points", point_columns(result), done_points(result));
  write_turns(json, report);
  json.list("remarks", turn_lines(report));
  json.list("notes", result.notes);
}

Table sweep_rows(const SweepReport& report) {
  return table_of(point_columns(*report.result), done_points(*report.result), In::kCsv);
}

}  // namespace opscope
