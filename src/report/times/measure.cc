// The report of a measured model: the fingerprint of the machine in the header, runs and where their time
// goes before the tables, what to look at first; and `measurement` of a profile's JSON.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

#include "analyse/memory/memory.h"
#include "base/choices.h"
#include "base/text.h"
#include "report/times/times.h"

namespace opscope {
namespace {

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
  return join(clocks | std::views::transform([](const auto& of) { return of.first + " " + of.second; }));
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
  add(plural(measured.runs, "run") +
      (measured.warmup ? fmt::format(" after {} to warm up", measured.warmup) : ""));
  return cells;
}

// "peak memory 107.9MB measured, 104.2MB predicted (3.4% less); 44.6MB of the measured was there before ..."
std::string memory_text(const Profile& profile) {
  const Measurement& measured = profile.graph->measurement;
  const double real = static_cast<double>(measured.peak_memory_bytes);
  const double predicted = static_cast<double>(profile.memory().peak_memory_bytes());
  std::string text =
      fmt::format("peak memory {} measured, {} predicted", format_bytes(Count{measured.peak_memory_bytes}),
                  format_bytes(profile.memory().peak_memory_bytes()));
  const double off = real > 0 && predicted > 0 ? 100 * std::abs(predicted - real) / real : 0;
  if (off >= 0.05) text += fmt::format(" ({:.1f}% {})", off, predicted < real ? "less" : "more");
  if (measured.base_memory_bytes)
    text += fmt::format("; {} of the measured was allocated before the run",
                        format_bytes(Count{measured.base_memory_bytes}));
  return text;
}

// What the device named can do, and how much of it this is.
std::string peak_text(const Profile& profile) {
  const RooflineSummary& roof = profile.roofline;
  const Metrics& totals = profile.totals;
  std::string text = fmt::format("at its roofline {} would take {}, {} of what the ops took",
                                 roof.device->name, format_time(totals.roofline_seconds()),
                                 share_text(totals.roofline_seconds() / totals.time_seconds()));
  if (roof.peak)
    text += fmt::format("; {}FLOP/s is {} of its peak in {} ({} units)",
                        flops_rate_text(flops_per_second(totals)),
                        share_text(flops_per_second(totals) / roof.peak->rate.value), roof.peak->dtype,
                        name(roof.peak->units));
  return text;
}

constexpr double kNear = 0.7;  // of what is possible: from here on, the limit itself has to move

std::string takes(const WhereTimeGoes& where, const Finding& finding) {
  const double seconds = finding.metrics.time_seconds();
  return fmt::format("{}, {} of op time", format_time(seconds), format_percent(seconds, where.seconds));
}

double seconds_each(const Finding& finding) {
  return finding.metrics.time_seconds() / static_cast<double>(std::max<std::size_t>(finding.ops.size(), 1));
}

// "layer1.1.conv3 and 5 like it": the slowest stands for all.
std::string layers_name(const Profile& profile, const Finding& finding) {
  const OpId slowest =
      *std::ranges::max_element(finding.ops, {}, [&](OpId op) { return profile.costs[op].time; });
  return std::string(layer_name(profile, slowest)) +
         (finding.count > 1 ? fmt::format(" and {} like it", finding.count - 1) : "");
}

std::string rate_text(const Finding& finding, double flops, double bytes) {
  return finding.memory_limited ? bytes_rate_text(bytes) + "/s" : flops_rate_text(flops) + "FLOP/s";
}

// What its ops take and reach, and what is possible.
std::string layers_text(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const Metrics& m = finding.metrics;
  std::string text =
      fmt::format("{} {} {}, at {}", layers_name(profile, finding), finding.count > 1 ? "take" : "takes",
                  takes(where, finding), rate_text(finding, flops_per_second(m), bytes_per_second(m)));
  if (m.roofline_time && profile.roofline.device)
    return fmt::format("{}; at its roofline {} takes {}", text, profile.roofline.device->name,
                       format_time(m.roofline_seconds()));
  const MeasuredRates& rates = where.rates;
  const std::string& best = finding.memory_limited ? rates.bytes_name : rates.flops_name;
  if (best.empty()) return text;
  return fmt::format("{}, where {} reaches {}", text, best,
                     rate_text(finding, rates.flops_per_second, rates.bytes_per_second));
}

// Its ops' types, the slowest first.
std::string op_types(const Profile& profile, const Finding& finding) {
  std::map<std::string_view, Count> times;
  for (const OpId op : finding.ops) {
    std::string_view type = short_op_name(profile.graph->op_name(profile.graph->ops[op]));
    if (type.size() > 1 && type.ends_with('_')) type.remove_suffix(1);
    times[type] += profile.costs[op].time;
  }
  std::vector<std::pair<std::string_view, Count>> types(times.begin(), times.end());
  std::ranges::stable_sort(types, std::greater{}, [](const auto& type) { return type.second; });
  if (types.size() > 3) types.resize(3), types.push_back({"others", {}});
  return one_of(types | std::views::keys, " and ");
}

// Why such ops are slower than the best, as far as the numbers say.
std::string layers_reason(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const Metrics& m = finding.metrics;
  const double each = seconds_each(finding), call = where.call_seconds;
  if (call > 0 && each < 4 * call)
    return fmt::format("an op takes {}, {} than a call ({}): too little work in each", format_time(each),
                       each < call ? "less" : "not much more", format_time(call));
  const double left = m.time_seconds() - finding.saving_seconds;
  if (left >= kNear * m.time_seconds())
    return finding.memory_limited ? "it is near the memory bandwidth already: moving fewer bytes (fusion, a "
                                    "narrower dtype) helps more than a better kernel"
                                  : "it is near the best rate already: a narrower dtype or less work helps "
                                    "more than a better kernel";
  const double work = static_cast<double>(m.flops) / static_cast<double>(std::max<std::uint64_t>(m.ops, 1));
  const double best = where.rates.flops_each;
  if (!finding.memory_limited && best > 4 * work)
    return fmt::format("an op has {} FLOPs, the fastest one {}: a larger batch fills the machine better",
                       format_count(Count{static_cast<std::uint64_t>(work)}),
                       format_count(Count{static_cast<std::uint64_t>(best)}));
  const bool convolves = op_types(profile, finding).find("conv") != std::string::npos;
  return fmt::format(
      "at {} of what is possible{}: the kernel chosen, the layout{} or the shape could be changed",
      format_percent(left, m.time_seconds()),
      m.flops ? " with its " + format_ratio(m.arithmetic_intensity()) + " FLOPs per byte" : "",
      convolves ? " (channels_last)" : "");
}

std::vector<std::string> idle_lines(const Profile& profile, const WhereTimeGoes& where,
                                    const Finding& finding) {
  if (where.on_device)
    return {"the device waits for the host, which takes " + format_time(where.call_seconds) + " for a call",
            "CUDA graphs, torch.compile or a larger batch give the device more work per launch"};
  const double each =
      finding.saving_seconds / static_cast<double>(std::max<std::uint64_t>(profile.totals.ops, 1));
  const bool rest = finding.saving_seconds < where.idle;
  return {"no op runs for " + std::string(rest ? "another " : "") + format_time(finding.saving_seconds) +
              ": Python, module calls and dispatch, " + format_time(each) + " an op",
          "torch.compile calls fewer ops, a larger batch gives each more to do"};
}

std::vector<std::string> lines_of(const Profile& profile, const WhereTimeGoes& where,
                                  const Finding& finding) {
  switch (finding.kind) {
    case FindingKind::kLayers:
      return {layers_text(profile, where, finding), layers_reason(profile, where, finding)};
    case FindingKind::kFusion: {
      const std::string types = op_types(profile, finding);
      const bool one = types.find(' ') == std::string::npos;
      // A batch norm is folded only where it does not learn.
      const bool folds = profile.graph->phases.empty() && types.find("batch_norm") != std::string::npos;
      return {fmt::format("{} in {} x {} {} {}, and what {} would stay inside one kernel", types,
                          finding.count, finding.name, one ? "takes" : "take", takes(where, finding),
                          one ? "it reads and writes" : "they read and write"),
              std::string("torch.compile fuses them") +
                  (folds ? "; a batch norm in eval mode can be folded into the convolution before it" : "")};
    }
    case FindingKind::kSmallOps:
      return {
          fmt::format("{} ({}) take {}, {} each", plural(finding.ops.size(), "op"),
                      op_types(profile, finding), takes(where, finding), format_time(seconds_each(finding))),
          "that is the cost of calling an op; a compiled graph calls fewer ops"};
    case FindingKind::kIdle:
      return idle_lines(profile, where, finding);
    case FindingKind::kHost:
      return {outside_text(profile, where.host.lines[finding.line]),
              "Python runs there and no op does: what that line does can be moved out of the model, or done "
              "once"};
    case FindingKind::kPrecision:
      return {"matmuls take " + takes(where, finding) + ", in full float32, while TF32 units are idle",
              "torch.set_float32_matmul_precision(\"high\") uses those, with 10 bits of mantissa"};
  }
  return {};
}

// Each finding as a person would say it: what it could save, then what it is and why.
Section findings_section(const Profile& profile, const WhereTimeGoes& where) {
  Section section{"What to look at first",
                  {{words("What to look at first")}, {}},
                  {"upper bounds, as a share of a run; no op is counted twice, so the savings add up"}};
  for (const Finding& finding : where.findings)
    section.entries.push_back(
        {fmt::format("saves {}, {}", format_time(finding.saving_seconds),
                     format_percent(finding.saving_seconds, std::max(where.whole, where.seconds))),
         lines_of(profile, where, finding)});
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
  for (Section& section : host_sections(profile, where.host, options)) sections.push_back(std::move(section));
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

void environment(JsonWriter& json, const Environment& at) {
  json.fields("device", at.device, "device_name", at.device_name, "host", at.host, "system", at.system);
  json.fields("torch", at.torch, "runtime", at.runtime, "driver", at.driver, "precision", at.precision);
  json.fields("dtype", at.dtype, "threads", at.threads, "memory_bytes", at.memory_bytes);
  json.objects("clocks_mhz", at.clocks_mhz,
               [&](const auto& clock) { json.fields("name", clock.first, "mhz", clock.second); });
}

std::optional<double> known(double number) { return number == 0 ? std::nullopt : std::optional(number); }

using NamedStatistics = std::pair<std::string_view, const Statistics&>;
void write_statistics(JsonWriter& json, std::initializer_list<NamedStatistics> named) {
  for (const auto& [key, of] : named) write_field(json, key, statistics_cell(of));
}

void reconciliation(JsonWriter& json, const Measurement& measured, const RunTimes& runs) {
  write_statistics(json, {{"ops", runs.ops}, {"host_ops", runs.host_ops}});
  json.fields("whole_seconds", known(runs.whole()), "accounted", known(runs.accounted()));
  json.fields("idle_seconds", runs.idle(), "overhead", known(runs.overhead()));
  json.field("op_seconds", runs.op_seconds);
  if (runs.has_wall) {
    json.fields("outside_seconds", runs.outside_seconds, "wall_seconds", runs.wall_seconds);
    write_statistics(json, {{"outside", runs.outside}});
  }
  json.field("empty_interval_seconds", seconds(measured.empty_interval));
  json.field("unmeasured_ops", runs.unmeasured_ops);
  json.objects("unmatched", measured.unmatched, [&](const UnmatchedOp& op) {
    json.fields("op", op.op, "count", op.count, "total_seconds", seconds(op.total));
  });
}

void memory(JsonWriter& json, const Profile& profile) {
  const Measurement& measured = profile.graph->measurement;
  const auto bytes = [&](std::uint64_t number) {
    return measured.peak_memory_bytes == 0 ? std::nullopt : std::optional(number);
  };
  json.field("peak_memory_bytes", bytes(measured.peak_memory_bytes));
  json.field("base_memory_bytes", bytes(measured.base_memory_bytes));
  json.field("predicted_peak_memory_bytes", profile.memory().peak_memory_bytes());
}

void phases(JsonWriter& json, const Profile& profile, const RunTimes& runs) {
  if (runs.phases.empty()) return;
  json.objects("phases", runs.phases, [&](const PhaseTimes& phase) {
    json.fields("name", phase.name, "ops", phase.metrics.ops, "flops", phase.metrics.flops);
    json.field("memory_bytes", phase.metrics.memory_bytes());
    write_fields(json, time_columns(profile), phase.metrics);
    write_field(json, "time_statistics", statistics_cell(phase.time));
  });
}

void where(JsonWriter& json, const Profile& profile, const OpTimes& times) {
  const WhereTimeGoes where = where_time_goes(profile, times);
  json.fields("seconds", where.seconds, "call_seconds", known(where.call_seconds));
  json.field("best_flops_per_second", where.rates.flops_per_second);
  json.field("best_bytes_per_second", where.rates.bytes_per_second);
  const std::pair<std::string_view, const TimeShare&> shares[] = {{"launch_bound", where.launch_bound},
                                                                  {"memory_bound", where.memory_bound},
                                                                  {"compute_bound", where.compute_bound},
                                                                  {"calls", where.calls},
                                                                  {"far_from_both", where.far_from_both}};
  for (const auto& share : shares)
    json.inline_object(share.first,
                       [&] { json.fields("ops", share.second.ops, "seconds", share.second.seconds); });
  json.objects("findings", where.findings, [&](const Finding& finding) {
    json.fields("kind", name(finding.kind), "name", finding.name, "count", finding.count);
    json.list("ops", finding.ops);
    json.field("time_seconds", finding.metrics.time_seconds());
    json.field("saving_seconds", finding.saving_seconds);
    if (finding.kind == FindingKind::kHost) {
      const OutsideRow& line = where.host.lines[finding.line];
      json.field("module", profile.graph->path(profile.graph->modules[line.module]));
    }
    json.list("text", lines_of(profile, where, finding));
  });
}

}  // namespace

std::string measure_report(const Profile& profile, Format format, const TextOptions& options) {
  OPSCOPE_CHECK(is_measured(profile));
  if (!is_for_people(format)) return to_format(profile, format, options);
  return to_format(Report{{}, {}, [&] { return measured_document(profile, options); }}, format, options);
}

void write_measurement(JsonWriter& json, const Profile& profile, const OpTimes& times) {
  const Measurement& measured = profile.graph->measurement;
  const RunTimes runs = run_times(profile, times);
  json.object("measurement", [&] {
    json.object("environment", [&] { environment(json, measured.environment); });
    json.fields("warmup", measured.warmup, "runs", measured.runs, "on_device", measured.on_device);
    json.object("whole_runs", [&] {
      write_statistics(json, {{"plain", runs.plain},
                              {"timed", runs.timed},
                              {"plain_device", runs.plain_device},
                              {"timed_device", runs.timed_device}});
    });
    json.object("reconciliation", [&] { reconciliation(json, measured, runs); });
    phases(json, profile, runs);
    json.inline_object("memory", [&] { memory(json, profile); });
    if (const RepeatedOps repeated = repeated_ops(profile); !repeated.empty())
      write_repeated_ops(json, profile, repeated);
    json.object("where_time_goes", [&] { where(json, profile, times); });
    write_host_time(json, profile, host_time(profile));
  });
}

}  // namespace opscope
