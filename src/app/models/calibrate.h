// A device timed by Python's process, which leaves a calibration in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/worker/python_worker.h"

namespace opscope {

struct CalibrateRequest {
  std::string on;      // "cpu", "cuda", "cuda:1"
  std::string output;  // "": where --hardware this looks
  bool quick = false;
  std::optional<std::int64_t> threads;
  std::optional<double> seconds;  // of timing ops
  std::string calls;              // a file with a list of calls; "": opscope's
};

// Gives the path of the file. Throws Interrupted after Ctrl-C: what was timed is kept, and the same request
// goes on.
std::string calibrate(const CalibrateRequest& request, Listener& listener);

}  // namespace opscope
