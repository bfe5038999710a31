// The writing half of the wire format, as little of it as one node needs.
#include "readers/onnx/single.h"

#include <fmt/format.h>

namespace opscope {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // a node with more carries weights, or means harm

std::string varint(std::uint64_t number) {
  std::string out;
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
  return out;
}
std::string field(std::uint32_t id, std::string_view bytes) {
  return varint(std::uint64_t{id} << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string field(std::uint32_t id, std::int64_t number) {
  return varint(std::uint64_t{id} << 3) + varint(static_cast<std::uint64_t>(number));
}

std::string value_info(std::string_view name, const OnnxInfo& info) {
  std::string shape;
  for (const auto size : *info.shape) shape += field(1, field(1, size));
  return field(1, name) + field(2, field(1, field(1, onnx_data_type(info.dtype)) + field(2, shape)));
}

std::string initializer(std::string_view name, const OnnxInfo& info) {
  std::string out;
  for (const auto size : *info.shape) out += field(1, size);
  out += field(2, onnx_data_type(info.dtype)) + field(8, name);
  for (const auto item : info.numbers->integers) out += field(7, item);
  return out;
}

}  // namespace

std::vector<OnnxType> infer_single(const OnnxCall& call, std::string (*infer)(const std::string& model)) {
  const auto& node = call.node();
  if (infer == nullptr || !node.domain.empty() || node.bytes.size() > kMostBytes || !call.knows_all_shapes())
    return {};
  std::string graph = field(1, node.bytes) + field(2, "one");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto* info = call.info(i);
    if (info == nullptr) continue;
    const bool is_list = info->numbers && !info->numbers->is_real && info->dtype == DType::kInt64;
    graph +=
        is_list ? field(5, initializer(node.inputs[i], *info)) : field(11, value_info(node.inputs[i], *info));
  }
  for (const auto output : node.outputs) graph += field(12, field(1, output));
  const auto answer =
      infer(field(1, std::int64_t{8}) + field(7, graph) + field(8, field(1, "") + field(2, call.opset())));
  if (answer.empty()) return {};
  std::vector<OnnxType> types(node.outputs.size());
  const auto model = parse_onnx_model(answer, call.state().where);
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    for (const auto* list : {&model.graph.outputs, &model.graph.values})
      for (const auto& value : *list)
        if (value.name == node.outputs[i] && value.type.has_shape) types[i] = value.type;
  for (auto& type : types)
    for (auto& dim : type.dims) dim.name = {};  // views into what goes now
  return types;
}

}  // namespace opscope
