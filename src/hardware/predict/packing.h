// A calibration as the program has it: everything that a prediction asks for, worked out when opscope was
// built, in bytes that are used where they lie. Of a file of the user's, a family at a time.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hardware/predict/calibration.h"

namespace opscope {

// Of the calls of a file's family. The bytes are as this machine has numbers, and for this build of opscope.
struct PackedCalls {
  std::vector<char> ops, trees;

  PackedFamily family() const { return {{ops.data(), ops.size()}, {trees.data(), trees.size()}}; }
};
PackedCalls pack_family(const Calibration& calibration, OpFamily family);

// All of it. What is unpacked has views of `packed`, which has to begin at a multiple of kPackedAlignment.
std::vector<char> pack(const Calibration& calibration);
Calibration unpack_calibration(std::string_view packed);

}  // namespace opscope
