// A whole run as it would go on a device, and where its time comes from and goes to.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {

struct Calibration;
class Predictor;
using CalibrationPointer = std::shared_ptr<const Calibration>;
using PredictorPointer = std::shared_ptr<const Predictor>;

// Where a time comes from, best first.
enum class TimeSource : std::uint8_t {
  kMeasured,      // this very call
  kInterpolated,  // measured calls that are like it
  kFamily,        // rates of its family
  kBorrowed,      // rates of its family on a related device
  kRoofline,      // the least that it can take
  kUnknown,
};
inline constexpr std::size_t kTimeSources = 6;
std::string_view name(TimeSource source);  // "measured", "interpolated", "family", "related device", ...

// eager: op by op, as PyTorch runs a model. graph: the device alone, as a CUDA graph is replayed. compiled:
// each fused subgraph is one kernel, and nothing is called op by op.
enum class RunMode : std::uint8_t { kEager, kGraph, kCompiled };
std::string_view name(RunMode mode);
RunMode run_mode_from_name(std::string_view text, std::string_view where);  // throws Error naming the choices

// What the time of a run goes into.
enum class RunLimit : std::uint8_t { kCompute, kMemory, kLaunch, kHost, kUnknown };
inline constexpr std::size_t kRunLimits = 5;
std::string_view name(RunLimit limit);  // "compute-bound", ...

// By op: its share of the run. Shares are the whole run together.
struct OpShare {
  double seconds = 0;     // with the time that the device waits for it to be called
  double own_spread = 0;  // standard deviation, seconds
  double begin = 0;       // on the device, from the start of the run
  double device_seconds = 0, host_begin = 0, host_seconds = 0;
  TimeSource source = TimeSource::kUnknown;
  bool is_idle = false;
};

struct PredictedRun {
  PredictorPointer predictor{};  // nullptr: nothing was predicted
  RunMode mode = RunMode::kEager;
  std::vector<OpShare> ops;
  double seconds = 0;         // of the whole run
  double device_seconds = 0;  // the device is busy
  double host_seconds = 0;    // the host is
  double run_spread = 0;      // standard deviation of the logarithm that all ops share
  std::array<double, kRunLimits> by_limit{};
  std::array<double, kTimeSources> by_source{};  // of the device's time
  std::uint64_t unknown_ops = 0;                 // are not in it

  double of(RunLimit limit) const { return by_limit[static_cast<std::size_t>(limit)]; }
  double of(TimeSource source) const { return by_source[static_cast<std::size_t>(source)]; }
};

// What it rests on that a reader should know: a sentence each.
std::vector<std::string> prediction_notes(const PredictedRun& run);

// p10 and p90 of a time with this standard deviation.
struct TimeRange {
  double low = 0, high = 0;
};
TimeRange range_of(double seconds, double own_spread, double shared_spread);

}  // namespace opscope
