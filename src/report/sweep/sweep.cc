// A sweep in every format: every point a row, or a grid where two axes and one metric are asked for; JSON and
// CSV have every metric, whatever the table shows.
#include "report/sweep/sweep.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "base/error.h"
#include "base/text.h"
#include "report/predict/cells.h"

namespace opscope {
namespace {

// Of one device.
const SweepTime* time_of(const SweepPoint& point, std::size_t device) {
  return device < point.figures.times.size() ? &point.figures.times[device] : nullptr;
}

// What the table of metrics does not have of predicted times, and those of further devices; for programs.
Columns<std::size_t> time_columns(const SweepResult& result) {
  Columns<std::size_t> columns;
  for (std::size_t device = 0; device < result.devices(); ++device) {
    const std::string before = device == 0 ? "" : result.device(device).id + ".";
    const auto time = [&points = result.points, device](const auto& read) {
      return [&points, device, read](std::size_t i) {
        const SweepTime* found = time_of(points[i], device);
        return found ? Cell(read(*found)) : Cell(Absent{});
      };
    };
    if (device > 0)
      columns +=
          real_column<std::size_t>(before + "predicted_seconds",
                                   time([](const SweepTime& t) { return t.metrics.predicted_seconds(); }));
    columns += real_column<std::size_t>(before + "predicted_p10_seconds",
                                        time([](const SweepTime& t) { return t.range().low; }));
    columns += real_column<std::size_t>(before + "predicted_p90_seconds",
                                        time([](const SweepTime& t) { return t.range().high; }));
    columns.push_back({in_json(before + "predicted_unknown_ops"),
                       time([](const SweepTime& t) { return t.metrics.predicted_unknown; })});
  }
  return columns;
}

// Points by their index.
Columns<std::size_t> point_columns(const SweepResult& result) {
  const auto figures = [&points = result.points](const auto& read) {
    return [&points, read](std::size_t i) {
      return points[i].has_figures() ? Cell(read(points[i].figures)) : Cell(Absent{});
    };
  };
  Columns<std::size_t> columns;
  for (std::size_t a = 0; a < result.axes.size(); ++a)
    columns.push_back({{.key = result.axes[a].name}, [&result, a](std::size_t i) {
                         const SweepPlace place = result.place(i);
                         return result.axes[a].numeric ? Cell(place[a]) : Cell(result.text_of(place, a));
                       }});
  const auto state = [&](std::size_t i) { return name(result.points[i].state); };
  columns.push_back({in_json("state"), state});
  for (const Metric* metric : metrics_given(kSweepNeeds)) {
    const auto amount =
        figures([metric](const SweepFigures& f) { return amount_cell(metric->unit, amount_in(f, *metric)); });
    if (is_whole(metric->unit))
      columns.push_back({{.key = std::string(metric->key)}, amount});
    else
      columns += real_column<std::size_t>(std::string(metric->key), amount);
  }
  columns += time_columns(result);
  return columns +=
         {{in_json("confidence"), figures([](const SweepFigures& f) { return name(f.totals.confidence); })},
          {in_csv("state"), state},
          {"problem", [&points = result.points](std::size_t i) {
             return points[i].has_figures() ? Cell(Absent{}) : Cell(points[i].problem);
           }}};
}

std::vector<std::size_t> done_points(const SweepResult& result) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (result.points[i].state != SweepState::kNotDone) points.push_back(i);
  return points;
}

void write_turn(JsonWriter& json, const SweepResult& result, const Turn& turn, const TurnLine& line) {
  json.fields("kind", name(turn.kind), "along", result.axes[turn.axis].name);
  if (turn.kind == TurnKind::kHost || turn.kind == TurnKind::kDevice)
    json.field("device", result.device(turn.device).id);
  for (std::size_t a = 0; a < result.axes.size(); ++a)
    if (a != turn.axis) json.field(result.axes[a].name, result.text_of(line.held, a));
  const bool crosses = line.course == TurnLine::Course::kCrosses;
  json.field("course", crosses                                   ? (line.upward ? "rises" : "falls")
                       : line.course == TurnLine::Course::kAbove ? "above"
                                                                 : "below");
  json.field("after", crosses ? std::optional(line.before) : std::nullopt);
  json.field("at", crosses ? std::optional(line.after) : std::nullopt);
}

void write_sweep(JsonWriter& json, const SweepReport& report) {
  const SweepResult& result = *report.result;
  begin_report(json);
  json.fields("model", result.model, "source", result.source, "inputs", result.inputs);
  json.field("convention", name(result.options.profile.convention));
  json.field("hardware",
             result.options.profile.hardware ? result.options.profile.hardware->id : std::string());
  if (result.devices() > 0) {
    json.field("mode", name(result.options.profile.mode));
    std::vector<std::string> others;
    for (std::size_t i = 1; i < result.devices(); ++i) others.push_back(result.device(i).id);
    json.list("other_hardware", others);
    json.list("prediction_notes", result.time_notes);
  }
  json.fields("complete", result.count(SweepState::kNotDone) == 0, "captures", result.captures);
  json.field("confirmed_by", result.confirmed);
  json.objects("axes", result.axes, [&](const SweepAxis& axis) {
    json.field("name", axis.name);
    axis.numeric ? json.list("values", axis.numbers) : json.list("values", axis.texts);
  });
  write_rows(json, "points", point_columns(result), done_points(result));
  json.key("turning_points");
  json.begin_array();
  for (const Turn& turn : report.turns)
    for (const TurnLine& line : turn.lines) {
      json.begin_object(kInline);
      write_turn(json, result, turn, line);
      json.end_object();
    }
  json.end_array();
  json.list("remarks", turn_lines(report));
  json.list("notes", result.notes);
}

constexpr std::size_t kRowsShown = 200;  // of a table for people; files have them all

std::vector<std::size_t> varying(const SweepResult& result) {
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < result.axes.size(); ++a)
    if (result.axes[a].size() > 1) axes.push_back(a);
  return axes;
}

Cell value_cell(const SweepReport& report, const Metric& metric, const SweepPoint& point) {
  if (!point.has_figures()) return {"-", Style::kQuiet};
  const bool is_over =
      metric.key == "peak_memory_bytes" && report.memory && point.figures.peak_memory_bytes > *report.memory;
  const auto amount = amount_in(point.figures, metric);
  return {amount ? text(metric, *amount) : "-", is_over ? Style::kWarning : Style::kPlain};
}

// For people: of each device, the fastest in bold; of one with p10 and p90.
Columns<std::size_t> predicted_cells(const SweepResult& result) {
  Columns<std::size_t> columns;
  const bool several = result.devices() > 1;
  for (std::size_t device = 0; device < result.devices(); ++device)
    columns.push_back({number(several ? "Predicted, " + result.device(device).id : "Predicted"),
                       [&result, device](std::size_t i) {
                         const SweepTime* time = time_of(result.points[i], device);
                         if (!time) return Cell("-", Style::kQuiet);
                         const auto least = std::ranges::min_element(
                             result.points[i].figures.times, {},
                             [](const SweepTime& each) { return each.metrics.predicted_time; });
                         const bool best = result.devices() > 1 && &*least == time;
                         return Cell(predicted_text(time->metrics), best ? Style::kStrong : Style::kPlain);
                       }});
  if (several) return columns;
  columns.push_back({number("p10 to p90").quiet().or_not(), [&result](std::size_t i) {
                       const SweepTime* time = time_of(result.points[i], 0);
                       if (!time) return Cell("-", Style::kQuiet);
                       const TimeRange range = time->range();
                       return Cell(format_time(range.low) + " to " + format_time(range.high), Style::kQuiet);
                     }});
  return columns;
}

// Points by their index; of many the first and the last.
Table points_table(const SweepReport& report, const TextOptions& options) {
  const SweepResult& result = *report.result;
  Columns<std::size_t> columns;
  for (const std::size_t a : varying(result))
    columns.push_back({number(result.axes[a].name).strong(),
                       [&result, a](std::size_t i) { return result.text_of(result.place(i), a); }});
  for (const Metric* metric : report.metrics) {
    if (metric->key == "predicted_seconds" && result.devices() > 0) {
      columns += predicted_cells(result);
      continue;
    }
    columns.push_back({number(std::string(metric->title)),
                       [&, metric](std::size_t i) { return value_cell(report, *metric, result.points[i]); }});
  }
  if (result.count(SweepState::kFailed) > 0)
    columns.push_back(
        {words("", 12), [&](std::size_t i) { return Cell(result.points[i].problem, Style::kWarning); }});
  std::vector<std::size_t> rows = done_points(result);
  constexpr std::ptrdiff_t kEach = kRowsShown / 2;
  const bool cut = rows.size() > kRowsShown && !options.verbose;
  if (cut) rows.erase(rows.begin() + kEach, rows.end() - kEach);
  Table table = table_of(columns, rows);
  if (cut) {
    std::vector<Cell> gap(table.columns.size());
    gap.front() = {"...", Style::kQuiet};
    table.rows.insert(table.rows.begin() + kEach, std::move(gap));
  }
  return table;
}

// Rows of the first axis, columns of the second; the others have one value.
Table grid_table(const SweepReport& report, const SweepAxis& down, const SweepAxis& across) {
  Columns<std::size_t> columns{
      {number(down.name + " \\ " + across.name).strong(), [&](std::size_t d) { return down.texts[d]; }}};
  for (std::size_t c = 0; c < across.size(); ++c)
    columns.push_back({number(across.texts[c]), [&, c](std::size_t d) {
                         return value_cell(report, *report.metrics.front(),
                                           report.result->points[d * across.size() + c]);
                       }});
  return table_of(columns, std::views::iota(std::size_t{0}, down.size()));
}

std::string ways_text(const SweepResult& result) {
  const std::size_t fitted = result.count(SweepState::kFitted), failed = result.count(SweepState::kFailed);
  const std::size_t done = result.points.size() - result.count(SweepState::kNotDone);
  std::string text = format_exact(Count{done}) + (done == 1 ? " point" : " points");
  if (fitted > 0)
    text += ", " + format_exact(Count{fitted}) +
            " of them by exact polynomials: " + plural(result.captures, "capture") + ", " +
            std::to_string(result.confirmed) + " as checks";
  if (failed > 0) text += ", " + format_exact(Count{failed}) + " beyond what the model accepts";
  return text;
}

std::vector<std::string> problems(const SweepResult& result) {
  std::map<std::string, std::size_t> counts;
  for (const SweepPoint& point : result.points)
    if (point.state == SweepState::kFailed) ++counts[point.problem];
  std::vector<std::string> lines;
  for (const auto& [problem, count] : counts) lines.push_back(plural(count, "point") + ": " + problem);
  return lines;
}

// "NVIDIA H200 SXM 141GB, eager"; of several their ids.
std::string devices_text(const SweepResult& result) {
  if (result.devices() == 0) return "";
  std::string text = result.devices() == 1 ? result.device(0).name : result.device(0).id;
  for (std::size_t i = 1; i < result.devices(); ++i) text += " and " + result.device(i).id;
  return text + ", " + std::string(name(result.options.profile.mode));
}

Document sweep_document(const SweepReport& report, const TextOptions& options) {
  const SweepResult& result = *report.result;
  Document document{without_empty({{result.model.empty() ? "sweep" : result.model, Style::kStrong},
                                   result.source,
                                   result.inputs.empty() ? "" : "from " + result.inputs,
                                   devices_text(result),
                                   {ways_text(result), Style::kQuiet}}),
                    options.notes};
  document.notes.insert(document.notes.end(), result.notes.begin(), result.notes.end());
  for (const std::string& note : result.time_notes) document.notes.push_back("predicted: " + note);
  if (report.interrupted)
    document.notes.push_back("interrupted: " + plural(result.count(SweepState::kNotDone), "point") +
                             " not done");
  const auto axes = varying(result);
  const bool as_grid = axes.size() == 2 && report.metrics.size() == 1 && result.axes[axes[1]].size() <= 24 &&
                       result.count(SweepState::kNotDone) == 0;
  Section section{as_grid ? std::string(report.metrics.front()->title) : "Points",
                  as_grid ? grid_table(report, result.axes[axes[0]], result.axes[axes[1]])
                          : points_table(report, options)};
  if (as_grid) section.remarks = problems(result);
  if (!as_grid && !options.verbose && result.points.size() > kRowsShown)
    section.remarks.push_back("The first and the last of " + format_exact(Count{result.points.size()}) +
                              " points: --verbose shows all, --format csv and json have them");
  document.sections.push_back(std::move(section));
  document.add({"Crossovers", {{words("Crossovers")}, {}}, turn_lines(report)});
  return document;
}

}  // namespace

std::vector<const Metric*> sweep_metrics_from(const std::string& where, std::string_view text,
                                              bool has_device) {
  const auto asked = metrics_named(text, where, kSweepNeeds | kNeedsMeasurement);
  std::vector<const Metric*> metrics;
  for (const Metric* each : asked) {
    const bool is_time = each->key == "time_seconds";
    const Metric& metric =
        is_time ? metric_at("predicted_seconds") : metric_named(each->key, where, kSweepNeeds);
    if (!has_device && (metric.need & (kNeedsDevice | kNeedsPrediction)) != 0) {
      const Missing missing = why_missing(metric);
      throw Error(std::string(missing.reason), where, std::string(missing.hint));
    }
    if (std::ranges::find(metrics, &metric) == metrics.end()) metrics.push_back(&metric);
  }
  return metrics;
}

std::vector<const Metric*> usual_sweep_metrics(const SweepResult& result) {
  std::vector<const Metric*> metrics{&metric_at("macs"), &metric_at("flops"), &metric_at("memory_bytes"),
                                     &metric_at("arithmetic_intensity"), &metric_at("compute_bound_share")};
  const bool attends = std::ranges::any_of(
      result.points, [](const SweepPoint& point) { return bool(point.figures.attention_flops); });
  if (attends) metrics.push_back(&metric_at("attention_share"));
  metrics.push_back(&metric_at("peak_memory_bytes"));
  if (result.options.profile.hardware) metrics.push_back(&metric_at("predicted_seconds"));
  return metrics;
}

std::string binary_bytes(Count bytes) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30, kMiB = std::uint64_t{1} << 20;
  const std::uint64_t value = bytes.value();
  for (const auto& [unit, word] : {std::pair{kGiB, "GiB"}, std::pair{kMiB, "MiB"}})
    if (value >= unit && value % unit == 0) return format_exact(Count{value / unit}) + word;
  return format_bytes(bytes);
}

std::string to_format(const SweepReport& report, Format format, const TextOptions& options) {
  return to_format(
      Report{[&](JsonWriter& json) { write_sweep(json, report); },
             [&] { return table_of(point_columns(*report.result), done_points(*report.result), In::kCsv); },
             [&] { return sweep_document(report, options); }},
      format, options);
}

}  // namespace opscope
