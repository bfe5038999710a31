// What PyTorch's profiler wrote down of one or more runs, as far as it tells times: which ops were called
// when, what they gave the device to do, and how long that took. Compact, since a trace has millions of
// events.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opscope {

using TraceTime = std::int64_t;  // nanoseconds on the trace's own clock
// No time or duration is further from 0, so that sums and differences of two are no overflow: 73 years, and
// times since 1970 are within it till 2043.
inline constexpr TraceTime kMostTraceTime = TraceTime{1} << 61;

// A call of an op on the host: "aten::conv2d". Calls inside calls are there too, each with its own times.
struct RecordedCall {
  TraceTime begin = 0, end = 0;
  StringId name = 0;
  std::uint32_t thread = 0;
  std::uint32_t external = 0;  // the trace's number for it, by which work on the device may name it; 0: none
  std::uint32_t shapes = 0;    // ShapeHash of its inputs; 0: not recorded
};

// A call of the device's runtime that gave it something to do: cudaLaunchKernel.
struct RecordedLaunch {
  TraceTime at = 0;
  std::uint64_t correlation = 0;
  StringId name = 0;
  std::uint32_t thread = 0;
};

// Something that the device did: a kernel, a copy, a fill.
struct RecordedWork {
  TraceTime begin = 0;
  Nanoseconds duration = 0;
  std::uint64_t correlation = 0;  // of its launch; 0: none
  StringId name = 0;
  std::uint32_t external = 0;  // the call behind it; 0: none
};

// A stretch of a thread: a step of the training loop, or a module's call.
struct RecordedSpan {
  TraceTime begin = 0, end = 0;
  StringId name = 0;
  std::uint32_t thread = 0;
};

struct RecordedTrace {
  std::vector<RecordedCall> calls;
  std::vector<RecordedLaunch> launches;
  std::vector<RecordedWork> work;
  std::vector<RecordedSpan> steps;    // "ProfilerStep#3"
  std::vector<RecordedSpan> modules;  // by class: "Conv2d"
  StringPool names;
  std::string device_name, runtime, driver;
  std::uint64_t memory_bytes = 0;  // of the device
  std::uint64_t events = 0;        // in the file, with those that tell nothing here
  std::uint64_t left_out = 0;      // that would have told something, beyond what is kept

  std::string_view text(StringId id) const { return names[id]; }
};

// One number for the shapes of an op's inputs, the same from a graph and from a trace: tensors with
// dimensions, in order, lists flattened. Never 0.
class ShapeHash {
 public:
  void add(std::span<const std::int64_t> shape) {
    if (shape.empty()) return;  // traces write nothing for scalars, for absent tensors and for numbers alike
    mix(shape.size());
    for (const std::int64_t size : shape) mix(static_cast<std::uint64_t>(size));
  }
  std::uint32_t value() const {
    const auto folded = static_cast<std::uint32_t>(state_ ^ (state_ >> 32));
    return folded == 0 ? 1 : folded;
  }

 private:
  void mix(std::uint64_t number) {
    state_ = (state_ ^ number) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 29;
  }
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace opscope
