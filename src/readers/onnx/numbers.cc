// The numbers of small tensors, from raw bytes and from typed lists.
#include <cmath>

#include "graph/graph.h"
#include "readers/onnx/model.h"
#include "readers/onnx/proto_wire.h"

namespace opscope {
namespace {

float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  float value = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                : exponent == 31 ? std::numeric_limits<float>::infinity()
                                 : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// One little-endian number of raw_data.
void add_raw(OnnxNumbers& numbers, DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::kFloat32:
      return numbers.reals.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::kFloat64:
      return numbers.reals.push_back(std::bit_cast<double>(bits));
    case DType::kFloat16:
      return numbers.reals.push_back(half_to_float(static_cast<std::uint16_t>(bits)));
    case DType::kBFloat16:
      return numbers.reals.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    case DType::kInt8:
      return numbers.integers.push_back(static_cast<std::int8_t>(bits));
    case DType::kInt16:
      return numbers.integers.push_back(static_cast<std::int16_t>(bits));
    case DType::kInt32:
      return numbers.integers.push_back(static_cast<std::int32_t>(bits));
    default:
      return numbers.integers.push_back(static_cast<std::int64_t>(bits));
  }
}

bool is_real(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}
bool is_whole(DType dtype) { return dtype >= DType::kBool && dtype <= DType::kInt64; }

// The typed lists: floats in 4, ints and halves in 5, int64 in 7, doubles in 10, uint64 in 11.
void add_listed(OnnxNumbers& numbers, DType dtype, const ProtoReader& in) {
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

std::optional<OnnxNumbers> onnx_numbers(const OnnxTensor& tensor, std::size_t limit) {
  const auto count = numel(tensor.dims);
  OnnxNumbers numbers{.is_real = is_real(tensor.dtype)};
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
  const auto found = numbers.is_real ? numbers.reals.size() : numbers.integers.size();
  if (found != count.value()) return std::nullopt;
  return numbers;
}

}  // namespace opscope
