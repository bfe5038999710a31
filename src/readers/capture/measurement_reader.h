// The measured times in a capture: the inverse of graph/measurement_writer.cc. Sizes are checked with all
// else, by Graph::verify.
#pragma once

#include "graph/measurement.h"
#include "readers/json/access.h"

namespace opscope {

Measurement read_measurement(json::Place& place, json::value item);

}  // namespace opscope
