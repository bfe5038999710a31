// Graph -> the capture's JSON form (schema/capture.schema.json): lossless, deterministic, one op, value or
// module per line. readers/capture/capture_reader.h is its inverse.
#pragma once

#include <string>

#include "base/text_blocks.h"
#include "graph/graph.h"

namespace opscope {

std::string write_json(const Graph& graph);
void write_json(const Graph& graph, const TextSink& sink);

}  // namespace opscope
