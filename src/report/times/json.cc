#include "report/profile/columns.h"
#include "report/times/times.h"

namespace opscope {
namespace {

void environment(JsonWriter& json, const Environment& at) {
  json.fields("device", at.device, "device_name", at.device_name, "host", at.host, "system", at.system);
  json.fields("torch", at.torch, "runtime", at.runtime, "driver", at.driver, "precision", at.precision);
  json.fields("dtype", at.dtype, "threads", at.threads, "memory_bytes", at.memory_bytes);
  json.objects("clocks_mhz", at.clocks_mhz,
               [&](const auto& clock) { json.fields("name", clock.first, "mhz", clock.second); });
}

std::optional<double> known(double number) { return number == 0 ? std::nullopt : std::optional(number); }

void whole_runs(JsonWriter& json, const RunTimes& runs) {
  write_field(json, "plain", statistics_cell(runs.plain));
  write_field(json, "timed", statistics_cell(runs.timed));
  write_field(json, "plain_device", statistics_cell(runs.plain_device));
  write_field(json, "timed_device", statistics_cell(runs.timed_device));
}

void reconciliation(JsonWriter& json, const Measurement& measured, const RunTimes& runs) {
  write_field(json, "ops", statistics_cell(runs.ops));
  write_field(json, "host_ops", statistics_cell(runs.host_ops));
  json.fields("whole_seconds", known(runs.whole()), "accounted", known(runs.accounted()));
  json.fields("idle_seconds", runs.idle(), "overhead", known(runs.overhead()));
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
    json.list("text", finding_entry(profile, where, finding).lines);
  });
}

}  // namespace

void write_measurement(JsonWriter& json, const Profile& profile, const OpTimes& times) {
  const Measurement& measured = profile.graph->measurement;
  const RunTimes runs = run_times(profile, times);
  json.object("measurement", [&] {
    json.object("environment", [&] { environment(json, measured.environment); });
    json.fields("warmup", measured.warmup, "runs", measured.runs, "on_device", measured.on_device);
    json.object("whole_runs", [&] { whole_runs(json, runs); });
    json.object("reconciliation", [&] { reconciliation(json, measured, runs); });
    phases(json, profile, runs);
    json.inline_object("memory", [&] { memory(json, profile); });
    if (const RepeatedOps repeated = repeated_ops(profile); !repeated.empty())
      write_repeated_ops(json, profile, repeated);
    json.object("where_time_goes", [&] { where(json, profile, times); });
  });
}

}  // namespace opscope
