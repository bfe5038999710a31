// Small ONNX models for tests, written field by field: no library of ONNX's takes part.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace opscope::onnx_bytes {

inline std::string varint(std::uint64_t number) {
  std::string out;
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
  return out;
}
inline std::string field(std::uint32_t id, std::string_view bytes) {
  return varint(std::uint64_t{id} << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string field(std::uint32_t id, std::int64_t number) {
  return varint(std::uint64_t{id} << 3) + varint(static_cast<std::uint64_t>(number));
}

struct Dim {
  Dim(std::int64_t fixed) : size(fixed) {}
  Dim(const char* symbol) : name(symbol) {}
  std::int64_t size = -1;
  std::string name;
};

inline std::string value_info(std::string_view name, const std::vector<Dim>& dims, int type = 1) {
  std::string shape;
  for (const auto& dim : dims) shape += field(1, dim.size >= 0 ? field(1, dim.size) : field(2, dim.name));
  return field(1, name) + field(2, field(1, field(1, std::int64_t{type}) + field(2, shape)));
}

inline std::string tensor(std::string_view name, const std::vector<std::int64_t>& dims, int type = 1) {
  std::string out;
  for (const auto dim : dims) out += field(1, dim);
  return out + field(2, std::int64_t{type}) + field(8, name) + field(14, std::int64_t{1});  // data elsewhere
}
inline std::string integers(std::string_view name, const std::vector<std::int64_t>& items) {
  std::string out =
      field(1, static_cast<std::int64_t>(items.size())) + field(2, std::int64_t{7}) + field(8, name);
  for (const auto item : items) out += field(7, item);
  return out;
}

inline std::string attribute(std::string_view name, std::int64_t number) {
  return field(1, name) + field(3, number);
}
inline std::string attribute(std::string_view name, const std::vector<std::int64_t>& numbers) {
  std::string out = field(1, name);
  for (const auto number : numbers) out += field(8, number);
  return out;
}
inline std::string reals_attribute(std::string_view name, const std::vector<float>& numbers) {
  std::string out = field(1, name);
  for (const auto number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    out += varint(7 << 3 | 5);
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(bits >> 8 * i));
  }
  return out;
}
inline std::string text_attribute(std::string_view name, std::string_view text) {
  return field(1, name) + field(4, text);
}
inline std::string tensor_attribute(std::string_view name, std::string_view tensor) {
  return field(1, name) + field(5, tensor);
}
inline std::string graph_attribute(std::string_view name, std::string_view graph) {
  return field(1, name) + field(6, graph);
}

using Names = std::vector<std::string>;
inline std::string node(std::string_view type, const Names& inputs, const Names& outputs,
                        const Names& attributes = {}, std::string_view domain = {}) {
  std::string out;
  for (const auto& name : inputs) out += field(1, name);
  for (const auto& name : outputs) out += field(2, name);
  out += field(4, type);
  for (const auto& one : attributes) out += field(5, one);
  return domain.empty() ? out : out + field(7, domain);
}

struct Graph {
  Names nodes, initializers, inputs, outputs, values = {};
  std::string bytes() const {
    std::string out;
    for (const auto& one : nodes) out += field(1, one);
    for (const auto& one : initializers) out += field(5, one);
    for (const auto& one : inputs) out += field(11, one);
    for (const auto& one : outputs) out += field(12, one);
    for (const auto& one : values) out += field(13, one);
    return out;
  }
};

inline std::string model(const Graph& graph, std::int64_t opset = 20, const Names& functions = {}) {
  std::string out = field(1, std::int64_t{10}) + field(2, "tests") + field(7, graph.bytes());
  out += field(8, field(2, opset));
  for (const auto& one : functions) out += field(25, one);
  return out;
}

inline std::string function(std::string_view domain, std::string_view name, const Names& inputs,
                            const Names& outputs, const Names& nodes) {
  std::string out = field(1, name);
  for (const auto& one : inputs) out += field(4, one);
  for (const auto& one : outputs) out += field(5, one);
  for (const auto& one : nodes) out += field(7, one);
  return out + field(10, domain);
}

}  // namespace opscope::onnx_bytes
