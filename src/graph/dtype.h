// Element types, by PyTorch's names. Values in files are the names, so the order here may change.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

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
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::uint8_t bytes;
  bool is_float;
  bool is_complex;
};

inline constexpr std::array kDTypes{
    DTypeInfo{DType::kUndefined, "undefined", 0, false, false},
    DTypeInfo{DType::kBool, "bool", 1, false, false},
    DTypeInfo{DType::kUInt8, "uint8", 1, false, false},
    DTypeInfo{DType::kUInt16, "uint16", 2, false, false},
    DTypeInfo{DType::kUInt32, "uint32", 4, false, false},
    DTypeInfo{DType::kUInt64, "uint64", 8, false, false},
    DTypeInfo{DType::kInt8, "int8", 1, false, false},
    DTypeInfo{DType::kInt16, "int16", 2, false, false},
    DTypeInfo{DType::kInt32, "int32", 4, false, false},
    DTypeInfo{DType::kInt64, "int64", 8, false, false},
    DTypeInfo{DType::kFloat8E4M3FN, "float8_e4m3fn", 1, true, false},
    DTypeInfo{DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 1, true, false},
    DTypeInfo{DType::kFloat8E5M2, "float8_e5m2", 1, true, false},
    DTypeInfo{DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 1, true, false},
    DTypeInfo{DType::kFloat8E8M0FNU, "float8_e8m0fnu", 1, true, false},
    DTypeInfo{DType::kFloat4E2M1FNX2, "float4_e2m1fn_x2", 1, true, false},
    DTypeInfo{DType::kFloat16, "float16", 2, true, false},
    DTypeInfo{DType::kBFloat16, "bfloat16", 2, true, false},
    DTypeInfo{DType::kFloat32, "float32", 4, true, false},
    DTypeInfo{DType::kFloat64, "float64", 8, true, false},
    DTypeInfo{DType::kComplex32, "complex32", 4, false, true},
    DTypeInfo{DType::kComplex64, "complex64", 8, false, true},
    DTypeInfo{DType::kComplex128, "complex128", 16, false, true},
    DTypeInfo{DType::kQInt8, "qint8", 1, false, false},
    DTypeInfo{DType::kQUInt8, "quint8", 1, false, false},
    DTypeInfo{DType::kQInt32, "qint32", 4, false, false},
    DTypeInfo{DType::kQUInt4X2, "quint4x2", 1, false, false},
    DTypeInfo{DType::kQUInt2X4, "quint2x4", 1, false, false},
    DTypeInfo{DType::kBits8, "bits8", 1, false, false},
};

constexpr bool dtypes_in_enum_order() {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (static_cast<std::size_t>(kDTypes[i].dtype) != i) return false;
  return true;
}
static_assert(dtypes_in_enum_order());

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr std::uint64_t element_bytes(DType dtype) { return info(dtype).bytes; }

constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (const auto& row : kDTypes)
    if (row.name == text) return row.dtype;
  return std::nullopt;
}

}  // namespace opscope
