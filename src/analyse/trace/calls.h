// The calls of a recorded trace with their nesting: on one thread, a call that runs while another does is
// inside it.
#pragma once

#include <vector>

#include "graph/recorded_trace.h"

namespace opscope {

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

}  // namespace opscope
