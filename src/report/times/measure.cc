// The document of a measured model: the fingerprint of the machine in the header, runs and where their time
// goes before the tables.
#include "report/times/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/explore/explore.h"
#include "report/times/repeated_ops.h"
#include "report/times/times.h"
#include "report/times/where_time_goes.h"

namespace opscope {
namespace {

// "9 runs after 3 to warm up"
std::string runs_text(const Measurement& measured) {
  std::string text = plural(measured.runs, "run");
  if (measured.warmup) text += " after " + std::to_string(measured.warmup) + " to warm up";
  return text;
}

std::string device_text(const Environment& at) {
  if (at.device_name.empty()) return at.device;
  return at.device.empty() ? at.device_name : at.device_name + " (" + at.device + ")";
}

// "graphics 1980 MHz before, 1755 MHz after, memory 2619 MHz before and after"
std::string clocks_text(const Environment& at) {
  std::vector<std::pair<std::string, std::string>> clocks;  // name, and what it ran at
  for (const auto& [name, mhz] : at.clocks_mhz) {
    const auto space = name.rfind(' ');
    const std::string clock = name.substr(0, space), speed = fmt::format("{:.0f} MHz", mhz);
    const std::string when = space == std::string::npos ? "" : name.substr(space);
    const auto found = std::ranges::find(clocks, clock, &std::pair<std::string, std::string>::first);
    if (found == clocks.end())
      clocks.emplace_back(clock, speed + when);
    else
      found->second += found->second.starts_with(speed) ? " and" + when : ", " + speed + when;
  }
  std::string text;
  for (const auto& [clock, speeds] : clocks) text += (text.empty() ? "" : ", ") + clock + " " + speeds;
  return text;
}

std::vector<Cell> measured_cells(const Profile& profile) {
  const Measurement& measured = profile.graph->measurement;
  const Environment& at = measured.environment;
  std::vector<Cell> cells = model_cells(*profile.graph);
  const auto add = [&](std::string text, Style style = Style::kPlain) {
    if (!text.empty()) cells.push_back({std::move(text), style});
  };
  add(plural(profile.totals.ops, "op"));
  add(device_text(at), Style::kStrong);
  if (at.host != at.device_name) add(at.host);
  add(at.dtype.empty() || at.precision.empty() ? at.dtype : at.dtype + ", products " + at.precision);
  if (at.threads) add(plural(at.threads, "thread"));
  add(clocks_text(at));
  add(at.torch.empty() ? "" : "torch " + at.torch);
  add(at.runtime), add(at.driver.empty() ? "" : "driver " + at.driver), add(at.system);
  add(runs_text(measured));
  return cells;
}

// "peak memory 107.9MB measured, 104.2MB predicted (3.4% less); 44.6MB of the measured was there before ..."
std::string memory_text(const Profile& profile) {
  const Measurement& measured = profile.graph->measurement;
  const double real = static_cast<double>(measured.peak_memory_bytes);
  const double predicted = static_cast<double>(profile.memory().peak_memory_bytes());
  std::string text = "peak memory " + format_bytes(Count{measured.peak_memory_bytes}) + " measured, " +
                     format_bytes(profile.memory().peak_memory_bytes()) + " predicted";
  const double off = real > 0 && predicted > 0 ? 100 * std::abs(predicted - real) / real : 0;
  if (off >= 0.05) text += fmt::format(" ({:.1f}% {})", off, predicted < real ? "less" : "more");
  if (measured.base_memory_bytes)
    text += "; " + format_bytes(Count{measured.base_memory_bytes}) +
            " of the measured was allocated before the run";
  return text;
}

// What the device named can do, and how much of it this is.
std::string peak_text(const Profile& profile) {
  const RooflineSummary& roof = profile.roofline;
  const Metrics& totals = profile.totals;
  std::string text = "at its roofline " + roof.device->name + " would take " +
                     format_time(totals.roofline_seconds()) + ", " +
                     share_text(totals.roofline_seconds() / totals.time_seconds()) + " of what the ops took";
  if (roof.peak)
    text += fmt::format("; {}FLOP/s is {} of its peak in {} ({} units)",
                        flops_rate_text(flops_per_second(totals)),
                        share_text(flops_per_second(totals) / roof.peak->rate.value), roof.peak->dtype,
                        name(roof.peak->units));
  return text;
}

Section findings_section(const Profile& profile, const WhereTimeGoes& where) {
  Section section{"What to look at first", {{{"What to look at first", Align::kLeft}}, {}}, {}};
  section.remarks.push_back(
      "upper bounds, as a share of a run; no op is counted twice, so the savings add up");
  for (const Finding& finding : where.findings)
    section.entries.push_back(finding_entry(profile, where, finding));
  return section;
}

Document measured_document(const Profile& profile, const TextOptions& options) {
  const OpTimes times(profile);
  const RunTimes runs = run_times(profile, times);
  const WhereTimeGoes where = where_time_goes(profile, times);
  Document document{measured_cells(profile), note_lines(profile, options), {}};
  auto& sections = document.sections;
  sections.push_back(runs_section(profile, runs));
  if (profile.graph->measurement.peak_memory_bytes) sections.back().remarks.push_back(memory_text(profile));
  if (profile.roofline.device && profile.totals.roofline_time)
    sections.back().remarks.push_back(peak_text(profile));
  if (!runs.phases.empty()) sections.push_back(phases_section(profile, runs));
  sections.push_back(pieces_section(profile, options));
  sections.push_back(breakdown_section(profile, options));
  sections.back().remarks.clear();  // advice on counts; here times speak
  const bool lists = options.top > 0 || options.verbose;
  if (lists) sections.push_back(top_layers_section(profile, options));
  if (const RepeatedOps repeated = repeated_ops(profile); lists && !repeated.empty())
    sections.push_back(repeated_ops_section(profile, repeated, options));
  sections.push_back(where_time_goes_section(profile, where));
  if (!where.findings.empty()) sections.push_back(findings_section(profile, where));
  return document;
}

}  // namespace

std::string measure_report(const Profile& profile, Format format, const TextOptions& options) {
  OPSCOPE_CHECK(is_measured(profile));
  if (format == Format::kJson || format == Format::kCsv) return to_format(profile, format, options);
  const Document document = measured_document(profile, options);
  if (format == Format::kMarkdown) return to_markdown(document);
  return format == Format::kHtml ? to_html(document) : to_text(document, options);
}

}  // namespace opscope
