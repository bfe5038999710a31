// Element types, by PyTorch's names. Values in files are the names, so the order here may change.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/count.h"

namespace opscope {

enum class DType : std::uint8_t {
  kUndefined,
  kBool,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat8E4M3FN,
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kFloat8E8M0FNU,
  kFloat4E2M1FNX2,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kQInt8,
  kQUInt8,
  kQInt32,
  kQUInt4X2,
  kQUInt2X4,
  kBits8,
  // ONNX alone has the rest: numbers of fewer bits than a byte, packed without gaps, and texts.
  kUInt4,
  kInt4,
  kUInt2,
  kInt2,
  kFloat4E2M1,
  kFloat6E2M3,
  kFloat6E3M2,
  kString,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::uint8_t bits;
  bool is_float;
  bool is_complex;
};

inline constexpr std::array kDTypes{
    DTypeInfo{DType::kUndefined, "undefined", 0, false, false},
    DTypeInfo{DType::kBool, "bool", 8, false, false},
    DTypeInfo{DType::kUInt8, "uint8", 8, false, false},
    DTypeInfo{DType::kUInt16, "uint16", 16, false, false},
    DTypeInfo{DType::kUInt32, "uint32", 32, false, false},
    DTypeInfo{DType::kUInt64, "uint64", 64, false, false},
    DTypeInfo{DType::kInt8, "int8", 8, false, false},
    DTypeInfo{DType::kInt16, "int16", 16, false, false},
    DTypeInfo{DType::kInt32, "int32", 32, false, false},
    DTypeInfo{DType::kInt64, "int64", 64, false, false},
    DTypeInfo{DType::kFloat8E4M3FN, "float8_e4m3fn", 8, true, false},
    DTypeInfo{DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 8, true, false},
    DTypeInfo{DType::kFloat8E5M2, "float8_e5m2", 8, true, false},
    DTypeInfo{DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 8, true, false},
    DTypeInfo{DType::kFloat8E8M0FNU, "float8_e8m0fnu", 8, true, false},
    DTypeInfo{DType::kFloat4E2M1FNX2, "float4_e2m1fn_x2", 8, true, false},
    DTypeInfo{DType::kFloat16, "float16", 16, true, false},
    DTypeInfo{DType::kBFloat16, "bfloat16", 16, true, false},
    DTypeInfo{DType::kFloat32, "float32", 32, true, false},
    DTypeInfo{DType::kFloat64, "float64", 64, true, false},
    DTypeInfo{DType::kComplex32, "complex32", 32, false, true},
    DTypeInfo{DType::kComplex64, "complex64", 64, false, true},
    DTypeInfo{DType::kComplex128, "complex128", 128, false, true},
    DTypeInfo{DType::kQInt8, "qint8", 8, false, false},
    DTypeInfo{DType::kQUInt8, "quint8", 8, false, false},
    DTypeInfo{DType::kQInt32, "qint32", 32, false, false},
    DTypeInfo{DType::kQUInt4X2, "quint4x2", 8, false, false},
    DTypeInfo{DType::kQUInt2X4, "quint2x4", 8, false, false},
    DTypeInfo{DType::kBits8, "bits8", 8, false, false},
    DTypeInfo{DType::kUInt4, "uint4", 4, false, false},
    DTypeInfo{DType::kInt4, "int4", 4, false, false},
    DTypeInfo{DType::kUInt2, "uint2", 2, false, false},
    DTypeInfo{DType::kInt2, "int2", 2, false, false},
    DTypeInfo{DType::kFloat4E2M1, "float4_e2m1", 4, true, false},
    DTypeInfo{DType::kFloat6E2M3, "float6_e2m3", 6, true, false},
    DTypeInfo{DType::kFloat6E3M2, "float6_e3m2", 6, true, false},
    DTypeInfo{DType::kString, "string", 64, false, false},  // a reference each; characters are not counted
};

constexpr bool dtypes_in_enum_order() {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (static_cast<std::size_t>(kDTypes[i].dtype) != i) return false;
  return true;
}
static_assert(dtypes_in_enum_order());

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
// Of one element alone; several of a type of fewer than eight bits share a byte: see bytes_of.
constexpr std::uint64_t element_bytes(DType dtype) { return (info(dtype).bits + 7u) / 8u; }

// Of so many, the last byte whole.
constexpr Count bytes_of(DType dtype, Count elements) {
  const Count bits = info(dtype).bits;
  return bits.value() % 8 == 0 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (const auto& row : kDTypes)
    if (row.name == text) return row.dtype;
  return std::nullopt;
}

}  // namespace opscope
