// The rule of the roofline. Work comes as the cost table counts it, whatever the convention for FLOPs.
#include "hardware/roofline.h"

#include <cmath>
#include <optional>
#include <string>

#include "base/error.h"

namespace opscope {
namespace {

bool uses_matrix_units(Category category) {
  switch (category) {
    case Category::kConv:
    case Category::kMatmul:
    case Category::kAttention:
    case Category::kRecurrent:
    case Category::kQuantised:
      return true;
    default:
      return false;
  }
}

// torch.backends.cudnn.allow_tf32 is on, torch.backends.cuda.matmul.allow_tf32 is not.
bool takes_tf32(Category category, Float32 float32) {
  if (float32 == Float32::kTf32) return true;
  return float32 == Float32::kTorch && (category == Category::kConv || category == Category::kRecurrent);
}

// The name that a type's peak is listed under.
std::string_view peak_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return "float64";
    case DType::kFloat32:
    case DType::kComplex64:
    case DType::kUndefined:
      return "float32";
    case DType::kFloat16:
    case DType::kComplex32:
      return "float16";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0FNU:
      return "float8";
    case DType::kFloat4E2M1FNX2:
      return "float4";
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kQInt8:
    case DType::kQUInt8:
    case DType::kBits8:
      return "int8";
    case DType::kQUInt4X2:
      return "int4";
    default:
      return "int32";
  }
}

bool computes(DType dtype) {
  const DTypeInfo& row = info(dtype);
  return row.is_float || row.is_complex || dtype == DType::kInt8 || dtype == DType::kQInt8 ||
         dtype == DType::kQUInt8;
}

DType dtype_of(const Graph& graph, ValueId id) {
  return id == kNone ? DType::kUndefined : graph.values[id].dtype;
}

}  // namespace

std::string_view name(Float32 float32) {
  constexpr std::array<std::string_view, 3> kNames{"torch", "tf32", "ieee"};
  return kNames[static_cast<std::size_t>(float32)];
}

Float32 float32_from_name(std::string_view text) {
  for (const Float32 choice : {Float32::kTorch, Float32::kTf32, Float32::kIeee})
    if (name(choice) == text) return choice;
  throw Error("no such way to multiply float32: '" + std::string(text) + "'", "",
              "choose torch (convolutions in TF32, as PyTorch does), tf32 or ieee");
}

std::string_view name(Limit limit) {
  constexpr std::array<std::string_view, 5> kNames{"-", "compute", "memory", "launch", "?"};
  return kNames[static_cast<std::size_t>(limit)];
}

Limit limit_of(const Device& device, const RooflineTime& time) {
  if (!time.known) return Limit::kUnknown;
  if (!(time.seconds() > 0)) return Limit::kNothing;
  if (device.launch_overhead && device.launch_overhead->value > time.seconds()) return Limit::kLaunch;
  return time.compute_seconds() > time.memory_seconds ? Limit::kCompute : Limit::kMemory;
}

DType product_dtype(const Graph& graph, const Op& op) {
  for (const Argument& argument : graph.arguments_of(op)) {
    if (argument.kind == ArgumentKind::kTensor) {
      const DType dtype = dtype_of(graph, static_cast<ValueId>(argument.integer));
      if (computes(dtype)) return dtype;
    }
    if (argument.kind != ArgumentKind::kTensorList) continue;
    for (const ValueId id : graph.values_in(argument))
      if (computes(dtype_of(graph, id))) return dtype_of(graph, id);
  }
  const auto outputs = graph.outputs_of(op);
  return outputs.empty() ? DType::kUndefined : dtype_of(graph, outputs.front());
}

const Peak* vector_peak(const Device& device, DType dtype) {
  const std::string_view name = peak_name(dtype);
  // PyTorch's kernels for small types compute in float32.
  if (name == "float64") return device.peak(Units::kVector, name);
  const Peak* own = name == "int32" ? device.peak(Units::kVector, name) : nullptr;
  return own != nullptr ? own : device.peak(Units::kVector, "float32");
}

const Peak* product_peak(const Device& device, Category category, DType dtype, Float32 float32) {
  const std::string_view name = peak_name(dtype);
  if (uses_matrix_units(category)) {
    if (name == "float32" && takes_tf32(category, float32))
      if (const Peak* peak = device.peak(Units::kMatrix, "tf32")) return peak;
    if (const Peak* peak = device.peak(Units::kMatrix, name)) return peak;
  }
  if (const Peak* peak = device.peak(Units::kVector, name)) return peak;
  // Small integers and floats without units of their own are not what float32's rate says.
  if (name == "int8" || name == "int4" || name == "float8" || name == "float4") return nullptr;
  return vector_peak(device, dtype);
}

RooflineTime roofline_time(const Device& device, const OpCost& cost, DType dtype, Float32 float32) {
  RooflineTime time{.memory_seconds = memory_seconds(device, cost.traffic.total()),
                    .known = cost.confidence != Confidence::kUnknown};
  const double products = 2 * static_cast<double>(cost.work.macs);
  const double others = static_cast<double>(cost.work.other_flops) + static_cast<double>(cost.work.specials);
  if (products > 0) {
    const Category category = cost.rule != nullptr ? cost.rule->category : Category::kCustom;
    const Peak* peak = product_peak(device, category, dtype, float32);
    if (peak == nullptr) return time.known = false, time;
    (peak->units == Units::kMatrix ? time.matrix_seconds : time.vector_seconds) +=
        products / peak->rate.value;
  }
  if (others > 0) {
    const Peak* peak = vector_peak(device, dtype);
    if (peak == nullptr) return time.known = false, time;
    time.vector_seconds += others / peak->rate.value;
  }
  return time;
}

Count picoseconds(double seconds) {
  const double count = std::round(seconds * 1e12);
  if (!(count > 0)) return {};
  return count < 0x1p63 ? Count{static_cast<std::uint64_t>(count)} : Count{Count::kMax};
}

}  // namespace opscope
