// One node as a model of its own, for an inference that lives elsewhere.
#pragma once

#include <vector>

#include "readers/onnx/call.h"
#include "readers/onnx/reader.h"

namespace opscope {

// The types of the node's outputs as the inference has them; empty where it has no answer.
std::vector<OnnxType> infer_single(const OnnxCall& call, OnnxInference infer);

}  // namespace opscope
