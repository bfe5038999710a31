#include "cli/onnx_inference.h"

#ifdef OPSCOPE_LIBONNX
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#endif

namespace opscope {
namespace {

#ifdef OPSCOPE_LIBONNX
// Older schemas need not fit newer opsets: only those that the library knows.
bool knows_opsets(const onnx::ModelProto& model) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& import : model.opset_import()) {
    const auto found = known.find(import.domain());
    if (found == known.end() || import.version() > found->second.second) return false;
  }
  return true;
}

std::string infer(const std::string& bytes) {
  try {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes) || !knows_opsets(model)) return "";
    onnx::shape_inference::InferShapes(model);
    return model.SerializeAsString();
  } catch (const std::exception&) {
    return "";
  }
}
#endif

}  // namespace

OnnxInference onnx_inference() {
#ifdef OPSCOPE_LIBONNX
  return infer;
#else
  return nullptr;
#endif
}

}  // namespace opscope
