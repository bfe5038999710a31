#include "report/predict/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>

#include "base/text.h"
#include "hardware/predict/predictor.h"

namespace opscope {
namespace {

TimeRange range_in(const Profile& profile, const Metrics& metrics) {
  return range_of(metrics.predicted_seconds(), metrics.predicted_spread(), profile.predicted.run_spread);
}

std::string range_text(const TimeRange& range) {
  return format_time(range.low) + " to " + format_time(range.high);
}

// "61% host-bound, 30% memory-bound", the most first; what is less than half a percent is left out.
template <class Part, std::size_t count>
std::string shares_text(const std::array<double, count>& parts) {
  std::array<std::size_t, count> order;
  std::ranges::copy(std::views::iota(std::size_t{0}, count), order.begin());
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return parts[i]; });
  double whole = 0;
  for (const double part : parts) whole += part;
  std::string text;
  for (const std::size_t i : order)
    if (parts[i] > 0.005 * whole)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_percent(parts[i], whole),
                          name(static_cast<Part>(i)));
  return text;
}

}  // namespace

std::string predicted_text(const Metrics& metrics) {
  const bool tiny = metrics.predicted_time && metrics.predicted_time < Count{500};
  std::string text = tiny ? "<1 ns" : format_time(metrics.predicted_seconds(), Zero::kDash);
  if (metrics.predicted_unknown == 0) return text;
  return metrics.predicted_time ? "≥" + text : "?";
}

std::string predicted_range_text(const Profile& profile, const Metrics& metrics) {
  return metrics.predicted_time ? range_text(range_in(profile, metrics)) : "-";
}

Columns<Metrics> predicted_columns(const Profile& profile, const std::string& before) {
  if (!is_predicted(profile)) return {};
  const auto known = [](const auto& read) {
    return [read](const Metrics& metrics) {
      return metrics.predicted_unknown && !metrics.predicted_time ? Cell() : Cell(read(metrics));
    };
  };
  const auto range = [&profile](const Metrics& metrics) { return range_in(profile, metrics); };
  return {
      {{.key = before + "predicted_seconds"}, known([](const Metrics& m) { return m.predicted_seconds(); })},
      {{.key = before + "predicted_p10_seconds"}, known([=](const Metrics& m) { return range(m).low; })},
      {{.key = before + "predicted_p90_seconds"}, known([=](const Metrics& m) { return range(m).high; })},
      {in_json("predicted_unknown_ops"),
       [](const Metrics& m) { return m.predicted_unknown ? Cell(m.predicted_unknown) : Cell(Absent{}); }}};
}

std::string prediction_limits_text(const PredictedRun& run) { return shares_text<RunLimit>(run.by_limit); }

std::string prediction_sources_text(const PredictedRun& run) {
  return shares_text<TimeSource>(run.by_source);
}

std::string calibration_text(const PredictedRun& run) {
  const Predictor& predictor = *run.predictor;
  const Calibration* calibration = predictor.calibration();
  if (calibration == nullptr) return "none of this device or one like it";
  std::string text = predictor.is_borrowed() ? predictor.calibrated().id : calibration->device;
  for (const std::string_view key : {"date", "torch"})
    if (const std::string_view fact = calibration->fact(key); !fact.empty())
      text += fmt::format(", {}{}", key == "torch" ? "torch " : "", fact);
  if (!calibration->is_measured) text += ", from published measurements";
  if (!calibration->file.empty()) text += ", " + std::filesystem::path(calibration->file).filename().string();
  return text;
}

void add_prediction(Facts& section, const Profile& profile) {
  const PredictedRun& run = profile.predicted;
  section.add("  limits", std::string(name(run.mode)), prediction_limits_text(run));
  section.add("  known from", "", prediction_sources_text(run));
  section.add("  calibration", "", calibration_text(run));
}

std::vector<std::pair<std::string_view, Metrics>> predicted_phases(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<std::pair<std::string_view, Metrics>> phases;
  for (const Phase& phase : graph.phases) phases.emplace_back(phase.name, Metrics{});
  if (phases.size() < 2) return {};
  for (OpId i = 0; i < graph.ops.size(); ++i) phases[phase_of(graph, i)].second += profile.costs[i];
  return phases;
}

void write_prediction(JsonWriter& json, const Profile& profile) {
  const PredictedRun& run = profile.predicted;
  const Predictor& predictor = *run.predictor;
  json.object("prediction", [&] {
    json.fields("device", predictor.device().id, "mode", name(run.mode), "host_speed",
                profile.options.host_speed);
    write_fields(json, predicted_columns(profile), profile.totals);
    json.fields("unknown_ops", run.unknown_ops, "device_seconds", run.device_seconds);
    json.field("host_seconds", run.host_seconds);
    json.inline_object("limits", [&] {
      for (std::size_t i = 0; i < kRunLimits; ++i)
        json.field(name(static_cast<RunLimit>(i)), run.by_limit[i]);
    });
    json.inline_object("sources", [&] {
      for (std::size_t i = 0; i < kTimeSources; ++i)
        json.field(name(static_cast<TimeSource>(i)), run.by_source[i]);
    });
    const Columns<std::pair<std::string_view, Metrics>> phases = [&] {
      using Row = const std::pair<std::string_view, Metrics>&;
      Columns<std::pair<std::string_view, Metrics>> columns{{"phase", [](Row row) { return row.first; }}};
      return columns += through<std::pair<std::string_view, Metrics>>(
                 [](Row row) -> const Metrics& { return row.second; }, predicted_columns(profile));
    }();
    write_rows(json, "phases", phases, predicted_phases(profile));
    if (const Calibration* calibration = predictor.calibration())
      json.inline_object("calibration", [&] {
        json.fields("device", calibration->device, "file", calibration->file, "measured",
                    calibration->is_measured);
        for (const auto& [key, value] : calibration->facts) json.field(key, value);
      });
    json.list("notes", prediction_notes(run));
  });
}

}  // namespace opscope
