#include "readers/capture/measurement_reader.h"

namespace opscope {
namespace {

using json::may;
using json::need;

void read_clock(json::Place& place, json::value item, Environment& environment) {
  auto& [name, mhz] = environment.clocks_mhz.emplace_back();
  json::read_fields(place, item, need("name", name), need("mhz", mhz));
}

void read_environment(json::Place& place, json::value item, Environment& to) {
  json::read_fields(place, item, may("device", to.device), may("device_name", to.device_name),
                    may("host", to.host), may("system", to.system), may("torch", to.torch),
                    may("runtime", to.runtime), may("driver", to.driver), may("precision", to.precision),
                    may("dtype", to.dtype), may("threads", to.threads), may("memory_bytes", to.memory_bytes),
                    may("clocks_mhz", [&](json::value it) {
                      json::each_item(place, "measurement.environment.clocks_mhz", it,
                                      [&](json::value clock) { read_clock(place, clock, to); });
                    }));
}

void read_unmatched(json::Place& place, json::value item, Measurement& to) {
  auto& op = to.unmatched.emplace_back();
  json::read_fields(place, item, need("op", op.op), need("count", op.count), need("total_ns", op.total));
}

}  // namespace

Measurement read_measurement(json::Place& place, json::value item) {
  Measurement to;
  const auto samples = [&](std::vector<Nanoseconds>& list) {
    return [&](json::value values) {
      json::each(place, values, [&](json::value it) {
        const bool is_null = json::take(place, it.is_null(), "nanoseconds or null");
        list.push_back(is_null ? kUnmeasured : json::natural(place, it));
      });
    };
  };
  json::read_fields(
      place, item, need("environment", [&](json::value it) { read_environment(place, it, to.environment); }),
      need("warmup", to.warmup), need("runs", to.runs), need("on_device", to.on_device),
      need("empty_interval_ns", to.empty_interval), need("typical", to.typical),
      may("peak_memory_bytes", to.peak_memory_bytes), may("base_memory_bytes", to.base_memory_bytes),
      may("plain_ns", samples(to.plain)), may("timed_ns", samples(to.timed)),
      may("plain_device_ns", samples(to.plain_device)), may("timed_device_ns", samples(to.timed_device)),
      may("host_ns", samples(to.host)), may("device_ns", samples(to.device)),
      may("scopes_ns", samples(to.scopes)), may("repeated_ns", samples(to.repeated)),
      may("host_begin_ns", samples(to.host_begin)), may("device_begin_ns", samples(to.device_begin)),
      may("scope_begin_ns", samples(to.scope_begin)), may("unmatched", [&](json::value it) {
        json::each_item(place, "measurement.unmatched", it,
                        [&](json::value op) { read_unmatched(place, op, to); });
      }));
  return to;
}

}  // namespace opscope
