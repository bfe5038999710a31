#include "hardware/predict/known_calibrations.h"

#include <memory>
#include <mutex>
#include <vector>

#include "hardware/predict/packing.h"

namespace opscope {
namespace {

// Unpacked when it is asked for, and once.
const CalibrationPointer& known_at(std::size_t i) {
  struct Known {
    std::once_flag unpacked;
    CalibrationPointer calibration;
  };
  static const auto all = std::make_unique<Known[]>(packed_calibrations().size());
  Known& known = all[i];
  std::call_once(known.unpacked, [&] {
    known.calibration =
        std::make_shared<const Calibration>(unpack_calibration(packed_calibrations()[i].bytes));
  });
  return known.calibration;
}

}  // namespace

std::span<const CalibrationPointer> known_calibrations() {
  static const std::vector<CalibrationPointer> all = [] {
    std::vector<CalibrationPointer> unpacked;
    for (std::size_t i = 0; i < packed_calibrations().size(); ++i) unpacked.push_back(known_at(i));
    return unpacked;
  }();
  return all;
}

CalibrationPointer known_calibration(std::string_view device) {
  for (std::size_t i = 0; i < packed_calibrations().size(); ++i)
    if (packed_calibrations()[i].device == device) return known_at(i);
  return nullptr;
}

}  // namespace opscope
