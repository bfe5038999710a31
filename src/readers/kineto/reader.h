// A trace of torch.profiler (Kineto's Chrome trace, .json or .json.gz) -> the times in it. Streamed: what is
// in memory is one event and what is kept of those before it.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/recorded_trace.h"

namespace opscope {

struct KinetoLimits {
  // Of each kind of record. Calls come in the order in which they began, so what is left out is the end of
  // the run. With what joining takes, half a gigabyte for a trace of any size.
  std::size_t most_records = 4'000'000;
  std::size_t most_event_bytes = 16 << 20;
};

// Throws Error where it cannot be read, is cut off, or is no trace of PyTorch's profiler.
RecordedTrace read_kineto_trace(const std::string& path, const KinetoLimits& limits = {});
RecordedTrace read_kineto_bytes(std::string_view bytes, const std::string& where,
                                const KinetoLimits& limits = {});

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

// "3926140590155.608" (microseconds) in nanoseconds, exactly; nothing where it is no number or out of range.
std::optional<TraceTime> parse_microseconds(std::string_view token);

class KinetoEventParser {
 public:
  // Nothing for an event that tells nothing here. Throws Error saying what is wrong with the event; `index`
  // is its number.
  std::optional<KinetoEvent> parse(std::string_view text, std::uint64_t index, const std::string& where);

 private:
  using Value = simdjson::ondemand::value;
  void field(std::string_view key, Value value, KinetoEvent& event);
  void args(Value value, KinetoEvent& event);
  void shapes(Value value, ShapeHash& hash);
  std::uint64_t number(Value value);
  [[noreturn]] void fail(std::string_view what) const;

  simdjson::ondemand::parser parser_;
  std::vector<std::int64_t> dims_;
  bool complete_ = false;  // the event at hand is of the kind that has a duration
  bool has_begin_ = false;
  std::uint64_t index_ = 0;
  const std::string* where_ = nullptr;
};

}  // namespace opscope
