// Field numbers: onnx/onnx.proto, IR versions 3 to 13.
#include "readers/onnx/model.h"

#include "base/error.h"
#include "readers/onnx/proto_wire.h"

namespace opscope {
namespace {

struct DataType {
  std::int64_t number;
  DType dtype;
};
// Four-bit types are counted by the byte.
constexpr DataType kDataTypes[] = {
    {1, DType::kFloat32},
    {2, DType::kUInt8},
    {3, DType::kInt8},
    {4, DType::kUInt16},
    {5, DType::kInt16},
    {6, DType::kInt32},
    {7, DType::kInt64},
    {9, DType::kBool},
    {10, DType::kFloat16},
    {11, DType::kFloat64},
    {12, DType::kUInt32},
    {13, DType::kUInt64},
    {14, DType::kComplex64},
    {15, DType::kComplex128},
    {16, DType::kBFloat16},
    {17, DType::kFloat8E4M3FN},
    {18, DType::kFloat8E4M3FNUZ},
    {19, DType::kFloat8E5M2},
    {20, DType::kFloat8E5M2FNUZ},
    {21, DType::kUInt8},
    {22, DType::kInt8},
    {23, DType::kFloat8E4M3FN},
    {24, DType::kFloat8E8M0FNU},
};

class Parser {
 public:
  explicit Parser(const std::string& where) : where_(where) {}

  OnnxModel model(std::string_view bytes) {
    OnnxModel model;
    each(bytes, [&](ProtoReader& in) {
      switch (in.field) {
        case 1:
          model.ir_version = in.integer();
          break;
        case 2:
          model.producer = in.bytes;
          break;
        case 3:
          model.producer_version = in.bytes;
          break;
        case 7:
          model.graph = graph(in.bytes);
          break;
        case 8:
          opset(in.bytes, model);
          break;
        case 25:
          model.functions.push_back(function(in.bytes));
          break;
        default:
          break;
      }
    });
    return model;
  }

  OnnxGraph graph(std::string_view bytes) {
    OnnxGraph graph;
    each(bytes, [&](ProtoReader& in) {
      switch (in.field) {
        case 1:
          graph.nodes.push_back(node(in.bytes));
          break;
        case 2:
          graph.name = in.bytes;
          break;
        case 5:
          graph.initializers.push_back(tensor(in.bytes));
          break;
        case 11:
          graph.inputs.push_back(value_info(in.bytes));
          break;
        case 12:
          graph.outputs.push_back(value_info(in.bytes));
          break;
        case 13:
          graph.values.push_back(value_info(in.bytes));
          break;
        case 15:
          graph.initializers.push_back(sparse(in.bytes));
          break;
        default:
          break;
      }
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
    for (const auto dim : tensor.dims)
      if (dim < 0) fail("a tensor has a negative dimension");
    return tensor;
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

  // Packed or one at a time.
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

  // The values' tensor with the whole's shape: what counts is how many numbers are stored, and where.
  OnnxTensor sparse(std::string_view bytes) {
    OnnxTensor made;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) made = tensor(in.bytes);
    });
    std::vector<std::int64_t> dims;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 3) integers(in, dims);
    });
    for (const auto dim : dims)
      if (dim < 0) fail("a tensor has a negative dimension");
    made.dims = std::move(dims);
    made.bytes = {};
    return made;
  }

  OnnxValueInfo value_info(std::string_view bytes) {
    OnnxValueInfo info;
    each(bytes, [&](ProtoReader& in) {
      if (in.field == 1) info.name = in.bytes;
      if (in.field == 2) info.type = type(in.bytes);
    });
    return info;
  }

  // Sequences, maps and optionals are no tensors and stay without a type.
  OnnxType type(std::string_view bytes) {
    OnnxType type;
    each(bytes, [&](ProtoReader& in) {
      if (in.field != 1) return;
      type.is_tensor = true;
      each(in.bytes, [&](ProtoReader& item) {
        if (item.field == 1) type.dtype = onnx_dtype(item.integer());
        if (item.field == 2) shape(item.bytes, type);
      });
    });
    return type;
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
      switch (in.field) {
        case 1:
          node.inputs.push_back(in.bytes);
          break;
        case 2:
          node.outputs.push_back(in.bytes);
          break;
        case 3:
          node.name = in.bytes;
          break;
        case 4:
          node.op_type = in.bytes;
          break;
        case 5:
          node.attributes.push_back(attribute(in.bytes));
          break;
        case 7:
          node.domain = in.bytes == "ai.onnx" ? std::string_view{} : in.bytes;
          break;
        case 9:
          metadata(in.bytes, node);
          break;
        default:
          break;
      }
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
      switch (in.field) {
        case 1:
          attribute.name = in.bytes;
          break;
        case 2:
          attribute.real = in.real();
          attribute.has_real = true;
          break;
        case 3:
          attribute.integer = in.integer();
          attribute.has_integer = true;
          break;
        case 4:
          attribute.text = in.bytes;
          break;
        case 5:
          attribute.tensor = in.bytes;
          break;
        case 6:
          attribute.graph = in.bytes;
          break;
        case 7:
          reals(in, attribute.reals);
          break;
        case 8:
          integers(in, attribute.integers);
          break;
        case 9:
          if (attribute.text.empty()) attribute.text = in.bytes;  // of a list, the first
          break;
        case 21:
          attribute.refers_to = in.bytes;
          break;
        default:
          break;
      }
    });
    return attribute;
  }

  OnnxFunction function(std::string_view bytes) {
    OnnxFunction function;
    each(bytes, [&](ProtoReader& in) {
      switch (in.field) {
        case 1:
          function.name = in.bytes;
          break;
        case 4:
          function.inputs.push_back(in.bytes);
          break;
        case 5:
          function.outputs.push_back(in.bytes);
          break;
        case 7:
          function.nodes.push_back(node(in.bytes));
          break;
        case 10:
          function.domain = in.bytes == "ai.onnx" ? std::string_view{} : in.bytes;
          break;
        case 11:
          function.defaults.push_back(attribute(in.bytes));
          break;
        case 12:
          function.values.push_back(value_info(in.bytes));
          break;
        default:
          break;
      }
    });
    return function;
  }

  const std::string& where_;
};

}  // namespace

DType onnx_dtype(std::int64_t data_type) {
  for (const auto& row : kDataTypes)
    if (row.number == data_type) return row.dtype;
  return DType::kUndefined;
}

std::int64_t onnx_data_type(DType dtype) {
  for (const auto& row : kDataTypes)
    if (row.dtype == dtype) return row.number;
  return 0;
}

const OnnxAttribute* OnnxNode::attribute(std::string_view wanted) const {
  for (const auto& one : attributes)
    if (one.name == wanted) return &one;
  return nullptr;
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

}  // namespace opscope
