// Sorts events into records. Kineto writes the host's events first and the device's behind them, so that what
// belongs together is put together only when all are there, by whoever joins them.
#include "readers/kineto/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "readers/json/items.h"
#include "readers/kineto/event.h"

namespace opscope {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#", kModulePrefix = "nn.Module: ";
constexpr std::size_t kMostNameBytes = 4096;  // of a kernel's templates

// "Conv2d" of "nn.Module: Conv2d_12".
std::string_view module_class(std::string_view name) {
  name.remove_prefix(kModulePrefix.size());
  const auto last = name.find_last_not_of("0123456789");
  const bool numbered = last != std::string_view::npos && last + 1 < name.size() && name[last] == '_';
  return numbered ? name.substr(0, last) : name;
}

// "CUDA 12.8" of 12080.
std::string cuda_version(std::string_view token) {
  unsigned number = 0;
  std::from_chars(token.data(), token.data() + token.size(), number);
  return number == 0 ? std::string() : fmt::format("CUDA {}.{}", number / 1000, number % 1000 / 10);
}

class KinetoReader {
 public:
  KinetoReader(ByteSource source, const std::string& where, const KinetoLimits& limits)
      : where_(where),
        limits_(limits),
        items_(std::move(source), "traceEvents", where, limits.most_event_bytes) {}

  RecordedTrace run() {
    JsonItem item;
    while (items_.next(item))
      if (item.key.empty())
        event(item.text);
      else
        field(item);
    if (trace_.calls.empty())
      throw Error(
          trace_.events == 0 ? "there are no \"traceEvents\" in it" : "no calls of ops among its events",
          where_, "record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ...])");
    return std::move(trace_);
  }

 private:
  void event(std::string_view text) {
    const auto event = parser_.parse(text, trace_.events++, where_);
    if (!event) return;
    switch (event->kind) {
      case EventKind::kCall:
        if (event->name.starts_with(kStepPrefix)) return span(trace_.steps, *event, event->name);
        return call(*event);
      case EventKind::kMark:
        if (event->name.starts_with(kStepPrefix)) span(trace_.steps, *event, event->name);
        return;
      case EventKind::kModule:
        if (event->name.starts_with(kModulePrefix)) span(trace_.modules, *event, module_class(event->name));
        return;
      case EventKind::kLaunch:
        return launch(*event);
      case EventKind::kWork:
        return work(*event);
      case EventKind::kOther:
        return;
    }
  }

  template <class Record>
  bool has_room(const std::vector<Record>& records) {
    if (records.size() < limits_.most_records) return true;
    ++trace_.left_out;
    return false;
  }
  static TraceTime end_of(const KinetoEvent& event) {
    return event.begin + static_cast<TraceTime>(event.duration);  // both are within kMostTraceTime
  }
  StringId name(std::string_view text) { return trace_.names.intern(text.substr(0, kMostNameBytes)); }
  std::uint32_t thread(const KinetoEvent& event) {
    return threads_.try_emplace(event.thread, static_cast<std::uint32_t>(threads_.size())).first->second;
  }
  static std::uint32_t external(const KinetoEvent& event) {
    return event.external <= kNone ? static_cast<std::uint32_t>(event.external) : 0;
  }

  void call(const KinetoEvent& event) {
    if (!has_room(trace_.calls)) return;
    trace_.calls.push_back({.begin = event.begin,
                            .end = end_of(event),
                            .name = name(event.name),
                            .thread = thread(event),
                            .external = external(event),
                            .shapes = event.shapes});
  }
  void span(std::vector<RecordedSpan>& spans, const KinetoEvent& event, std::string_view text) {
    if (has_room(spans)) spans.push_back({event.begin, end_of(event), name(text), thread(event)});
  }
  // Most calls of the runtime launch nothing; which do is known when the work is.
  void launch(const KinetoEvent& event) {
    if (event.correlation == 0 || !has_room(trace_.launches)) return;
    trace_.launches.push_back({event.begin, event.correlation, name(event.name), thread(event)});
  }
  void work(const KinetoEvent& event) {
    if (!has_room(trace_.work)) return;
    trace_.work.push_back(
        {event.begin, event.duration, event.correlation, name(event.name), external(event)});
  }

  void field(const JsonItem& item) {
    if (item.key == "cuda_runtime_version") trace_.runtime = cuda_version(item.text);
    if (item.key == "cuda_driver_version") trace_.driver = cuda_version(item.text);
    if (item.key == "deviceProperties") device(item.text);
  }
  // Of the first device; a trace without a good one says nothing about it.
  void device(std::string_view text) {
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    simdjson::ondemand::array devices;
    if (parser.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).get(document) ||
        document.get_array().get(devices))
      return;
    for (auto result : devices) {
      simdjson::ondemand::object properties;
      if (result.get_object().get(properties)) return;
      std::string_view text_of;
      if (!properties["name"].get_string().get(text_of)) trace_.device_name = text_of;
      std::uint64_t bytes = 0;
      if (!properties["totalGlobalMem"].get_uint64().get(bytes)) trace_.memory_bytes = bytes;
      return;
    }
  }

  const std::string where_;
  const KinetoLimits limits_;
  JsonItems items_;
  KinetoEventParser parser_;
  RecordedTrace trace_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;
};

}  // namespace

RecordedTrace read_kineto_trace(const std::string& path, const KinetoLimits& limits) {
  return KinetoReader(file_source(path), path, limits).run();
}

RecordedTrace read_kineto_bytes(std::string_view bytes, const std::string& where,
                                const KinetoLimits& limits) {
  return KinetoReader(bytes_source(bytes), where, limits).run();
}

}  // namespace opscope
