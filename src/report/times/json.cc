#include "report/times/json.h"

#include "report/profile/columns.h"
#include "report/times/where_time_goes.h"

namespace opscope {
namespace {

void environment(JsonWriter& json, const Environment& at) {
  json.key("environment");
  json.begin_object();
  json.field("device", at.device);
  json.field("device_name", at.device_name);
  json.field("host", at.host);
  json.field("system", at.system);
  json.field("torch", at.torch);
  json.field("runtime", at.runtime);
  json.field("driver", at.driver);
  json.field("precision", at.precision);
  json.field("dtype", at.dtype);
  json.field("threads", at.threads);
  json.field("memory_bytes", at.memory_bytes);
  json.objects("clocks_mhz", at.clocks_mhz, [&](const auto& clock) {
    json.field("name", clock.first);
    json.field("mhz", clock.second);
  });
  json.end_object();
}

void unknown_if_zero(JsonWriter& json, std::string_view key, double number) {
  json.key(key);
  number == 0 ? json.null() : json.value(number);
}

void whole_runs(JsonWriter& json, const RunTimes& runs) {
  json.key("whole_runs");
  json.begin_object();
  write_field(json, "plain", statistics_cell(runs.plain));
  write_field(json, "timed", statistics_cell(runs.timed));
  write_field(json, "plain_device", statistics_cell(runs.plain_device));
  write_field(json, "timed_device", statistics_cell(runs.timed_device));
  json.end_object();
}

void reconciliation(JsonWriter& json, const Measurement& measured, const RunTimes& runs) {
  json.key("reconciliation");
  json.begin_object();
  write_field(json, "ops", statistics_cell(runs.ops));
  write_field(json, "host_ops", statistics_cell(runs.host_ops));
  unknown_if_zero(json, "whole_seconds", runs.whole());
  unknown_if_zero(json, "accounted", runs.accounted());
  json.field("idle_seconds", runs.idle());
  unknown_if_zero(json, "overhead", runs.overhead());
  json.field("empty_interval_seconds", seconds(measured.empty_interval));
  json.field("unmeasured_ops", runs.unmeasured_ops);
  json.objects("unmatched", measured.unmatched, [&](const UnmatchedOp& op) {
    json.field("op", op.op);
    json.field("count", op.count);
    json.field("total_seconds", seconds(op.total));
  });
  json.end_object();
}

void memory(JsonWriter& json, const Profile& profile) {
  const Measurement& measured = profile.graph->measurement;
  json.key("memory");
  json.begin_object(kInline);
  const auto bytes = [&](std::string_view key, std::uint64_t number) {
    json.key(key);
    measured.peak_memory_bytes == 0 ? json.null() : json.value(number);
  };
  bytes("peak_memory_bytes", measured.peak_memory_bytes);
  bytes("base_memory_bytes", measured.base_memory_bytes);
  json.field("predicted_peak_memory_bytes", profile.memory().peak_memory_bytes());
  json.end_object();
}

void phases(JsonWriter& json, const Profile& profile, const RunTimes& runs) {
  if (runs.phases.empty()) return;
  json.objects("phases", runs.phases, [&](const PhaseTimes& phase) {
    json.field("name", phase.name);
    json.field("ops", phase.metrics.ops);
    json.field("flops", phase.metrics.flops);
    json.field("memory_bytes", phase.metrics.memory_bytes());
    write_fields(json, time_columns(profile), phase.metrics);
    write_field(json, "time_statistics", statistics_cell(phase.time));
  });
}

void time_share(JsonWriter& json, std::string_view key, const TimeShare& share) {
  json.key(key);
  json.begin_object(kInline);
  json.field("ops", share.ops);
  json.field("seconds", share.seconds);
  json.end_object();
}

void findings(JsonWriter& json, const Profile& profile, const WhereTimeGoes& where) {
  json.objects("findings", where.findings, [&](const Finding& finding) {
    json.field("kind", name(finding.kind));
    json.field("name", finding.name);
    json.field("count", finding.count);
    json.list("ops", finding.ops);
    json.field("time_seconds", finding.metrics.time_seconds());
    json.field("saving_seconds", finding.saving_seconds);
    json.list("text", finding_entry(profile, where, finding).lines);
  });
}

void where(JsonWriter& json, const Profile& profile, const OpTimes& times) {
  const WhereTimeGoes where = where_time_goes(profile, times);
  json.key("where_time_goes");
  json.begin_object();
  json.field("seconds", where.seconds);
  unknown_if_zero(json, "call_seconds", where.call_seconds);
  json.field("best_flops_per_second", where.rates.flops_per_second);
  json.field("best_bytes_per_second", where.rates.bytes_per_second);
  time_share(json, "launch_bound", where.launch_bound);
  time_share(json, "memory_bound", where.memory_bound);
  time_share(json, "compute_bound", where.compute_bound);
  time_share(json, "calls", where.calls);
  time_share(json, "far_from_both", where.far_from_both);
  findings(json, profile, where);
  json.end_object();
}

}  // namespace

void write_measurement(JsonWriter& json, const Profile& profile, const OpTimes& times) {
  const Measurement& measured = profile.graph->measurement;
  const RunTimes runs = run_times(profile, times);
  json.key("measurement");
  json.begin_object();
  environment(json, measured.environment);
  json.field("warmup", measured.warmup);
  json.field("runs", measured.runs);
  json.field("on_device", measured.on_device);
  whole_runs(json, runs);
  reconciliation(json, measured, runs);
  phases(json, profile, runs);
  memory(json, profile);
  if (const RepeatedOps repeated = repeated_ops(profile); !repeated.empty())
    write_repeated_ops(json, profile, repeated);
  where(json, profile, times);
  json.end_object();
}

}  // namespace opscope
