// An op as trees see it: numbers, each of which may decide by itself. All follow from its features.
#pragma once

#include <array>

#include "hardware/predict/calibration.h"
#include "hardware/predict/features.h"

namespace opscope {

inline constexpr std::size_t kTraits = 60;  // at most 64: a letter names one in a file
using Traits = std::array<float, kTraits>;

// `rates`: those of the op's group.
Traits traits_of(const OpFeatures& op, const FamilyRates& rates);

}  // namespace opscope
