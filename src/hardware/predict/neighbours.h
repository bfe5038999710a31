// What measured ops say of one that was not measured: how far a family's rates miss it, told by the measured
// ops that are most like it (kriging over the nearest). Far from all of them it says nothing: 0, with the
// family's whole spread.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "hardware/predict/calibration.h"
#include "hardware/predict/features.h"
#include "hardware/predict/measured_ops.h"

namespace opscope {

struct Neighbour {
  OpFeatures features;
  double seconds = 0;
  double miss = 0;       // log(measured / by the family's rates)
  std::size_t call = 0;  // in Calibration::calls
};

// Of a logarithm: its mean and standard deviation.
struct Miss {
  double mean = 0, deviation = 0;
  double nearest = std::numeric_limits<double>::infinity();  // distance of the nearest measured op
};

// By the rates alone.
double seconds_by(const FamilyRates& rates, const OpFeatures& op);

// How unlike two ops of one family are, squared: far beyond 1, one says next to nothing of the other.
// No more than that it is beyond `enough` is told where it is.
double unlikeness(const Likeness& likeness, const OpFeatures& a, const OpFeatures& b,
                  double enough = std::numeric_limits<double>::infinity());

// `left_out`: one of them that is not asked.
inline constexpr std::size_t kAskAll = std::numeric_limits<std::size_t>::max();
Miss miss_of(std::span<const Neighbour> measured, const Likeness& likeness, const OpFeatures& op,
             std::size_t left_out = kAskAll);
// The same, of the same calls in an order that few of them need to be looked at in.
Miss miss_of(const MeasuredOps& measured, const Likeness& likeness, const OpFeatures& op);

// What neighbours and a family's trees tell together: each counts as it is sure.
Miss both(const Miss& neighbours, double trees, const Likeness& likeness);

}  // namespace opscope
