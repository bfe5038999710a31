// Sums over ops that are the same, for captured points and for those that polynomials tell. For the sweep's
// files only.
#pragma once

#include <span>

#include "analyse/sweep/surface.h"

namespace opscope {

struct CountedOp {
  const SweptOp* op = nullptr;
  std::uint64_t count = 1;
  OpCost cost{};
};

// From kCostNumbers numbers, in the order of a sample's.
OpCost cost_of(const SweptOp& op, std::span<const std::uint64_t> numbers);
// All but parameters and memory.
SweepFigures sum_up(std::span<CountedOp> ops, const ProfileOptions& options);

}  // namespace opscope
