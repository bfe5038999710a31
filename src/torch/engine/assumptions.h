// What a capture assumes of data that it does not have and that changes no shape by itself: which elements
// are picked, in which order, and how a condition on data turns out. Each assumption is noted.
#pragma once

#include "torch/engine/call.h"

namespace opscope::engine {

// After an op that picks elements was carried out on shapes: gives the indices it returned values. Choices go
// round, so that a router's tokens are shared out evenly among its experts.
struct Picked {
  Picked(const Call& call);
  void make_known(const Call& call) const;

  std::int64_t rows = 1, inner = 1, choices = 1;
};

// item(), bool() and the like on unknown data, where what the data was computed from allows an answer: a
// count is at most the elements counted; some elements of a mask are true, not all; none is NaN. False: it
// does not.
bool assume_value(const Call& call);

}  // namespace opscope::engine
