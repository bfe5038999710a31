// Samples are flat arrays of whole nanoseconds, by op (or scope) and then by run: a model of a thousand ops
// and a hundred runs is a hundred thousand numbers, and nothing else should be written about each.
#include "graph/measurement.h"

namespace opscope {
namespace {

void environment(JsonWriter& json, const Environment& of) {
  json.key("environment");
  json.begin_object(kInline);
  const std::pair<const char*, const std::string&> words[] = {
      {"device", of.device}, {"device_name", of.device_name},
      {"host", of.host},     {"system", of.system},
      {"torch", of.torch},   {"runtime", of.runtime},
      {"driver", of.driver}, {"precision", of.precision},
      {"dtype", of.dtype}};
  for (const auto& [key, text] : words)
    if (!text.empty()) json.field(key, text);
  if (of.threads != 0) json.field("threads", of.threads);
  if (of.memory_bytes != 0) json.field("memory_bytes", of.memory_bytes);
  if (!of.clocks_mhz.empty())
    json.objects("clocks_mhz", of.clocks_mhz,
                 [&](const auto& clock) { json.fields("name", clock.first, "mhz", clock.second); });
  json.end_object();
}

void samples(JsonWriter& json, std::string_view key, const std::vector<Nanoseconds>& list) {
  if (list.empty()) return;
  json.key(key);
  json.begin_array(kInline);
  for (const auto sample : list) sample == kUnmeasured ? json.null() : json.value(sample);
  json.end_array();
}

void unmatched(JsonWriter& json, const std::vector<UnmatchedOp>& ops) {
  if (ops.empty()) return;
  json.objects("unmatched", ops, [&](const UnmatchedOp& op) {
    json.fields("op", op.op, "count", op.count, "total_ns", op.total);
  });
}

}  // namespace

void write_json(JsonWriter& json, const Measurement& of) {
  json.begin_object();
  environment(json, of.environment);
  json.fields("warmup", of.warmup, "runs", of.runs, "on_device", of.on_device, "empty_interval_ns",
              of.empty_interval, "typical", of.typical);
  if (of.peak_memory_bytes != 0) json.field("peak_memory_bytes", of.peak_memory_bytes);
  if (of.base_memory_bytes != 0) json.field("base_memory_bytes", of.base_memory_bytes);
  samples(json, "plain_ns", of.plain);
  samples(json, "timed_ns", of.timed);
  samples(json, "plain_device_ns", of.plain_device);
  samples(json, "timed_device_ns", of.timed_device);
  samples(json, "host_ns", of.host);
  samples(json, "device_ns", of.device);
  samples(json, "scopes_ns", of.scopes);
  samples(json, "repeated_ns", of.repeated);
  samples(json, "host_begin_ns", of.host_begin);
  samples(json, "device_begin_ns", of.device_begin);
  samples(json, "scope_begin_ns", of.scope_begin);
  unmatched(json, of.unmatched);
  json.end_object();
}

}  // namespace opscope
