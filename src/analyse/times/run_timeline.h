// One measured run laid out in time: phases, module calls with their ops inside, and what the device did. For
// viewers that draw slices, so every slice lies exactly inside the one around it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace opscope {

struct TimelineSlice {
  Nanoseconds begin = 0, end = 0;  // from the start of the run
  Id id = 0;                       // of the phase, scope or op
  std::uint32_t depth = 0;         // slices around it in its lane
  std::uint32_t phase = 0;         // in which it ran
  bool is_op = false;              // else a module's call, or a phase
};

struct RunTimeline {
  std::vector<TimelineSlice> phases;  // empty for a forward run alone
  std::vector<TimelineSlice> host;    // by begin, the outer one first
  std::vector<TimelineSlice> device;  // one after the other; ops that give the device nothing to do have none
  Nanoseconds end = 0;                // of all of them
};

// Of the run that is typical for the measurement. A module's call is where it was measured; where ops ran in
// a module's name but not in its call, as in a backward pass, around each row of such ops. Throws Error where
// there is no measurement, or none that tells when ops began.
RunTimeline run_timeline(const Graph& graph);

}  // namespace opscope
