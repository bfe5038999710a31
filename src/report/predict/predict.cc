#include "report/predict/predict.h"

#include <fmt/format.h>

#include "base/text.h"
#include "hardware/predict/predictor.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

std::string host_text(const Profile& profile) {
  const PredictedRun& run = profile.predicted;
  const HostCosts* host = run.predictor->host() ? &run.predictor->host()->host : nullptr;
  if (host == nullptr || !(run.host_seconds > 0)) return "not known: no calibration has it";
  std::string text = fmt::format("Python's and dispatch's, for {} of {}", plural(profile.costs.size(), "op"),
                                 plural(profile.graph->modules.size(), "module"));
  if (profile.options.host_speed != 1)
    text += fmt::format(", a host {:g}x as fast", profile.options.host_speed);
  return text;
}

// A calibration of this machine made with another torch: its kernels may be others.
std::string other_torch_note(const Profile& profile) {
  const Calibration* calibration = profile.predicted.predictor->calibration();
  const std::string& captured = profile.graph->capture.torch;
  if (calibration == nullptr || calibration->file.empty() || captured.empty()) return "";
  const std::string_view made = calibration->fact("torch");
  if (made.empty() || made == captured) return "";
  return fmt::format(
      "the calibration was made with torch {}, the model was captured with {}: kernels may be others; "
      "`opscope calibrate` makes one for this torch",
      made, captured);
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

Cell predicted_bound_cell(const Metrics& metrics) {
  if (metrics.predicted_time && metrics.predicted_wait + metrics.predicted_wait > metrics.predicted_time)
    return {"host", Style::kBad};
  return bound_cell(metrics);
}

Section prediction_section(const Profile& profile) {
  const PredictedRun& run = profile.predicted;
  const Metrics& totals = profile.totals;
  Facts section("Predicted time");
  std::string detail = predicted_range_text(profile, totals) + " (p10 to p90)";
  if (run.seconds > 0) detail += fmt::format(", {:.4g} runs a second", 1 / run.seconds);
  section.add("Time", {predicted_text(totals), Style::kStrong}, detail);
  for (const auto& [phase, metrics] : predicted_phases(profile))
    section.add("  " + std::string(phase), predicted_text(metrics),
                format_percent(metrics.predicted_time, totals.predicted_time));
  section.add("Limits", std::string(name(run.mode)), prediction_limits_text(run));
  if (run.mode == RunMode::kEager)
    section.add("  host", format_time(run.host_seconds, Zero::kDash), host_text(profile));
  if (!run.predictor->is_host())
    section.add(
        "  device", format_time(run.device_seconds, Zero::kDash),
        run.seconds > 0 ? format_percent(run.device_seconds, run.seconds) + " of the time it is busy" : "");
  section.add("  roofline", roofline_text(totals), "the least it can take: no launches, every peak reached");
  section.add("Known from", std::string(profile.roofline.device->id), prediction_sources_text(run));
  section.add("  calibration", "", calibration_text(run));
  if (run.unknown_ops > 0)
    section.remarks.push_back(
        fmt::format("{} not in it: neither work nor rate is known",
                    run.unknown_ops == 1 ? "1 op is" : fmt::format("{} ops are", run.unknown_ops)));
  if (std::string note = other_torch_note(profile); !note.empty())
    section.remarks.push_back("- " + std::move(note));
  for (std::string& note : prediction_notes(run)) section.remarks.push_back("- " + std::move(note));
  if (const Calibration* host = run.predictor->host();
      host && run.host_seconds > 0 && !host->host.source.empty())
    section.remarks.push_back("- the host is " + host->host.source + " (--host)");
  return section;
}

std::string prediction_report(std::span<const Profile> profiles, Format format, const TextOptions& options) {
  if (profiles.size() > 1) return compare_hardware(profiles, format, options);
  const Profile& profile = profiles.front();
  if (!is_for_people(format)) return to_format(profile, format, options);
  return to_format(Report{{}, {}, [&] { return make_predicted_document(profile, options); }}, format,
                   options);
}

}  // namespace opscope
