// Which call of a trace is which op of the graph, and in which run. For joined_trace.cc only.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/trace/calls.h"
#include "graph/graph.h"

namespace opscope {

struct TraceRuns {
  std::vector<OpId> op_of;            // by call; kNone for one that is no op of the graph
  std::vector<std::uint32_t> run_of;  // by call, where op_of is there
  std::uint32_t runs = 0;
  std::uint64_t steps = 0;
  bool partial = false;       // a run of which the trace has less than half was left out
  bool other_shapes = false;  // its inputs have other shapes than the graph's
};

// The names of the graph's ops as a trace may have them: "relu_" is "relu".
class OpSymbols {
 public:
  explicit OpSymbols(const Graph& graph);
  Id of_op(OpId op) const { return of_op_[op]; }
  // kNone for a name that no op has.
  Id of_name(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, Id> ids_;
  std::vector<Id> of_op_;
};

TraceRuns find_runs(const Graph& graph, const RecordedTrace& trace, const TraceCalls& tree,
                    const OpSymbols& symbols);

}  // namespace opscope
