// A trace of torch.profiler (Kineto's Chrome trace, .json or .json.gz) -> the times in it. Streamed: what is
// in memory is one event and what is kept of those before it.
#pragma once

#include <cstddef>
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

// "3926140590155.608" (microseconds) in nanoseconds, exactly; nothing where it is no number or out of range.
std::optional<TraceTime> parse_microseconds(std::string_view token);

}  // namespace opscope
