#include "readers/onnx/scopes.h"

#include <fmt/format.h>

namespace opscope {
namespace {

// "['', 'layer1', 'layer1.0']" -> its strings. Python's repr of a list of plain names.
std::vector<std::string_view> listed(std::string_view text) {
  std::vector<std::string_view> items;
  for (;;) {
    const auto open = text.find_first_of("'\"");
    if (open == std::string_view::npos) return items;
    const auto close = text.find(text[open], open + 1);
    if (close == std::string_view::npos) return items;
    items.push_back(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

}  // namespace

void OnnxScopes::enter(const OnnxNode& node) {
  if (!enter_noted(node)) enter_named(node.name);
}

// Paths from the root down, and the node's own name at the end; classes beside them.
bool OnnxScopes::enter_noted(const OnnxNode& node) {
  if (node.name_scopes.empty()) return false;
  const auto paths = listed(node.name_scopes), types = listed(node.class_hierarchy);
  stack_.clear();
  for (std::size_t i = 0; i + 1 < paths.size(); ++i) {
    const auto type = i + 1 < types.size() ? types[i] : std::string_view{};
    if (paths[i].empty())
      out_.module("", type);
    else
      stack_.push_back({paths[i], paths[i], type});
  }
  if (node.rewritten_by.find("FuseBatchNorm") != std::string_view::npos) move_to_weight(node);
  out_.enter(stack_);
  return true;
}

// The exporter notes a convolution that a batch norm was folded into as the norm's: its weight knows better.
void OnnxScopes::move_to_weight(const OnnxNode& node) {
  if (node.inputs.size() < 2 || stack_.empty()) return;
  const auto weight = node.inputs[1];
  const auto dot = weight.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return;
  const auto path = weight.substr(0, dot);
  const auto* kernel = node.attribute("kernel_shape");
  const auto axes = kernel != nullptr ? kernel->integers.size() : 0;
  constexpr std::string_view kTypes[] = {"", "Conv1d", "Conv2d", "Conv3d"};
  stack_.back() = {path, path, node.op_type == "Conv" && axes < 4 ? kTypes[axes] : std::string_view{}};
}

// "/layer1/layer1.0/conv1/Conv": a container's children carry its name.
void OnnxScopes::enter_named(std::string_view name) {
  paths_.clear();
  std::string path;
  std::string_view last;
  if (!name.starts_with('/')) name = {};
  while (!name.empty()) {
    name.remove_prefix(1);
    const auto slash = name.find('/');
    if (slash == std::string_view::npos) break;  // the node's own
    auto part = name.substr(0, slash);
    name.remove_prefix(slash);
    auto own = part;
    if (!last.empty() && part.size() > last.size() + 1 && part.starts_with(last) && part[last.size()] == '.')
      own.remove_prefix(last.size() + 1);
    if (own.empty()) continue;
    if (!path.empty()) path += '.';
    path += own;
    last = part;
    paths_.push_back(path);
    if (paths_.size() > 64) break;
  }
  stack_.clear();
  for (const auto& one : paths_) stack_.push_back({one, one, {}});
  out_.enter(stack_);
}

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
