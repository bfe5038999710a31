// A body that runs several times. It is read run by run, as a Python loop is captured, while that is little.
// Of a longer loop two runs are read: the first, and the last in place of all the others, so that the work of
// a loop whose sizes grow is an upper bound.
#pragma once

#include <functional>
#include <vector>

#include "readers/onnx/call.h"

namespace opscope {

using Infos = std::vector<OnnxInfo*>;

constexpr std::size_t kMostRead = 512;  // nodes that loops and branches in each other make of one

// What one run of a body takes and gives.
struct Pass {
  OnnxInfo* goes_on = nullptr;  // not there: it does
  Infos state, items;           // carried to the next run; collected
};
using Run = std::function<Pass(std::int64_t number, const Infos& state)>;

struct Looped {
  Infos state;
  std::vector<Infos> items;  // by run that was read
  std::int64_t count = 0;
  bool is_limit = false;  // it may end earlier
};

// `nodes`: of the body. Where a run may end the loop, `trips` are an upper bound, and a note says so.
Looped run_loop(OnnxCall& call, std::size_t nodes, const Run& run, std::int64_t trips, Infos state);

// An output of the node: what the runs collected, beside each other along a new axis.
void give_collected(OnnxCall& call, std::size_t output, const Looped& done, std::size_t item,
                    std::int64_t axis);

}  // namespace opscope
