// libonnx's shape inference as a library of its own, loaded when an ONNX file needs it: libonnx and protobuf
// would otherwise cost every start of the program more than most of its answers do.
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

namespace {

// Older schemas need not fit newer opsets: only those that the library knows.
bool knows_opsets(const onnx::ModelProto& model) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& import : model.opset_import()) {
    const auto found = known.find(import.domain());
    if (found == known.end() || import.version() > found->second.second) return false;
  }
  return true;
}

}  // namespace

// The model with the shapes that could be inferred, or "". See app/models/models.cc.
extern "C" __attribute__((visibility("default"))) void opscope_infer_onnx_shapes(const std::string& bytes,
                                                                                 std::string& result) {
  try {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes) || !knows_opsets(model)) return;
    onnx::shape_inference::InferShapes(model);
    result = model.SerializeAsString();
  } catch (const std::exception&) {
    result.clear();
  }
}
