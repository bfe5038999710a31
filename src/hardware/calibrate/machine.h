// The devices of the machine at hand, as far as the system tells without PyTorch: whether a calibration is of
// one of them.
#pragma once

#include <string>
#include <vector>

namespace opscope {

struct Machine {
  std::string processor;          // "AMD EPYC 9654"; "" where it cannot be read
  std::vector<std::string> gpus;  // "NVIDIA H200"
  bool knows_gpus = true;         // false: a driver that does not name them is there
};
Machine this_machine();

// Why a calibration of this device cannot be of the machine; "" where it can.
std::string not_of(const Machine& machine, const std::string& kind, const std::string& device_name);

}  // namespace opscope
