// Samples are flat arrays of whole nanoseconds, by op (or scope) and then by run: a model of a thousand ops
// and a hundred runs is a hundred thousand numbers, and nothing else should be written about each.
#include "graph/measurement.h"

namespace opscope {
namespace {

void words(JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.field(key, text);
}

void environment(JsonWriter& json, const Environment& environment) {
  json.key("environment");
  json.begin_object(kInline);
  words(json, "device", environment.device);
  words(json, "device_name", environment.device_name);
  words(json, "host", environment.host);
  words(json, "system", environment.system);
  words(json, "torch", environment.torch);
  words(json, "runtime", environment.runtime);
  words(json, "driver", environment.driver);
  words(json, "precision", environment.precision);
  words(json, "dtype", environment.dtype);
  if (environment.threads != 0) json.field("threads", environment.threads);
  if (environment.memory_bytes != 0) json.field("memory_bytes", environment.memory_bytes);
  if (!environment.clocks_mhz.empty()) {
    json.key("clocks_mhz");
    json.begin_array(kInline);
    for (const auto& [name, mhz] : environment.clocks_mhz) {
      json.begin_object(kInline);
      json.field("name", name);
      json.field("mhz", mhz);
      json.end_object();
    }
    json.end_array();
  }
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
    json.field("op", op.op);
    json.field("count", op.count);
    json.field("total_ns", op.total);
  });
}

}  // namespace

void write_json(JsonWriter& json, const Measurement& of) {
  json.begin_object();
  environment(json, of.environment);
  json.field("warmup", of.warmup);
  json.field("runs", of.runs);
  json.field("on_device", of.on_device);
  json.field("empty_interval_ns", of.empty_interval);
  json.field("typical", of.typical);
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
