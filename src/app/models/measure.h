// A model really run, every op timed.
#pragma once

#include <optional>
#include <string>

#include "app/request/request.h"
#include "app/worker/listener.h"
#include "graph/graph.h"

namespace opscope {

// What is not said is as opscope.measure has it.
struct MeasureRequest {
  CaptureRequest model;
  std::string on;  // a device; "": where the model's weights are
  std::optional<std::int64_t> warmup, runs;
  std::optional<double> min_time;  // seconds
  bool repeat_ops = false;
};

// The model's graph with its times: of runs in Python, or of a file that has them. Throws Error where it
// cannot be run, or a file has none.
Graph measure(const MeasureRequest& request, Listener& listener);

}  // namespace opscope
