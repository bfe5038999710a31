// What runs when, for the axis under a timeline: the module calls that the ops belong to, as finely as there
// is room for.
#pragma once

#include <string>
#include <vector>

#include "analyse/memory/memory.h"

namespace opscope {

struct AxisSegment {
  OpId begin = 0, end = 0;  // ops of begin..end-1
  std::string label{};      // "layer1", "layer.3"; relative to the module around it
};

// A call that takes more than `share` of the ops is shown by the calls inside it.
std::vector<AxisSegment> axis_segments(const MemoryReport& report, double share = 0.4);

// The op that stands for each of `columns` equal stretches of the run: the one with the most in use.
std::vector<OpId> column_ops(const MemoryReport& report, std::size_t columns);

// Bottom to top, as the areas are stacked; weights below them all.
inline constexpr MemoryKind kStacking[] = {
    MemoryKind::kWeights, MemoryKind::kOptimizerState, MemoryKind::kKvCache,  MemoryKind::kGradients,
    MemoryKind::kInputs,  MemoryKind::kActivations,    MemoryKind::kWorkspace};
// Those that are in use at some time.
std::vector<MemoryKind> kinds_in_use(const MemoryReport& report);

}  // namespace opscope
