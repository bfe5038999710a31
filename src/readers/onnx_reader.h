// ONNX files -> Graph: every node becomes the ATen ops that have rows in the cost table, or is said to be
// unknown. Weights, in the file or beside it, are never read.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "readers/symbols.h"

namespace opscope {

// where: the file's name, for errors. model: for the report. The graph is verified.
Graph read_onnx(std::string_view bytes, const std::string& where, std::string_view model, const Dims& dims);

}  // namespace opscope
