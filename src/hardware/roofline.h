// The least time that an op can take on a device: its products at the rate of the units that do them, the
// rest of its arithmetic at that of the vector units, its bytes at the memory's bandwidth, all at once. See
// docs/hardware.md for the rule and where it is wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "cost/cost.h"
#include "graph/graph.h"
#include "hardware/device.h"

namespace opscope {

// Where float32 products go. torch: as PyTorch does unless told otherwise, convolutions and recurrent layers
// to TF32 matrix units, matmuls not. tf32: all that can. ieee: none.
enum class Float32 : std::uint8_t { kTorch, kTf32, kIeee };
std::string_view name(Float32 float32);
Float32 float32_from_name(std::string_view text);  // throws Error naming the choices

// What keeps an op from being faster.
enum class Limit : std::uint8_t { kNothing, kCompute, kMemory, kLaunch, kUnknown };
inline constexpr std::size_t kLimits = 5;
std::string_view name(Limit limit);  // "-", "compute", "memory", "launch", "?"

struct RooflineTime {
  double matrix_seconds = 0, vector_seconds = 0, memory_seconds = 0;
  bool known = true;  // false: its work is not known, or not how fast the device does such work

  double compute_seconds() const { return std::max(matrix_seconds, vector_seconds); }
  double seconds() const { return std::max(compute_seconds(), memory_seconds); }
  // Work that one kernel does after the other's.
  RooflineTime& operator+=(const RooflineTime& other) {
    matrix_seconds += other.matrix_seconds, vector_seconds += other.vector_seconds;
    memory_seconds += other.memory_seconds, known = known && other.known;
    return *this;
  }
};

// What limits something of this time: launching it, where the device's file says what that takes.
Limit limit_of(const Device& device, const RooflineTime& time);

// In which type an op's products are: that of the first tensor that it computes with.
DType product_dtype(const Graph& graph, const Op& op);
// The units and rate that do such products; nullptr where nobody says.
const Peak* product_peak(const Device& device, Category category, DType dtype, Float32 float32);
// The units that most of the products are done by; without products, those that do the rest. `macs`: by what
// product_peak says of them.
const Peak* main_peak(const Device& device, const std::map<const Peak*, Count>& macs);
// What adds, compares and takes exponentials of such numbers.
const Peak* vector_peak(const Device& device, DType dtype);

RooflineTime roofline_time(const Device& device, const OpCost& cost, DType dtype, Float32 float32);
inline double memory_seconds(const Device& device, Count bytes) {
  return static_cast<double>(bytes) / device.memory_bandwidth.value;
}

// As OpCost has times.
Count picoseconds(double seconds);

}  // namespace opscope
