// From times to a calibration: what was timed is fitted, and the file says how sure of it one can be.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hardware/calibrate/journal.h"
#include "hardware/predict/calibration.h"

namespace opscope {

// Beyond, the clocks are said to have changed.
inline constexpr double kSteadyClocks = 0.05;

// What a host takes for some ops in a row beside the ops themselves.
struct HostProgram {
  double seconds = 0;      // of all of it, in Python
  double ops_seconds = 0;  // of its ops alone: on a device what they take on the host
  double count = 0;        // of what is asked for: ops, views, calls of modules

  double each() const { return count > 0 && seconds > ops_seconds ? (seconds - ops_seconds) / count : 0; }
};

// The file's text. `about`: the device, its facts and its host's costs; `list`: what was timed by its place
// in it.
std::string finished_calibration(Calibration about, std::span<const std::string> list,
                                 const CalibrationJournal& journal);

// Wider by what clocks that change leave uncertain; says so among the facts.
void widen(Calibration& calibration, double drift);

}  // namespace opscope
