// libonnx's shape inference, where opscope was built with it, for ONNX ops that the readers have no rule for;
// loaded only then. In the program alone: the Python module shares its process with torch, whose libraries
// carry a protobuf of their own.
#pragma once

#include "readers/onnx/reader.h"

namespace opscope {

// Gives "" where there is no libonnx.
OnnxInference onnx_inference();

}  // namespace opscope
