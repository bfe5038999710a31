// The measured calls of a family as predictions ask for them: in an order to be searched in, laid out so that
// the program uses what its build wrote where it lies (packing.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hardware/predict/features.h"

namespace opscope {

using OpSizes = std::array<float, OpFeatures::kSizes>;

// Calls that differ in their sizes alone, in the order of one of these.
struct OpKin {
  std::uint64_t op = 0;  // as OpFeatures has it
  std::uint32_t kind = 0;
  std::uint32_t first = 0, count = 0;
  DType dtype = DType::kUndefined;
  std::uint8_t order = 0;  // by which size: the one that tells most of them apart
  std::uint16_t unused = 0;
};
static_assert(std::has_unique_object_representations_v<OpKin>);  // no bytes between: the same in every build

struct MeasuredTime {
  double seconds = 0, deviation = 0, host_seconds = 0;
};

// Views of bytes that somebody else keeps.
struct MeasuredOps {
  MeasuredOps() = default;
  explicit MeasuredOps(std::string_view packed);
  std::vector<char> packed() const;

  // nullptr: this very call was not measured.
  const MeasuredTime* time_of(std::uint64_t key) const;

  // By call:
  std::span<const OpSizes> sizes;
  std::span<const double> misses;         // log(measured / by the family's rates)
  std::span<const std::uint32_t> places;  // in the calibration: of two as near, the first speaks
  std::span<const OpKin> kin;
  // By call again, in the order of their keys:
  std::span<const std::uint64_t> keys;
  std::span<const MeasuredTime> times;
};

// Of a call's text, without the device that it was on.
std::uint64_t call_key(std::string_view text);

}  // namespace opscope
