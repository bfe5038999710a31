// The calibrations that come with opscope. The build packs those of data/calibrations
// (packer/packer.cc, cmake/hardware.cmake).
#pragma once

#include <span>
#include <string_view>

#include "hardware/predict/predicted_run.h"

namespace opscope {

// By the device's id; nullptr: there is none.
CalibrationPointer known_calibration(std::string_view device);
std::span<const CalibrationPointer> known_calibrations();

struct PackedCalibration {
  std::string_view device;
  std::string_view bytes;  // packing.h
};
// Written by the build.
std::span<const PackedCalibration> packed_calibrations();

}  // namespace opscope
