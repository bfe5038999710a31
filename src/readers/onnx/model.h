// An ONNX file's model as plain data, by the field numbers of onnx.proto. Views into the file: nothing that
// is large is copied. Newer IR versions and opsets read the same; what is not known here is passed over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"

namespace opscope {

// By TensorProto.DataType; kUndefined for what is not known.
DType onnx_dtype(std::int64_t data_type);
std::int64_t onnx_data_type(DType dtype);  // 0 where there is none

struct OnnxTensor {
  std::string_view name = {};
  std::vector<std::int64_t> dims = {};
  DType dtype = DType::kUndefined;
  std::string_view bytes = {};  // the whole message, for those who want its numbers
  bool external = false;
};

struct OnnxDim {
  std::int64_t size = -1;  // -1: see `name`
  std::string_view name;   // "": not known at all
};
// Of a tensor, or of what an optional or a sequence holds.
struct OnnxType {
  DType dtype = DType::kUndefined;
  bool is_tensor = false, has_shape = false;
  bool is_sequence = false, is_optional = false;
  std::vector<OnnxDim> dims;
};
struct OnnxValueInfo {
  std::string_view name;
  OnnxType type;
};

struct OnnxAttribute {
  std::string_view name, text, refers_to;
  std::optional<std::int64_t> integer;
  std::optional<float> real;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::size_t texts = 0;                         // of a list of strings
  std::string_view tensor, sparse, graph, type;  // messages
};

struct OnnxNode {
  std::vector<std::string_view> inputs, outputs;
  std::string_view name, op_type, domain;
  std::vector<OnnxAttribute> attributes;
  std::string_view bytes;                                       // the whole message
  std::string_view name_scopes, class_hierarchy, rewritten_by;  // what PyTorch's exporter notes

  const OnnxAttribute* attribute(std::string_view wanted) const;
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs, outputs, values;
};

struct OnnxFunction {
  std::string_view name, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxValueInfo> values;
  std::vector<OnnxAttribute> defaults;
};

struct OnnxModel {
  std::string_view producer, producer_version;
  std::map<std::string, std::int64_t, std::less<>> opsets;  // by domain, "" for ONNX's own
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;
};

// Throw Error where the bytes are no such message.
OnnxModel parse_onnx_model(std::string_view bytes, const std::string& where);
OnnxGraph parse_onnx_graph(std::string_view bytes, const std::string& where);
OnnxTensor parse_onnx_tensor(std::string_view bytes, const std::string& where);
OnnxTensor parse_onnx_sparse(std::string_view bytes, const std::string& where);  // with the whole's shape
OnnxType parse_onnx_type(std::string_view bytes, const std::string& where);

// True for bytes whose first fields are an ONNX model's.
bool looks_like_onnx(std::string_view bytes);

// A small tensor's numbers: shapes, axes, scales.
struct Numbers {
  std::vector<std::int64_t> integers = {};
  std::vector<double> reals = {};
  bool is_real = false;

  std::size_t size() const { return is_real ? reals.size() : integers.size(); }
  std::int64_t integer(std::size_t i) const;  // reals cut off
  double real(std::size_t i) const { return is_real ? reals[i] : static_cast<double>(integers[i]); }
  void add(const Numbers& from, std::size_t i) {  // of the same kind
    is_real ? reals.push_back(from.reals[i]) : integers.push_back(from.integers[i]);
  }
};
// Those of a tensor, where they are in the file and at most `limit`.
std::optional<Numbers> onnx_numbers(const OnnxTensor& tensor, std::size_t limit);

constexpr bool has_negative(std::span<const std::int64_t> sizes) {
  return std::ranges::any_of(sizes, [](std::int64_t size) { return size < 0; });
}

}  // namespace opscope
