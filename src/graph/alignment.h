// What two sequences have in common, in order: which op of one run is which of another, of a graph or a
// trace.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace opscope {

// By element of `seen`: its index in `expected`, rising; kNone for what has no partner. As many partners as
// there can be, however long the stretches that only one side has, as long as there are not thousands of
// differences in a row; beyond that, what brings both on furthest.
std::vector<Id> align(std::span<const Id> expected, std::span<const Id> seen);

}  // namespace opscope
