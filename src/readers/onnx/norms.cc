// ONNX's norms and losses.
#include <algorithm>
#include <array>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

bool batch_norm(OnnxCall& call, std::string_view aten) {
  const bool training = call.integer("training_mode", 0) != 0;
  const auto mean = call.value(3, ValueKind::kBuffer), variance = call.value(4, ValueKind::kBuffer);
  call.answer(aten, {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("bias", 2),
                     call.tensor_of("running_mean", mean), call.tensor_of("running_var", variance),
                     call.flag("training", training), call.real_number("eps", call.real("epsilon", 1e-5))});
  call.result(1, mean);
  call.result(2, variance);
  return true;
}

bool instance_norm(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("bias", 2),
                            call.flag("use_input_stats", true)});
}

bool group_norm(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("input", 0), call.number("num_groups", call.integer("num_groups", 0)),
                            call.tensor("weight", 1), call.tensor("bias", 2)});
}

bool row_norm(OnnxCall& call, std::string_view aten) {
  const auto axis = call.axis(-1);
  const bool has_statistics = call.wants(1) || call.wants(2);
  if (!axis || (has_statistics && aten != "aten::layer_norm")) return false;
  const auto normalised = std::span(call.shape(0)).subspan(*axis);
  if (has_statistics) {
    Shape rows = call.shape(0);
    std::fill(rows.begin() + static_cast<std::ptrdiff_t>(*axis), rows.end(), 1);
    const auto dtype = call.dtype_attribute("stash_type", DType::kFloat32);
    const OnnxOutput outputs[] = {call.like(0), {rows, dtype}, {rows, dtype}};
    return call.answer_all("aten::native_layer_norm",
                           {call.tensor("input", 0), call.list("normalized_shape", normalised),
                            call.tensor("weight", 1), call.tensor("bias", 2)},
                           outputs);
  }
  return call.answer(aten, {call.tensor("input", 0), call.list("normalized_shape", normalised),
                            call.tensor("weight", 1), call.tensor("bias", 2)});
}

// Divided by the norm along an axis.
bool power_norm(OnnxCall& call, std::string_view) {
  const auto axis = call.axis(-1);
  if (!axis) return false;
  Shape norms = call.shape(0);
  norms[*axis] = 1;
  const std::int64_t dims[] = {static_cast<std::int64_t>(*axis)};
  const auto norm = call.op("aten::linalg_vector_norm",
                            {call.tensor("self", 0), call.number("ord", call.integer("p", 2)),
                             call.list("dim", dims), call.flag("keepdim", true)},
                            {norms});
  return call.answer("aten::div", {call.tensor("self", 0), call.tensor_of("other", norm)});
}

// (x - mean) / sqrt(variance + eps) over some axes.
bool standardise(OnnxCall& call, std::string_view) {
  auto axes = call.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const auto named = axes_of(axes, call.shape(0).size());
  if (!named) return false;
  Shape rest = call.shape(0);
  for (const auto axis : *named) rest[axis] = 1;
  const OnnxOutput two[] = {{rest}, {rest}};
  const Argument self[] = {call.tensor("self", 0), call.list("dim", axes)};
  const auto found = call.op("aten::var_mean", self, two);
  const auto centred = call.op("aten::sub", {call.tensor("self", 0), call.tensor_of("other", found[1])});
  const auto deviation = call.op("aten::sqrt", {call.tensor_of("self", found[0])}, {rest});
  return call.answer("aten::div", {call.tensor_of("self", centred), call.tensor_of("other", deviation)});
}

bool local_response(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0), call.number("size", call.integer("size", 1))});
}

bool hardmax(OnnxCall& call, std::string_view aten) { return call.answer(aten, {call.tensor("self", 0)}); }

// --- Losses: scores [N, C, ..] and a class for each place, [N, ..]; some have weights

struct Loss {
  Shape shape;
  std::int64_t reduction = 0;  // none, mean, sum
};

Loss loss_of(const OnnxCall& call) {
  const auto reduction = call.text("reduction", "mean");
  if (reduction == "none") return {.shape = call.shape(1)};
  return {.shape = {}, .reduction = reduction == "mean" ? 1 : 2};
}

ValueId pick(OnnxCall& call, ValueId scores, const Loss& loss) {
  return call.op("aten::nll_loss_nd",
                 {call.tensor_of("self", scores), call.tensor("target", 1), call.tensor("weight", 2),
                  call.number("reduction", loss.reduction)},
                 {loss.shape});
}

bool likelihood_loss(OnnxCall& call, std::string_view) {
  call.result(0, pick(call, call.value(0), loss_of(call)));
  return true;
}

bool cross_entropy(OnnxCall& call, std::string_view aten) {
  const auto loss = loss_of(call);
  if (call.wants(1)) {  // the logarithms of the probabilities too
    const auto scores = call.op("aten::log_softmax", {call.tensor("self", 0), call.number("dim", 1)});
    call.result(0, pick(call, scores, loss));
    call.result(1, scores);
    return true;
  }
  return call.answer(aten,
                     {call.tensor("self", 0), call.tensor("target", 1), call.tensor("weight", 2),
                      call.number("reduction", loss.reduction)},
                     {loss.shape});
}

constexpr auto kNormRules = std::to_array<OnnxRule>({
    {"BatchNormalization", batch_norm, "aten::batch_norm", 5},
    {"GroupNormalization", group_norm, "aten::group_norm"},
    {"Hardmax", hardmax, "onnx::Hardmax"},
    {"InstanceNormalization", instance_norm, "aten::instance_norm"},
    {"LRN", local_response, "onnx::LRN"},
    {"LayerNormalization", row_norm, "aten::layer_norm"},
    {"LpNormalization", power_norm},
    {"MeanVarianceNormalization", standardise},
    {"NegativeLogLikelihoodLoss", likelihood_loss, {}, 2},
    {"RMSNormalization", row_norm, "aten::rms_norm"},
    {"SimplifiedLayerNormalization", row_norm, "aten::rms_norm"},
    {"SoftmaxCrossEntropyLoss", cross_entropy, "aten::cross_entropy_loss", 2},
});
static_assert(std::ranges::is_sorted(kNormRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_norm_rules() { return kNormRules; }

}  // namespace opscope
