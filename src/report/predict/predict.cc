#include "report/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/text.h"
#include "hardware/predict/predictor.h"
#include "report/hardware/hardware.h"

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

// Whose figures they are, and of when.
std::string calibration_text(const PredictedRun& run) {
  const Predictor& predictor = *run.predictor;
  const Calibration* calibration = predictor.calibration();
  if (calibration == nullptr) return "no calibration of this device or one like it: the roofline";
  std::string text = "calibration of " + (predictor.is_borrowed() ? predictor.calibrated().id : calibration->device);
  for (const std::string_view key : {"date", "torch"})
    if (const std::string_view fact = calibration->fact(key); !fact.empty())
      text += fmt::format(", {}{}", key == "torch" ? "torch " : "", fact);
  if (!calibration->is_measured) text += ", from published measurements";
  if (!calibration->file.empty()) text += ", " + calibration->file;
  return text;
}

// By phase of a training step: "forward", and what its ops take.
std::vector<std::pair<std::string_view, Metrics>> phases_of(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<std::pair<std::string_view, Metrics>> phases;
  for (const Phase& phase : graph.phases) phases.emplace_back(phase.name, Metrics{});
  if (phases.size() < 2) return {};
  for (OpId i = 0; i < graph.ops.size(); ++i) phases[phase_of(graph, i)].second += profile.costs[i];
  return phases;
}

std::string host_text(const Profile& profile) {
  const PredictedRun& run = profile.predicted;
  const HostCosts* host = run.predictor->calibration() ? &run.predictor->calibration()->host : nullptr;
  if (host == nullptr || !(run.host_seconds > 0)) return "not known: no calibration has it";
  std::string text = fmt::format("Python and dispatch, {} of {}", plural(profile.costs.size(), "op"),
                                 plural(profile.graph->modules.size(), "module"));
  if (profile.options.host_speed != 1) text += fmt::format(", a host {:g}x as fast", profile.options.host_speed);
  return host->source.empty() ? text : text + "; " + host->source;
}

Document make_predicted_document(const Profile& profile, TextOptions options) {
  options.predicted = true;
  Document document{header_cells(profile), note_lines(profile, options)};
  document.sections.push_back(prediction_section(profile));
  document.sections.push_back(pieces_section(profile, options));
  document.sections.push_back(breakdown_section(profile, options));
  if (options.top > 0 || options.verbose) document.sections.push_back(top_layers_section(profile, options));
  return document;
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

Cell predicted_bound_cell(const Metrics& metrics) {
  if (metrics.predicted_time && metrics.predicted_wait + metrics.predicted_wait > metrics.predicted_time)
    return {"host", Style::kBad};
  return bound_cell(metrics);
}

Columns<Metrics> predicted_columns(const Profile& profile, const std::string& before) {
  if (!is_predicted(profile)) return {};
  const auto known = [](const auto& read) {
    return [read](const Metrics& metrics) {
      return metrics.predicted_unknown && !metrics.predicted_time ? Cell() : Cell(read(metrics));
    };
  };
  const auto range = [&profile](const Metrics& metrics) { return range_in(profile, metrics); };
  return {{{.key = before + "predicted_seconds"}, known([](const Metrics& m) { return m.predicted_seconds(); })},
          {{.key = before + "predicted_p10_seconds"}, known([=](const Metrics& m) { return range(m).low; })},
          {{.key = before + "predicted_p90_seconds"}, known([=](const Metrics& m) { return range(m).high; })},
          {in_json("predicted_unknown_ops"), [](const Metrics& m) {
             return m.predicted_unknown ? Cell(m.predicted_unknown) : Cell(Absent{});
           }}};
}

std::string prediction_limits_text(const PredictedRun& run) {
  return fmt::format("{}: {}", name(run.mode), shares_text<RunLimit>(run.by_limit));
}

std::string prediction_sources_text(const PredictedRun& run) {
  const std::string shares = shares_text<TimeSource>(run.by_source);
  return (shares.empty() ? "" : shares + "; ") + calibration_text(run);
}

Section prediction_section(const Profile& profile) {
  const PredictedRun& run = profile.predicted;
  const Metrics& totals = profile.totals;
  Facts section("Predicted time");
  std::string detail = predicted_range_text(profile, totals) + " (p10 to p90)";
  if (run.seconds > 0) detail += fmt::format(", {:.4g} runs a second", 1 / run.seconds);
  section.add("Time", {predicted_text(totals), Style::kStrong}, detail);
  for (const auto& [phase, metrics] : phases_of(profile))
    section.add("  " + std::string(phase), predicted_text(metrics),
                format_percent(metrics.predicted_time, totals.predicted_time));
  section.add("Limits", std::string(name(run.mode)), shares_text<RunLimit>(run.by_limit));
  if (run.mode == RunMode::kEager) section.add("  host", format_time(run.host_seconds, Zero::kDash), host_text(profile));
  if (!run.predictor->is_host())
    section.add("  device", format_time(run.device_seconds, Zero::kDash),
                run.seconds > 0 ? format_percent(run.device_seconds, run.seconds) + " of the time it is busy" : "");
  section.add("  roofline", roofline_text(totals), "the least it can take: no launches, every peak reached");
  section.add("Known from", std::string(profile.roofline.device->id), prediction_sources_text(run));
  if (run.unknown_ops > 0)
    section.remarks.push_back(fmt::format("{} not in it: neither work nor rate is known",
                                          run.unknown_ops == 1 ? "1 op is" : fmt::format("{} ops are", run.unknown_ops)));
  for (std::string& note : prediction_notes(run)) section.remarks.push_back("- " + std::move(note));
  return section;
}

void write_prediction(JsonWriter& json, const Profile& profile) {
  const PredictedRun& run = profile.predicted;
  const Predictor& predictor = *run.predictor;
  json.object("prediction", [&] {
    json.fields("device", predictor.device().id, "mode", name(run.mode), "host_speed", profile.options.host_speed);
    write_fields(json, predicted_columns(profile), profile.totals);
    json.fields("unknown_ops", run.unknown_ops, "device_seconds", run.device_seconds);
    json.field("host_seconds", run.host_seconds);
    json.inline_object("limits", [&] {
      for (std::size_t i = 0; i < kRunLimits; ++i) json.field(name(static_cast<RunLimit>(i)), run.by_limit[i]);
    });
    json.inline_object("sources", [&] {
      for (std::size_t i = 0; i < kTimeSources; ++i) json.field(name(static_cast<TimeSource>(i)), run.by_source[i]);
    });
    const Columns<std::pair<std::string_view, Metrics>> phases = [&] {
      using Row = const std::pair<std::string_view, Metrics>&;
      Columns<std::pair<std::string_view, Metrics>> columns{{"phase", [](Row row) { return row.first; }}};
      return columns += through<std::pair<std::string_view, Metrics>>([](Row row) -> const Metrics& { return row.second; },
                                                                     predicted_columns(profile));
    }();
    write_rows(json, "phases", phases, phases_of(profile));
    if (const Calibration* calibration = predictor.calibration())
      json.inline_object("calibration", [&] {
        json.fields("device", calibration->device, "file", calibration->file, "measured", calibration->is_measured);
        for (const auto& [key, value] : calibration->facts) json.field(key, value);
      });
    json.list("notes", prediction_notes(run));
  });
}

std::string prediction_report(std::span<const Profile> profiles, Format format, const TextOptions& options) {
  if (profiles.size() > 1) return compare_hardware(profiles, format, options);
  const Profile& profile = profiles.front();
  if (!is_for_people(format)) return to_format(profile, format, options);
  return to_format(Report{{}, {}, [&] { return make_predicted_document(profile, options); }}, format, options);
}

}  // namespace opscope
