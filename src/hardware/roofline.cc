// The rule of the roofline. Work comes as the cost table counts it, whatever the convention for FLOPs.
#include "hardware/roofline.h"

#include <cmath>
#include <string>

#include "base/choices.h"

namespace opscope {
namespace {

constexpr std::array kMatrixCategories{Category::kConv, Category::kMatmul, Category::kAttention,
                                       Category::kRecurrent, Category::kQuantised};
constexpr auto kFloat32Names = choices<Float32, Float32::kIeee>("torch", "tf32", "ieee");
constexpr auto kLimitNames = choices<Limit, Limit::kUnknown>("-", "compute", "memory", "launch", "?");

// torch.backends.cudnn.allow_tf32 is on, torch.backends.cuda.matmul.allow_tf32 is not.
bool takes_tf32(Category category, Float32 float32) {
  if (float32 == Float32::kTf32) return true;
  return float32 == Float32::kTorch && (category == Category::kConv || category == Category::kRecurrent);
}

// The name that a type's peak is listed under.
std::string_view peak_name(DType dtype) {
  switch (dtype) {
    case DType::kUndefined:
    case DType::kComplex64:
      return "float32";
    case DType::kComplex128:
      return "float64";
    case DType::kComplex32:
      return "float16";
    case DType::kQUInt4X2:
      return "int4";
    default:
      break;
  }
  const std::string_view own = name(dtype);
  for (const std::string_view listed : {"float64", "float32", "float16", "bfloat16", "float8", "float4"})
    if (own.starts_with(listed)) return listed;
  return own.ends_with("int8") || own == "bits8" ? "int8" : "int32";
}

bool computes(DType dtype) {
  const DTypeInfo& row = info(dtype);
  return row.is_float || row.is_complex || dtype == DType::kInt8 || dtype == DType::kQInt8 ||
         dtype == DType::kQUInt8;
}

}  // namespace

std::string_view name(Float32 float32) { return kFloat32Names[float32]; }

Float32 float32_from_name(std::string_view text) {
  if (const auto choice = named(text, Float32::kIeee)) return *choice;
  throw Error("no such way to multiply float32: '" + std::string(text) + "'", "",
              "choose torch (convolutions in TF32, as PyTorch does), tf32 or ieee");
}

std::string_view name(Limit limit) { return kLimitNames[limit]; }

Limit limit_of(const Device& device, const RooflineTime& time) {
  if (!time.known) return Limit::kUnknown;
  if (!(time.seconds() > 0)) return Limit::kNothing;
  if (device.launch_overhead && device.launch_overhead->value > time.seconds()) return Limit::kLaunch;
  return time.compute_seconds() > time.memory_seconds ? Limit::kCompute : Limit::kMemory;
}

DType product_dtype(const Graph& graph, const Op& op) {
  DType first = DType::kUndefined;
  each_read(graph, op, [&](ValueId id) {
    if (first == DType::kUndefined && computes(graph.values[id].dtype)) first = graph.values[id].dtype;
  });
  const auto outputs = graph.outputs_of(op);
  if (first != DType::kUndefined || outputs.empty() || outputs.front() == kNone) return first;
  return graph.values[outputs.front()].dtype;
}

const Peak* main_peak(const Device& device, const std::map<const Peak*, Count>& macs) {
  const Peak* best = device.peak(Units::kVector, "float32");
  Count most;
  for (const Peak& peak : device.peaks)
    if (const auto found = macs.find(&peak); found != macs.end() && found->second > most)
      best = &peak, most = found->second;
  return best;
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
  if (std::ranges::count(kMatrixCategories, category) > 0) {
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
