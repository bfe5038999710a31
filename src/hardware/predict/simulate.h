// A whole run, as it would go: a host thread that calls one op after the other, a device that executes what
// it was given, and the places where the host waits for the device. On a CPU the two are one.
#pragma once

#include <span>

#include "cost/cost.h"
#include "graph/graph.h"
#include "hardware/predict/predicted_run.h"
#include "hardware/roofline.h"
#include "partition/partition.h"

namespace opscope {

struct RunOptions {
  RunMode mode = RunMode::kEager;
  double host_speed = 1;  // of the calibrated host's: 2 takes half as long for each call
  Float32 float32 = Float32::kTorch;
};

// `dtypes`, `costs`: by op. `partition`: asked for in compiled mode alone.
PredictedRun simulate(const Graph& graph, std::span<const OpCost> costs, const PredictorPointer& predictor,
                      const RunOptions& options, const Partition* partition);

}  // namespace opscope
