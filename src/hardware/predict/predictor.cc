#include "hardware/predict/predictor.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/choices.h"
#include "base/hash.h"
#include "graph/signature.h"
#include "hardware/predict/known_calibrations.h"
#include "hardware/predict/neighbours.h"
#include "ops/replay_plan.h"

namespace opscope {
namespace {

constexpr auto kSourceNames = choices<TimeSource, TimeSource::kUnknown>(
    "measured", "interpolated", "family", "related device", "roofline", "unknown");

// Standard deviations of logarithms that nothing measured tells: of a time of the same call in another
// process, of a family on a related device, of what a roofline leaves out.
constexpr double kSameCall = 0.02, kRelated = 0.25, kRoofline = 0.6;
constexpr double kInterpolatedWithin = 1;  // further off a family's rates say as much
constexpr double kRunSpread = 0.05;
constexpr double kStepKernels = 3;  // of a step of a recurrent layer: two products, and the rest
constexpr double kLaunchedSteps =
    1.5;                              // of their gaps: what steps take at least that are launched one by one
constexpr double kPaddedKernels = 4;  // of attention whose three inputs are filled up
constexpr double kUnfusedKernels = 10;  // of attention that is made of single ops

// As wide, so as fast: bfloat16 for float16.
bool as_wide(DType a, DType b) {
  return info(a).is_float && info(b).is_float && element_bytes(a) == element_bytes(b);
}

Category category_of(OpFamily family) {
  return family == OpFamily::kConv        ? Category::kConv
         : family == OpFamily::kAttention ? Category::kAttention
         : family == OpFamily::kRecurrent ? Category::kRecurrent
                                          : Category::kMatmul;
}

// Dropout of nothing, a conversion to what it is already: no kernel runs.
bool gives_its_input(const OpCall& call) {
  if (call.outputs.empty() || call.inputs.empty() || call.name().ends_with('_')) return false;
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  return in.storage != kNone && in.storage == out.storage && in.dtype == out.dtype && in.numel == out.numel;
}

// Kernels that attention is made of.
double kernels_of(const OpFeatures& op) {
  return op.family != OpFamily::kAttention ? 1
         : op.group == OpGroup::kPadded    ? kPaddedKernels
         : op.group != OpGroup::kUnfused   ? 1
         : element_bytes(op.dtype) < 4     ? kUnfusedKernels
                                           : kUnfusedKernels - 3;  // no turns to float32
}

double product_rate(const Device& device, OpFamily family, DType dtype, Float32 float32) {
  const Peak* peak = product_peak(device, category_of(family), dtype, float32);
  return peak == nullptr ? 0 : peak->rate.value;
}

// Which device's utilisation is most like this one's: of its kind and maker, then as fast.
double unlike(const Device& a, const Device& b) {
  double sum = 0;
  if (a.vendor != b.vendor) sum += 2;
  if (a.architecture != b.architecture) sum += 1;
  sum += std::abs(std::log2(a.memory_bandwidth.value / b.memory_bandwidth.value)) / 4;
  const double peak_a = product_rate(a, OpFamily::kMatmul, DType::kFloat16, Float32::kTorch);
  const double peak_b = product_rate(b, OpFamily::kMatmul, DType::kFloat16, Float32::kTorch);
  if (peak_a > 0 && peak_b > 0) sum += std::abs(std::log2(peak_a / peak_b)) / 4;
  return sum;
}

}  // namespace

std::string_view name(TimeSource source) { return kSourceNames[source]; }

Predictor::Predictor(DevicePointer device, CalibrationPointer calibration, DevicePointer calibrated,
                     CalibrationPointer host)
    : device_(std::move(device)),
      calibrated_(std::move(calibrated)),
      calibration_(std::move(calibration)),
      host_of_(host ? std::move(host) : calibration_) {
  if (!host_of_) return;
  for (const auto& [op, seconds] : host_of_->host_ops) host_.emplace_back(hash64(op), seconds);
  std::ranges::sort(host_);
}

double Predictor::run_spread() const {
  double spread = calibration_ && calibration_->runs.spread > 0 ? calibration_->runs.spread : kRunSpread;
  if (is_borrowed()) spread = std::hypot(spread, kRelated);
  return spread;
}

double Predictor::host_seconds(std::string_view op, const OpFeatures& features) const {
  for (const std::uint64_t key : {hash64(host_op(op, features.dtype, features.group)), features.op}) {
    const auto found = std::ranges::lower_bound(host_, key, {}, &std::pair<std::uint64_t, double>::first);
    if (found != host_.end() && found->first == key) return found->second;
  }
  return host_of_ ? host_of_->host.dispatch : 0;
}

const Predictor::FamilyOps& Predictor::measured(OpFamily family) const {
  FamilyOps& own = families_[static_cast<std::size_t>(family)];
  std::call_once(own.read, [&] {
    PackedFamily packed = calibration_->packed[static_cast<std::size_t>(family)];
    if (packed.ops.empty()) own.packed = pack_family(*calibration_, family), packed = own.packed.family();
    own.ops = MeasuredOps(packed.ops), own.trees = Forest::unpack(packed.trees);
  });
  return own;
}

std::optional<FamilyRates> Predictor::rates_for(OpFamily family, DType dtype, OpGroup group) const {
  if (!calibration_) return std::nullopt;
  const FamilyRates* found = calibration_->rates(family, dtype, group);
  if (found == nullptr) {
    std::optional<DType> other;
    for (const FamilyRates& each : calibration_->families)
      if (each.family == family && (!other || as_wide(each.dtype, dtype))) other = each.dtype;
    if (other) found = calibration_->rates(family, *other, group);
  }
  if (found == nullptr) return std::nullopt;
  if (group == OpGroup::kUnfused && found->group != group) {  // what it is made of
    auto made_of = rates_for(OpFamily::kPointwise, DType::kFloat32, OpGroup::kPlain);
    const auto products = rates_for(OpFamily::kMatmul, DType::kFloat32, OpGroup::kPlain);
    if (made_of && products) made_of->flop_rate = products->flop_rate, made_of->seconds *= kUnfusedKernels;
    return made_of;
  }
  FamilyRates rates = *found;
  // Where none of a group's products was limited by arithmetic or by memory, its rates say nothing: they are
  // at most those of plain products.
  if (const FamilyRates* plain = calibration_->rates(family, found->dtype);
      family == OpFamily::kMatmul && plain != nullptr && plain->flop_rate > 0 && plain->byte_rate > 0) {
    rates.flop_rate = std::min(rates.flop_rate, plain->flop_rate);
    rates.byte_rate = std::min(rates.byte_rate, plain->byte_rate);
  }
  // Of another dtype or device: what part of the peak is reached.
  const auto scale = [&](double& rate, double there, double here) {
    if (there > 0 && here > 0) rate *= here / there;
  };
  if (found->dtype != dtype || is_borrowed()) {
    scale(rates.flop_rate, product_rate(*calibrated_, family, found->dtype, Float32::kTorch),
          product_rate(*device_, family, dtype, Float32::kTorch));
    scale(rates.byte_rate, calibrated_->memory_bandwidth.value, device_->memory_bandwidth.value);
  }
  if (found->dtype != dtype && !as_wide(found->dtype, dtype))
    rates.spread = std::hypot(rates.spread, kRelated);
  return rates;
}

PredictedOp Predictor::predict(const OpCall& call, const Op& op, const OpCost& cost, DType dtype,
                               Float32 float32) const {
  const Graph& graph = call.graph();
  PredictedOp predicted;
  const OpFeatures features = features_of(call, cost, dtype);
  predicted.host_seconds = host_seconds(op_type(call.name()), features);
  predicted.group = features.group;
  if (does_no_work(graph, op) || gives_its_input(call)) {
    predicted.is_idle = true, predicted.source = TimeSource::kMeasured;
    return predicted;
  }
  const RooflineTime roofline = roofline_time(*device_, cost, dtype, float32);
  auto rates = rates_for(features.family, dtype, features.group);
  if (!rates) {
    if (!roofline.known) return predicted;
    predicted.seconds = roofline.seconds();
    predicted.deviation = kRoofline, predicted.source = TimeSource::kRoofline;
    predicted.limit = limit_of(*device_, roofline);
    return predicted;
  }
  if (float32 != Float32::kTorch && dtype == DType::kFloat32) {
    const double usual = product_rate(*device_, features.family, dtype, Float32::kTorch);
    if (usual > 0) rates->flop_rate *= product_rate(*device_, features.family, dtype, float32) / usual;
  }
  const double compute = rates->flop_rate > 0 ? features.work() / rates->flop_rate : 0;
  const double memory = rates->byte_rate > 0 ? features.bytes / rates->byte_rate : 0;
  predicted.limit = rates->seconds > std::max(compute, memory) ? Limit::kLaunch
                    : compute > memory                         ? Limit::kCompute
                                                               : Limit::kMemory;
  predicted.seconds = seconds_by(*rates, features);
  predicted.gap =
      calibration_->gaps[static_cast<std::size_t>(features.family)] +
      (kernels_of(features) - 1) * calibration_->gaps[static_cast<std::size_t>(OpFamily::kPointwise)];
  predicted.source = is_borrowed() ? TimeSource::kBorrowed : TimeSource::kFamily;
  const Likeness* likeness = calibration_->likeness(features.family);
  if (likeness == nullptr) {
    predicted.deviation = rates->spread;
    return predicted;
  }
  const FamilyOps& own = measured(features.family);
  if (!is_borrowed() && float32 == Float32::kTorch)
    if (const MeasuredTime* known = own.ops.time_of(call_key(call_text(graph, op)))) {
      predicted.seconds = known->seconds, predicted.source = TimeSource::kMeasured;
      predicted.deviation = std::hypot(kSameCall, known->deviation / known->seconds);
      if (known->host_seconds > 0) predicted.host_seconds = known->host_seconds;
      launch_steps(predicted, features);
      return predicted;
    }
  const double trees = own.trees.told(traits_of(features, *rates));
  const Miss miss = both(miss_of(own.ops, *likeness, features), trees, *likeness);
  predicted.seconds *= std::exp(miss.mean), predicted.deviation = miss.deviation;
  if (roofline.known) predicted.seconds = std::max(predicted.seconds, roofline.matrix_seconds);
  if (!is_borrowed() && miss.nearest <= kInterpolatedWithin) predicted.source = TimeSource::kInterpolated;
  launch_steps(predicted, features);
  return predicted;
}

// A recurrent layer of which one kernel does all steps is faster than its steps could be launched. Of others
// each step has its kernels, with their gaps, and the host launches them.
void Predictor::launch_steps(PredictedOp& op, const OpFeatures& features) const {
  const double gap = kStepKernels * calibration_->gaps[static_cast<std::size_t>(OpFamily::kPointwise)];
  if (!(features.chain > 0) || op.seconds < kLaunchedSteps * gap * features.chain) return;
  op.gap = gap * features.steps;  // directions run side by side
  if (op.source != TimeSource::kMeasured && host_of_)
    op.host_seconds = std::max(op.host_seconds, host_of_->host.step * features.chain);
}

PredictedOp Predictor::kernel(OpFamily family, DType dtype, double work, Count bytes) const {
  PredictedOp predicted;
  const auto rates = rates_for(family, dtype, OpGroup::kPlain);
  const double peak = product_rate(*device_, family, dtype, Float32::kTorch);
  const double flop_rate = rates ? rates->flop_rate : peak;
  const double byte_rate = rates ? rates->byte_rate : device_->memory_bandwidth.value;
  const double compute = flop_rate > 0 ? work / flop_rate : 0;
  const double memory = byte_rate > 0 ? static_cast<double>(bytes) / byte_rate : 0;
  predicted.seconds = std::max(compute, memory) + (rates ? rates->seconds : 0);
  predicted.deviation = rates ? rates->spread : kRoofline;
  predicted.limit = compute > memory ? Limit::kCompute : Limit::kMemory;
  predicted.source = !rates          ? TimeSource::kRoofline
                     : is_borrowed() ? TimeSource::kBorrowed
                                     : TimeSource::kFamily;
  return predicted;
}

double Predictor::generated_kernel_seconds(Count bytes, double one_by_one) const {
  const auto rates = rates_for(OpFamily::kPointwise, DType::kFloat32, OpGroup::kPlain);
  if (!rates || !(rates->byte_rate > 0)) return std::min(one_by_one, memory_seconds(*device_, bytes));
  return std::min(one_by_one, static_cast<double>(bytes) / rates->byte_rate + rates->seconds);
}

namespace {

// Of a GPU whose own host is not known, since one host calls as fast for any: that of a calibration that has
// one.
CalibrationPointer host_for(const Device& device, const CalibrationPointer& calibration) {
  if (device.kind != "gpu" || (calibration && calibration->host.is_known())) return nullptr;
  for (const CalibrationPointer& each : known_calibrations())
    if (each->kind == "gpu" && each->host.is_known()) return each;
  return nullptr;
}

}  // namespace

PredictorPointer predictor_for(const DevicePointer& device, const CalibrationPointer& own) {
  static std::mutex mutex;
  static std::map<std::pair<const Device*, const Calibration*>, PredictorPointer> known;
  const std::lock_guard lock(mutex);
  CalibrationPointer calibration = own ? own : known_calibration(device->id);
  DevicePointer calibrated = device;
  if (!calibration) {
    double least = 4;
    for (const CalibrationPointer& each : known_calibrations()) {
      const DevicePointer other = find_device(each->device);
      if (!other || other->kind != device->kind || each->families.empty()) continue;
      if (const double now = unlike(*device, *other); now < least)
        least = now, calibration = each, calibrated = other;
    }
  }
  PredictorPointer& found = known[{device.get(), calibration.get()}];
  if (!found)
    found = std::make_shared<const Predictor>(device, calibration, calibration ? calibrated : nullptr,
                                              host_for(*device, calibration));
  return found;
}

}  // namespace opscope
