// Sorts events into records. Kineto writes the host's events first and the device's behind them, so that what
// belongs together is put together only when all are there, by whoever joins them. The field names are those
// of Kineto's output_json.cpp and of what its activities add; older versions wrote categories with capitals,
// and ids as strings.
#include "readers/kineto/reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "readers/json/items.h"

namespace opscope {
namespace {

// One event of a Kineto trace, as far as it matters for times.
enum class EventKind : std::uint8_t {
  kOther,
  kCall,    // of an op on the host
  kMark,    // a stretch that the user or the profiler named: steps are among them
  kLaunch,  // of the device's runtime or driver
  kWork,    // on the device
  kModule,  // a Python function; modules are among them
};

struct KinetoEvent {
  EventKind kind = EventKind::kOther;
  std::string_view name;  // until the next event
  TraceTime begin = 0;
  Nanoseconds duration = 0;
  std::uint64_t thread = 0;  // a number that process and thread have in common with none other
  std::uint64_t correlation = 0, external = 0;
  std::uint32_t shapes = 0;
};

struct CategoryRow {
  std::string_view category;
  EventKind kind;
};
constexpr CategoryRow kCategories[] = {
    {"Kernel", EventKind::kWork},
    {"Memcpy", EventKind::kWork},
    {"Memset", EventKind::kWork},
    {"Operator", EventKind::kCall},
    {"Runtime", EventKind::kLaunch},
    {"cpu_op", EventKind::kCall},
    {"cuda_driver", EventKind::kLaunch},
    {"cuda_runtime", EventKind::kLaunch},
    {"gpu_memcpy", EventKind::kWork},
    {"gpu_memset", EventKind::kWork},
    {"kernel", EventKind::kWork},
    {"mtia_runtime", EventKind::kLaunch},
    {"operator", EventKind::kCall},
    {"privateuse1_driver", EventKind::kLaunch},
    {"privateuse1_runtime", EventKind::kLaunch},
    {"python_function", EventKind::kModule},
    {"runtime", EventKind::kLaunch},
    {"user_annotation", EventKind::kMark},
    {"xpu_driver", EventKind::kLaunch},
    {"xpu_runtime", EventKind::kLaunch},
};
static_assert(std::ranges::is_sorted(kCategories, {}, &CategoryRow::category));

EventKind kind_of(std::string_view category) {
  const auto* const row = std::ranges::lower_bound(kCategories, category, {}, &CategoryRow::category);
  return row != std::end(kCategories) && row->category == category ? row->kind : EventKind::kOther;
}

std::string_view trimmed(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

// Powers of ten and other forms that no profiler writes: as exact as a double is.
std::optional<TraceTime> from_double(std::string_view token) {
  const double value = 1000 * number_from<double>(token).value_or(NAN);
  if (!(std::abs(value) < static_cast<double>(kMostTraceTime))) return std::nullopt;
  return std::llround(value);
}

class KinetoEventParser {
 public:
  // Nothing for an event that tells nothing here. Throws Error saying what is wrong with the event; `index`
  // is its number.
  std::optional<KinetoEvent> parse(std::string_view text, std::uint64_t index, const std::string& where) {
    index_ = index, where_ = &where;
    complete_ = has_begin_ = false;
    KinetoEvent event;
    simdjson::ondemand::document document;
    simdjson::ondemand::object fields;
    auto code =
        parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).get(document);
    if (!code) code = document.get_object().get(fields);
    if (code == simdjson::UTF8_ERROR) fail("the text is not UTF-8");
    if (code) fail("expected an object");
    const bool is_other = !each(fields, "not valid JSON", [&](std::string_view key, Value value) {
      field(key, value, event);
      return event.kind != EventKind::kOther || key != "cat";
    });
    if (is_other || event.kind == EventKind::kOther || !complete_) return std::nullopt;
    if (!has_begin_) fail("no \"ts\", the time when it began");
    return event;
  }

 private:
  using Value = simdjson::ondemand::value;

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("event {}: {}", index_, what), *where_,
                "the file is damaged or no trace of torch.profiler; record it again");
  }

  // Until `visit` has seen enough and is false.
  template <class Visit>
  bool each(simdjson::ondemand::object& fields, std::string_view problem, const Visit& visit) const {
    for (auto result : fields) {
      simdjson::ondemand::field item;
      std::string_view key;
      if (std::move(result).get(item) || item.unescaped_key().get(key)) fail(problem);
      if (!visit(key, item.value())) return false;
    }
    return true;
  }

  void field(std::string_view key, Value value, KinetoEvent& event) {
    const auto text = [&](const char* expected) {
      std::string_view word;
      if (value.get_string().get(word)) fail(expected);
      return word;
    };
    const auto time = [&] {
      const auto parsed = parse_microseconds(value.raw_json_token());
      if (!parsed) fail(fmt::format("\"{}\" is no time in microseconds", key));
      return *parsed;
    };
    if (key == "ph") {
      complete_ = text("\"ph\" is not a string") == "X";
    } else if (key == "cat") {
      event.kind = kind_of(text("\"cat\" is not a string"));
    } else if (key == "name") {
      event.name = text("the name is not a string");
    } else if (key == "ts") {
      event.begin = time();
      has_begin_ = true;
    } else if (key == "dur") {
      event.duration = static_cast<Nanoseconds>(std::max<TraceTime>(time(), 0));
    } else if (key == "pid" || key == "tid") {
      event.thread = (event.thread ^ hash64(trimmed(value.raw_json_token()))) * (key == "pid" ? 31 : 1);
    } else if (key == "args") {
      args(value, event);
    }
  }

  void args(Value value, KinetoEvent& event) {
    simdjson::ondemand::object fields;
    if (value.get_object().get(fields)) fail("\"args\" is not an object");
    each(fields, "not valid JSON in \"args\"", [&](std::string_view key, Value item) {
      if (key == "correlation") {
        event.correlation = id(item);
      } else if (key == "External id" || key == "external id") {
        event.external = id(item);
      } else if (key == "Input Dims" || key == "Input dims") {
        ShapeHash hash;
        shapes(item, hash);
        event.shapes = hash.value();
      }
      return true;
    });
  }

  // A list of numbers is a shape; lists of lists hold shapes.
  void shapes(Value value, ShapeHash& hash) {
    simdjson::ondemand::array items;
    const auto code = value.get_array().get(items);
    if (code == simdjson::INCORRECT_TYPE) return;  // older versions wrote them as text
    if (code) fail("not valid JSON in the input shapes");
    dims_.clear();
    bool is_shape = true;
    for (auto result : items) {
      Value item;
      if (std::move(result).get(item)) fail("not valid JSON in the input shapes");
      auto type = simdjson::ondemand::json_type::null;
      if (item.type().get(type)) fail("not valid JSON in the input shapes");
      if (type == simdjson::ondemand::json_type::array) {
        is_shape = false;
        shapes(item, hash);
        dims_.clear();
        continue;
      }
      std::int64_t size = 0;
      if (item.get_int64().get(size)) is_shape = false;
      dims_.push_back(size);
    }
    if (is_shape) hash.add(dims_);
  }

  // What is no number, or none that could be an id, is no id.
  static std::uint64_t id(Value value) {
    std::string_view token = trimmed(value.raw_json_token());
    if (token.size() >= 2 && token.front() == '"') token = token.substr(1, token.size() - 2);
    return number_from<std::uint64_t>(token).value_or(0);
  }

  simdjson::ondemand::parser parser_;
  std::vector<std::int64_t> dims_;
  bool complete_ = false;  // the event at hand is of the kind that has a duration
  bool has_begin_ = false;
  std::uint64_t index_ = 0;
  const std::string* where_ = nullptr;
};

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
    simdjson::dom::parser parser;  // one that can be asked on after an answer that was none
    simdjson::dom::element devices, first;
    if (parser.parse(text.data(), text.size(), false).get(devices) || devices.at(0).get(first)) return;
    std::string_view device_name;
    if (!first["name"].get(device_name)) trace_.device_name = device_name;
    std::uint64_t bytes = 0;
    if (!first["totalGlobalMem"].get(bytes)) trace_.memory_bytes = bytes;
  }

  const std::string where_;
  const KinetoLimits limits_;
  JsonItems items_;
  KinetoEventParser parser_;
  RecordedTrace trace_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;
};

}  // namespace

std::optional<TraceTime> parse_microseconds(std::string_view token) {
  token = trimmed(token);
  const bool negative = token.starts_with('-');
  const std::string_view digits = token.substr(negative ? 1 : 0);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  if (digits.find_first_not_of("0123456789.") != std::string_view::npos || point == 0 ||
      digits.size() > point + 4)
    return from_double(token);
  TraceTime time = 0;
  const std::size_t decimals = digits.size() - std::min(digits.size(), point + 1);
  for (std::size_t i = 0; i < point + 4; ++i) {  // three decimals, those that are missing as zeros
    if (i == point) continue;
    const int digit = i < point + 1 + decimals ? digits[i] - '0' : 0;
    if (digit < 0 || __builtin_mul_overflow(time, 10, &time) || __builtin_add_overflow(time, digit, &time))
      return std::nullopt;
  }
  if (time > kMostTraceTime) return std::nullopt;
  return negative ? -time : time;
}

RecordedTrace read_kineto_trace(const std::string& path, const KinetoLimits& limits) {
  return KinetoReader(file_source(path), path, limits).run();
}

RecordedTrace read_kineto_bytes(std::string_view bytes, const std::string& where,
                                const KinetoLimits& limits) {
  return KinetoReader(bytes_source(bytes), where, limits).run();
}

}  // namespace opscope
