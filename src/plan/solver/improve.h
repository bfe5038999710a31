// A plan made better step by step, where the search gave up: its slowest part gives an item away, or swaps
// one.
#pragma once

#include <vector>

#include "plan/solver/problem.h"

namespace opscope {

// Parts in the order that they run in, each staying on its device. Gives up after so many tries.
void improve_slowest(const PlanProblem& problem, std::vector<PlanPart>& parts, std::size_t most_tries);

}  // namespace opscope
