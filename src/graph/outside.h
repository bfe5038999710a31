// The time of a run in which no op runs: whose it is, and on which line of the user's code it passed. From
// calls of modules and ops as they were timed, whatever timed them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opscope {

// One run on the host's clock.
struct HostRun {
  struct Call {
    ScopeId scope =
        kNone;  // kNone: of a module that the graph does not have; its time is that of who calls it
    Nanoseconds begin = 0, end = 0;
  };
  struct Ran {
    OpId op = kNone;
    Nanoseconds begin = 0, end = 0;
  };
  Nanoseconds began = 0, ended = 0;
  std::vector<Call> calls;  // of modules
  std::vector<Ran> ops;     // on any thread
};

// A stretch of it without an op, in one module's call and in none below it. Outside of all calls, and in a
// backward pass, it is the model's own: scope 0.
struct OutsidePiece {
  ScopeId scope = 0;
  OpId after = kNone,
       before = kNone;  // the op that ended last, and the next to begin; kNone: none, or not known
  Nanoseconds begin = 0, end = 0;
};
void each_outside(const HostRun& run, const std::function<void(const OutsidePiece&)>& visit);

// Where a run's Python code was: from each step on, on that line.
struct LineSteps {
  struct Step {
    Nanoseconds at = 0;
    Id line = kNone;  // in `lines`; kNone: none of the user's
    bool waits = false;
  };
  std::vector<std::string> lines;  // "/home/me/model.py:42"
  std::vector<Step> steps;         // by time
};
// What passed outside of ops, by scope and line: what took longest first, as many as are worth keeping.
std::vector<OutsideLine> outside_lines(const HostRun& run, const LineSteps& steps);

}  // namespace opscope
