// When the modules of a traced model were called. For joined_trace.cc only.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/recorded_trace.h"

namespace opscope {

inline constexpr TraceTime kNever = std::numeric_limits<TraceTime>::max();

struct TraceSpan {
  TraceTime begin = kNever, end = std::numeric_limits<TraceTime>::min();
  void add(TraceTime from, TraceTime to) { begin = std::min(begin, from), end = std::max(end, to); }
  bool known() const { return begin <= end; }
  Nanoseconds length() const {
    return known() ? static_cast<Nanoseconds>(end) - static_cast<Nanoseconds>(begin) : 0;
  }
};

// By scope and run: where in the trace the module's call lies. As the trace has it, where it was recorded
// with modules (with_stack); else from the first of the call's ops to the last. `begins`: of ops, by op and
// run.
std::vector<TraceSpan> module_calls(const Graph& graph, const RecordedTrace& trace,
                                    std::span<const TraceTime> begins, const Measurement& measured);

}  // namespace opscope
