// From ops that were timed to what a family of ops does on a device: its rates, how far measured ops speak for
// others, and the error on ops that are left out in turn.
#pragma once

#include <span>
#include <vector>

#include "hardware/predict/calibration.h"
#include "hardware/predict/neighbours.h"

namespace opscope {

// The ops of a calibration's calls, those of one family where one is named: what was timed, as features.
std::vector<Neighbour> measured_ops(const Calibration& calibration, std::optional<Family> family = std::nullopt);

// Fills Calibration::families from its calls.
void fit_families(Calibration& calibration);

}  // namespace opscope
