// ONNX files -> Graph: every node becomes the ATen ops that have rows in the cost table, or is said to be
// unknown. Weights, in the file or beside it, are never read.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "readers/pt2/symbols.h"

namespace opscope {

// Shapes for nodes without a rule: a model's bytes in, the same model with the shapes it found out, or "".
using OnnxInference = std::string (*)(const std::string& model);

// where: the file's name, for errors. model: for the report. The graph is verified.
Graph read_onnx(std::string_view bytes, const std::string& where, std::string_view model, const Dims& dims,
                OnnxInference infer = nullptr);

}  // namespace opscope
