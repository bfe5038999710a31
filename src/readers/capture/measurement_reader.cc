#include "readers/capture/measurement_reader.h"

namespace opscope {
namespace {

using json::kAll;
using json::Keys;

constexpr Keys<20> kMeasurement{{"environment",
                                 "warmup",
                                 "runs",
                                 "on_device",
                                 "empty_interval_ns",
                                 "typical",
                                 "peak_memory_bytes",
                                 "base_memory_bytes",
                                 "plain_ns",
                                 "timed_ns",
                                 "plain_device_ns",
                                 "timed_device_ns",
                                 "host_ns",
                                 "device_ns",
                                 "scopes_ns",
                                 "repeated_ns",
                                 "host_begin_ns",
                                 "device_begin_ns",
                                 "scope_begin_ns",
                                 "unmatched"},
                                0b111111};
constexpr std::size_t kFirstList = 8, kUnmatchedKey = 19;
constexpr Keys<12> kEnvironment{{"device", "device_name", "host", "system", "torch", "runtime", "driver",
                                 "precision", "dtype", "threads", "memory_bytes", "clocks_mhz"},
                                0};
constexpr Keys<2> kClock{{"name", "mhz"}, kAll};
constexpr Keys<3> kUnmatched{{"op", "count", "total_ns"}, kAll};

void read_clock(json::Place& place, json::value item, Environment& environment) {
  auto& [name, mhz] = environment.clocks_mhz.emplace_back();
  json::each_field(place, item, kClock, [&](std::size_t key, json::value it) {
    if (key == 0)
      name = json::text(place, it);
    else
      mhz = json::real(place, it);
  });
}

void read_environment(json::Place& place, json::value item, Environment& to) {
  std::string* const words[] = {&to.device,  &to.device_name, &to.host,      &to.system, &to.torch,
                                &to.runtime, &to.driver,      &to.precision, &to.dtype};
  json::each_field(place, item, kEnvironment, [&](std::size_t key, json::value it) {
    if (key < std::size(words))
      *words[key] = json::text(place, it);
    else if (key == 9)
      to.threads = json::id(place, it);
    else if (key == 10)
      to.memory_bytes = json::natural(place, it);
    else
      json::each_item(place, "measurement.environment.clocks_mhz", it,
                      [&](json::value clock) { read_clock(place, clock, to); });
  });
}

void read_samples(json::Place& place, json::value item, std::vector<Nanoseconds>& to) {
  json::each(place, item, [&](json::value it) {
    const bool is_null = json::take(place, it.is_null(), "nanoseconds or null");
    to.push_back(is_null ? kUnmeasured : json::natural(place, it));
  });
}

void read_unmatched(json::Place& place, json::value item, Measurement& to) {
  auto& op = to.unmatched.emplace_back();
  json::each_field(place, item, kUnmatched, [&](std::size_t key, json::value it) {
    if (key == 0)
      op.op = json::text(place, it);
    else
      (key == 1 ? op.count : op.total) = json::natural(place, it);
  });
}

void read_number(json::Place& place, std::size_t key, json::value item, Measurement& to) {
  switch (key) {
    case 1:
      to.warmup = json::id(place, item);
      break;
    case 2:
      to.runs = json::id(place, item);
      break;
    case 3:
      to.on_device = json::boolean(place, item);
      break;
    case 4:
      to.empty_interval = json::natural(place, item);
      break;
    case 5:
      to.typical = json::id(place, item);
      break;
    case 6:
      to.peak_memory_bytes = json::natural(place, item);
      break;
    default:
      to.base_memory_bytes = json::natural(place, item);
  }
}

}  // namespace

Measurement read_measurement(json::Place& place, json::value item) {
  Measurement to;
  std::vector<Nanoseconds>* const lists[] = {
      &to.plain,  &to.timed,    &to.plain_device, &to.timed_device, &to.host,       &to.device,
      &to.scopes, &to.repeated, &to.host_begin,   &to.device_begin, &to.scope_begin};
  static_assert(std::size(lists) == kUnmatchedKey - kFirstList);
  json::each_field(place, item, kMeasurement, [&](std::size_t key, json::value it) {
    if (key == 0)
      read_environment(place, it, to.environment);
    else if (key < kFirstList)
      read_number(place, key, it, to);
    else if (key < kUnmatchedKey)
      read_samples(place, it, *lists[key - kFirstList]);
    else
      json::each_item(place, "measurement.unmatched", it,
                      [&](json::value op) { read_unmatched(place, op, to); });
  });
  return to;
}

}  // namespace opscope
