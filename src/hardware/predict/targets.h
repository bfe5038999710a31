// What --hardware names: devices that opscope knows, device files, calibrations, and the machine at hand.
#pragma once

#include <string>
#include <vector>

#include "hardware/device.h"
#include "hardware/predict/calibration.h"

namespace opscope {

struct CalibratedDevice {
  DevicePointer device;
  CalibrationPointer calibration;  // of a file; nullptr: what opscope has of the device
};

// "h200,l4,my.toml,this"; throws Error with the nearest names, and for one that is there twice.
std::vector<CalibratedDevice> load_targets(const std::string& names, const std::string& flag = "--hardware");

// Where `opscope calibrate` leaves what it measured for "this" to find, one file for each device and number
// of threads; "" where there is no folder of the user's.
std::string calibrations_folder();

// The device of a calibration: one that opscope knows, else what it reached itself.
DevicePointer device_of(const Calibration& calibration);

}  // namespace opscope
