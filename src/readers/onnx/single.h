// One node as a model of its own, for an inference that lives elsewhere.
#pragma once

#include <string>
#include <vector>

#include "readers/onnx/call.h"

namespace opscope {

// The types of the node's outputs as the inference (see OnnxInference) has them; empty where it has no
// answer.
std::vector<OnnxType> infer_single(const OnnxCall& call, std::string (*infer)(const std::string& model));

}  // namespace opscope
