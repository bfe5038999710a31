// A graph's measurement -> its part of the capture's JSON; readers/capture/measurement_reader.h is the
// inverse.
#pragma once

#include "base/json_writer.h"
#include "graph/measurement.h"

namespace opscope {

void write_json(JsonWriter& json, const Measurement& measurement);  // one object

}  // namespace opscope
