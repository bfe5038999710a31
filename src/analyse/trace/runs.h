// Which call of a trace is which op of the graph, and in which run. For joined.cc only.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/recorded_trace.h"

namespace opscope {

// The calls of a recorded trace with their nesting: on one thread, a call that runs while another does is
// inside it.
class TraceCalls {
 public:
  // Sorts the trace's calls by thread and begin, the outer one first; ids are indices in them from then on.
  // The trace outlives the tree.
  explicit TraceCalls(RecordedTrace& trace);

  std::size_t size() const { return trace_.calls.size(); }
  const RecordedCall& operator[](Id call) const { return trace_.calls[call]; }
  std::string_view name(Id call) const { return trace_.text(trace_.calls[call].name); }
  Id parent(Id call) const { return parent_[call]; }  // kNone for the outermost
  Id end(Id call) const { return end_[call]; }        // the calls inside it are call + 1 .. end - 1

  // The innermost call that runs on a thread at a time; kNone where none does.
  Id around(std::uint32_t thread, TraceTime at) const;
  // The call that the trace numbers so; kNone where there is none.
  Id numbered(std::uint32_t external) const;

 private:
  const RecordedTrace& trace_;
  std::vector<Id> parent_, end_;
  mutable std::vector<Id> by_number_;  // made when first asked
};

struct TraceRuns {
  std::vector<OpId> op_of;            // by call; kNone for one that is no op of the graph
  std::vector<std::uint32_t> run_of;  // by call, where op_of is there
  std::uint32_t runs = 0;
  std::uint64_t steps = 0;
  bool partial = false;       // a run of which the trace has less than half was left out
  bool other_shapes = false;  // its inputs have other shapes than the graph's
};

// The names of the graph's ops as a trace may have them: "relu_" is "relu".
struct OpSymbols {
  explicit OpSymbols(const Graph& graph);
  Id of_name(std::string_view name) const;  // kNone for a name that no op has

  std::unordered_map<std::string_view, Id> ids;
  std::vector<Id> of_op;
};

TraceRuns find_runs(const Graph& graph, const RecordedTrace& trace, const TraceCalls& tree,
                    const OpSymbols& symbols);

}  // namespace opscope
