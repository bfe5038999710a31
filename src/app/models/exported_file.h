// Files that a tracer's graph was exported to, read back for their rows in the comparison.
#pragma once

#include <string_view>

#include "analyse/trace/trace.h"
#include "readers/onnx/reader.h"

namespace opscope {

// Of a "pt2", "onnx" or "mlir". One that was not written, or cannot be read back, is a row that does not
// work.
TracerRow exported_row(const SavedFile& file);

// The operations in MLIR's text, those that only hold others together left out.
std::uint64_t count_mlir_operations(std::string_view text);

// libonnx's shape inference, where opscope was built with it ("" elsewhere), for ONNX ops that the readers
// have no rule for; loaded only then. In the program alone: the Python module shares its process with torch,
// whose libraries carry a protobuf of their own.
OnnxInference onnx_inference();

}  // namespace opscope
