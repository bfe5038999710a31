// Field numbers: onnx/onnx.proto, IR versions 3 to 13.
#include "readers/onnx/model.h"

#include <cmath>

#include "base/error.h"
#include "graph/graph.h"
#include "readers/onnx/proto_wire.h"

namespace opscope {
namespace {

// By number: TensorProto.DataType.
using enum DType;
constexpr DType kDataTypes[] = {kUndefined,      kFloat32,  kUInt8,        kInt8,           kUInt16,
                                kInt16,          kInt32,    kInt64,        kString,         kBool,
                                kFloat16,        kFloat64,  kUInt32,       kUInt64,         kComplex64,
                                kComplex128,     kBFloat16, kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2,
                                kFloat8E5M2FNUZ, kUInt4,    kInt4,         kFloat4E2M1,     kFloat8E8M0FNU,
                                kUInt2,          kInt2,     kFloat6E2M3,   kFloat6E3M2};

class Parser {
 public:
  explicit Parser(const std::string& where) : where_(where) {}

  OnnxModel model(std::string_view bytes) {
    OnnxModel model;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 2) model.producer = in.bytes;
      if (in.field == 3) model.producer_version = in.bytes;
      if (in.field == 7) model.graph = graph(in.bytes);
      if (in.field == 8) opset(in.bytes, model);
      if (in.field == 25) model.functions.push_back(function(in.bytes));
    });
    return model;
  }

  OnnxGraph graph(std::string_view bytes) {
    OnnxGraph graph;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) graph.nodes.push_back(node(in.bytes));
      if (in.field == 5) graph.initializers.push_back(tensor(in.bytes));
      if (in.field == 11) graph.inputs.push_back(value_info(in.bytes));
      if (in.field == 12) graph.outputs.push_back(value_info(in.bytes));
      if (in.field == 13) graph.values.push_back(value_info(in.bytes));
      if (in.field == 15) graph.initializers.push_back(sparse(in.bytes));
    });
    return graph;
  }

  OnnxTensor tensor(std::string_view bytes) {
    OnnxTensor tensor{.bytes = bytes};
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) integers(in, tensor.dims);
      if (in.field == 2) tensor.dtype = onnx_dtype(in.integer());
      if (in.field == 8) tensor.name = in.bytes;
      if (in.field == 14) tensor.external = in.integer() == 1;
    });
    if (has_negative(tensor.dims)) fail("a tensor has a negative dimension");
    return tensor;
  }

  // The values' tensor with the whole's shape: what counts is how many numbers are stored, and where.
  OnnxTensor sparse(std::string_view bytes) {
    OnnxTensor made;
    std::vector<std::int64_t> dims;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) made = tensor(in.bytes);
      if (in.field == 3) integers(in, dims);
    });
    if (has_negative(dims)) fail("a tensor has a negative dimension");
    made.dims = std::move(dims);
    made.bytes = {};
    return made;
  }

  // Fields: 1 and 8 a tensor, dense or sparse; 4 a sequence and 9 an optional, of a type. Maps, and sequences
  // of sequences, stay without a tensor.
  OnnxType type(std::string_view bytes) {
    OnnxType type;
    for (int depth = 0; depth < 4 && !bytes.empty(); ++depth) {
      std::string_view inner;
      each(bytes, [&](ProtoReader& in) {
        if (in.field == 1 || in.field == 8) tensor_type(in.bytes, type);
        if ((in.field == 4 && type.is_sequence) || (in.field != 4 && in.field != 9)) return;
        (in.field == 4 ? type.is_sequence : type.is_optional) = true;
        each(in.bytes, [&](ProtoReader& item) {
          if (item.field == 1) inner = item.bytes;
        });
      });
      bytes = inner;
    }
    return type;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(what, where_, "the file is damaged; export or download it again");
  }

  template <class Visit>
  void each(std::string_view bytes, Visit visit) {
    ProtoReader in(bytes);
    while (in.next()) visit(in);
    if (in.bad()) fail("the ONNX file is damaged or cut off");
  }

  // Packed, or one at a time.
  void integers(const ProtoReader& in, std::vector<std::int64_t>& into) {
    if (in.wire == ProtoReader::kVarint) return into.push_back(in.integer());
    ProtoReader list(in.bytes);
    while (!list.empty()) into.push_back(static_cast<std::int64_t>(list.read_varint()));
    if (list.bad()) fail("the ONNX file is damaged or cut off");
  }
  void reals(const ProtoReader& in, std::vector<float>& into) {
    if (in.wire == ProtoReader::kFixed32) return into.push_back(in.real());
    ProtoReader list(in.bytes);
    while (!list.empty())
      into.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(list.read_fixed(4))));
    if (list.bad()) fail("the ONNX file is damaged or cut off");
  }

  void opset(std::string_view bytes, OnnxModel& model) {
    std::string domain;
    std::int64_t version = 0;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) domain = in.bytes;
      if (in.field == 2) version = in.integer();
    });
    if (domain == "ai.onnx") domain.clear();
    model.opsets[domain] = version;
  }

  OnnxValueInfo value_info(std::string_view bytes) {
    OnnxValueInfo info;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) info.name = in.bytes;
      if (in.field == 2) info.type = type(in.bytes);
    });
    return info;
  }

  void tensor_type(std::string_view bytes, OnnxType& type) {
    type.is_tensor = true;
    each(bytes, [&](ProtoReader& item) {
      if (item.field == 1) type.dtype = onnx_dtype(item.integer());
      if (item.field == 2) shape(item.bytes, type);
    });
  }

  void shape(std::string_view bytes, OnnxType& type) {
    type.has_shape = true;
    each(bytes, [&](ProtoReader& in) {
      if (in.field != 1) return;
      OnnxDim dim;
      each(in.bytes, [&](ProtoReader& item) {
        if (item.field == 1) dim.size = item.integer();
        if (item.field == 2) dim.name = item.bytes;
      });
      if (dim.size < 0) dim.size = -1;
      type.dims.push_back(dim);
    });
  }

  OnnxNode node(std::string_view bytes) {
    OnnxNode node;
    node.bytes = bytes;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) node.inputs.push_back(in.bytes);
      if (in.field == 2) node.outputs.push_back(in.bytes);
      if (in.field == 3) node.name = in.bytes;
      if (in.field == 4) node.op_type = in.bytes;
      if (in.field == 5) node.attributes.push_back(attribute(in.bytes));
      if (in.field == 7) node.domain = in.bytes == "ai.onnx" ? std::string_view{} : in.bytes;
      if (in.field == 9) metadata(in.bytes, node);
    });
    return node;
  }

  void metadata(std::string_view bytes, OnnxNode& node) {
    std::string_view key, value;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) key = in.bytes;
      if (in.field == 2) value = in.bytes;
    });
    if (key == "pkg.torch.onnx.name_scopes") node.name_scopes = value;
    if (key == "pkg.torch.onnx.class_hierarchy") node.class_hierarchy = value;
    if (key == "pkg.onnxscript.rewriter.rule_name") node.rewritten_by = value;
  }

  OnnxAttribute attribute(std::string_view bytes) {
    OnnxAttribute attribute;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) attribute.name = in.bytes;
      if (in.field == 2) attribute.real = in.real();
      if (in.field == 3) attribute.integer = in.integer();
      if (in.field == 4) attribute.text = in.bytes;
      if (in.field == 5) attribute.tensor = in.bytes;
      if (in.field == 6) attribute.graph = in.bytes;
      if (in.field == 7) reals(in, attribute.reals);
      if (in.field == 8) integers(in, attribute.integers);
      if (in.field == 9 && attribute.texts++ == 0) attribute.text = in.bytes;  // of a list, the first
      if (in.field == 14) attribute.type = in.bytes;
      if (in.field == 21) attribute.refers_to = in.bytes;
      if (in.field == 22) attribute.sparse = in.bytes;
    });
    return attribute;
  }

  OnnxFunction function(std::string_view bytes) {
    OnnxFunction function;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) function.name = in.bytes;
      if (in.field == 4) function.inputs.push_back(in.bytes);
      if (in.field == 5) function.outputs.push_back(in.bytes);
      if (in.field == 7) function.nodes.push_back(node(in.bytes));
      if (in.field == 10) function.domain = in.bytes == "ai.onnx" ? std::string_view{} : in.bytes;
      if (in.field == 11) function.defaults.push_back(attribute(in.bytes));
      if (in.field == 12) function.values.push_back(value_info(in.bytes));
    });
    return function;
  }

  const std::string& where_;
};

// --- The numbers of small tensors, from raw bytes and from typed lists

float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  float value = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                : exponent == 31 ? std::numeric_limits<float>::infinity()
                                 : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

bool is_real(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}
bool is_whole(DType dtype) { return dtype >= DType::kBool && dtype <= DType::kInt64; }

// The number of these little-endian bits.
double real_of(DType dtype, std::uint64_t bits) {
  if (dtype == DType::kFloat64) return std::bit_cast<double>(bits);
  if (dtype == DType::kFloat16) return half_to_float(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits << (dtype == DType::kBFloat16 ? 16 : 0)));
}
std::int64_t integer_of(DType dtype, std::uint64_t bits) {
  if (dtype == DType::kInt8) return static_cast<std::int8_t>(bits);
  if (dtype == DType::kInt16) return static_cast<std::int16_t>(bits);
  if (dtype == DType::kInt32) return static_cast<std::int32_t>(bits);
  return static_cast<std::int64_t>(bits);
}
void add_raw(Numbers& numbers, DType dtype, std::uint64_t bits) {
  numbers.is_real ? numbers.reals.push_back(real_of(dtype, bits))
                  : numbers.integers.push_back(integer_of(dtype, bits));
}

// The typed lists: floats in 4, ints and halves in 5, int64 in 7, doubles in 10, uint64 in 11.
void add_listed(Numbers& numbers, DType dtype, const ProtoReader& in) {
  if (in.field != 4 && in.field != 5 && in.field != 7 && in.field != 10 && in.field != 11) return;
  const std::size_t width = in.field == 4 ? 4 : in.field == 10 ? 8 : 0;
  if (in.wire != ProtoReader::kBytes) return add_raw(numbers, dtype, in.number);
  ProtoReader list(in.bytes);
  while (!list.empty()) {
    const auto bits = width != 0 ? list.read_fixed(width) : list.read_varint();
    if (!list.bad()) add_raw(numbers, dtype, bits);
  }
}

}  // namespace

DType onnx_dtype(std::int64_t data_type) {
  const bool is_known = data_type >= 0 && data_type < std::ssize(kDataTypes);
  return is_known ? kDataTypes[data_type] : DType::kUndefined;
}

std::int64_t onnx_data_type(DType dtype) {
  const auto* const found = std::ranges::find(kDataTypes, dtype);
  return found == std::end(kDataTypes) ? 0 : found - kDataTypes;
}

const OnnxAttribute* OnnxNode::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &OnnxAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

OnnxModel parse_onnx_model(std::string_view bytes, const std::string& where) {
  return Parser(where).model(bytes);
}
OnnxGraph parse_onnx_graph(std::string_view bytes, const std::string& where) {
  return Parser(where).graph(bytes);
}
OnnxTensor parse_onnx_tensor(std::string_view bytes, const std::string& where) {
  return Parser(where).tensor(bytes);
}
OnnxTensor parse_onnx_sparse(std::string_view bytes, const std::string& where) {
  return Parser(where).sparse(bytes);
}
OnnxType parse_onnx_type(std::string_view bytes, const std::string& where) {
  return Parser(where).type(bytes);
}

// ir_version first, or another of the small fields that writers put first, and a graph among the first
// fields.
bool looks_like_onnx(std::string_view bytes) {
  ProtoReader in(bytes);
  bool has_version = false;
  for (int i = 0; i < 4096 && in.next(); ++i) {
    const bool is_number = in.wire == ProtoReader::kVarint;
    if (in.field == 1 && is_number && in.number > 0 && in.number < 1000) {
      has_version = true;
    } else if (in.field == 7 && in.wire == ProtoReader::kBytes) {
      return has_version;
    } else if (in.field == 5 ? !is_number : in.wire != ProtoReader::kBytes) {
      return false;
    }
  }
  // Cut off inside the graph: the reader says so.
  return has_version && in.bad() && in.field == 7;
}

std::optional<Numbers> onnx_numbers(const OnnxTensor& tensor, std::size_t limit) {
  const auto count = numel(tensor.dims);
  Numbers numbers{.is_real = is_real(tensor.dtype)};
  if (count > Count{limit} || tensor.external || tensor.bytes.empty()) return std::nullopt;
  if (!numbers.is_real && !is_whole(tensor.dtype)) return std::nullopt;
  ProtoReader in(tensor.bytes);
  const auto width = element_bytes(tensor.dtype);
  while (in.next()) {
    if (in.field == 9 && in.wire == ProtoReader::kBytes) {
      if (in.bytes.size() != count.value() * width) return std::nullopt;
      ProtoReader raw(in.bytes);
      while (!raw.empty()) add_raw(numbers, tensor.dtype, raw.read_fixed(width));
    } else if (in.wire == ProtoReader::kBytes && in.bytes.size() > limit * 10) {
      return std::nullopt;
    } else {
      add_listed(numbers, tensor.dtype, in);
    }
  }
  if (numbers.size() != count.value()) return std::nullopt;
  return numbers;
}

std::int64_t Numbers::integer(std::size_t i) const {
  if (!is_real) return integers[i];
  constexpr double kMost = 9.2e18;
  return std::isfinite(reals[i]) && std::abs(reals[i]) < kMost ? static_cast<std::int64_t>(reals[i]) : 0;
}

}  // namespace opscope
