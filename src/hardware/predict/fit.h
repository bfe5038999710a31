// From ops that were timed to what a family of ops does on a device: its rates, how far measured ops speak
// for others, and the error on ops that are left out in turn.
#pragma once

#include <span>
#include <vector>

#include "hardware/predict/calibration.h"
#include "hardware/predict/neighbours.h"

namespace opscope {

// What was timed, with the features of each call; the others of a call are as they were.
void add_features(std::span<MeasuredCall> calls);

// Fills the families, their likenesses and what ops take on the host, from the calls.
void fit_families(Calibration& calibration, std::span<const MeasuredCall> calls);

// As neighbours of one that is asked for.
std::vector<Neighbour> neighbours_of(std::span<const MeasuredCall> calls, const Calibration& calibration);

}  // namespace opscope
