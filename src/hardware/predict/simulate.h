// A whole run, as it would go: a host thread that calls one op after the other, a device that executes what it was
// given, and the places where the host waits for the device. On a CPU the two are one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cost/cost.h"
#include "graph/graph.h"
#include "hardware/predict/predictor.h"
#include "partition/partition.h"

namespace opscope {

// eager: op by op, as PyTorch runs a model. graph: the device alone, as a CUDA graph is replayed. compiled: each
// fused subgraph is one kernel, and nothing is called op by op.
enum class RunMode : std::uint8_t { kEager, kGraph, kCompiled };
std::string_view name(RunMode mode);
RunMode run_mode_from_name(std::string_view text, std::string_view where);  // throws Error naming the choices

struct RunOptions {
  RunMode mode = RunMode::kEager;
  double host_speed = 1;  // of the calibrated host's: 2 takes half as long for each call
  Float32 float32 = Float32::kTorch;
};

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

// `dtypes`, `costs`: by op. `partition`: asked for in compiled mode alone.
PredictedRun simulate(const Graph& graph, std::span<const OpCost> costs, const PredictorPointer& predictor,
                      const RunOptions& options, const Partition* partition);

// What it rests on that a reader should know: a sentence each.
std::vector<std::string> prediction_notes(const PredictedRun& run);

// p10 and p90 of a time with this standard deviation.
struct TimeRange {
  double low = 0, high = 0;
};
TimeRange range_of(double seconds, double own_spread, double shared_spread);

}  // namespace opscope
