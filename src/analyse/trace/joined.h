// The times of a torch.profiler trace, put to the ops of a model's graph. A graph's ops are the calls as the
// model makes them; a trace has these and all calls inside them, on every thread, and what ran beside the
// model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/count.h"
#include "graph/graph.h"
#include "graph/recorded_trace.h"

namespace opscope {

// What ran on the device (on a CPU: an op that was called) and belongs to no op of the graph.
struct NotJoined {
  std::string name;    // of the kernel, or of the op
  std::string reason;  // "aten::copy_ is not in the graph"
  std::uint64_t count = 0;
  Nanoseconds total = 0;
};

struct JoinedKernel {
  OpId op = 0;
  std::string name;
  std::uint64_t count = 0;  // over all runs
  Nanoseconds total = 0;
};

struct JoinedTrace {
  Measurement measurement;  // as many runs as the trace has of the model
  std::uint64_t events = 0, calls = 0;
  std::uint64_t steps = 0;            // that the profiler marked; 0: none, and runs were found by their ops
  std::uint64_t joined_ops = 0;       // with a call in a run at least
  Nanoseconds total = 0, joined = 0;  // on the device, or of calls on a CPU, over all runs
  std::vector<NotJoined> not_joined;  // the longest first
  std::vector<OpId> missing;          // with no call in any run
  std::vector<JoinedKernel> kernels;  // by op, the longest first
  std::vector<std::string> notes;     // what the reader should know before trusting it

  double joined_share() const { return ratio(joined, total); }
};

// Throws Error where the trace has no op of the graph.
JoinedTrace join_trace(const Graph& graph, RecordedTrace trace);

}  // namespace opscope
