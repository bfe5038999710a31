// Which op of one run is which of another: equal where both did the same, and caught up with again after each
// stretch where they did not.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace opscope {

// By element of `seen`: its index in `expected`, rising; kNone for what was not expected there.
std::vector<Id> align(std::span<const Id> expected, std::span<const Id> seen);

}  // namespace opscope
