// Normalisations. n elements in r groups that share a mean; a counts the affine tensors (weight, bias).
//
// With statistics: mean (n adds), variance (3n: subtract, square, add), normalise (2n: subtract, multiply),
// affine (n each) and one rsqrt per group. Without (batch norm in eval), scale and shift are folded into one
// multiply and one add per element.
#include "ops/rules.h"

namespace opscope {
namespace {

struct Norm {
  Count n, r, affine;
  Letters letters() const { return {{"n", n}, {"r", r}, {"a", affine}}; }
};
using MaybeNorm = std::optional<Norm>;
using ReadNorm = MaybeNorm(const OpCall&);

Count affine_of(const OpCall& call) {
  return Count{call.tensor("weight") != nullptr} + Count{call.tensor("bias") != nullptr};
}

const TensorView* input_of(const OpCall& call) { return call.inputs.empty() ? nullptr : &call.inputs[0]; }

MaybeNorm channels(const OpCall& call) {
  const TensorView* x = input_of(call);
  if (x == nullptr || x->rank() < 1) return std::nullopt;
  return Norm{x->numel, x->dim(1), affine_of(call)};
}

MaybeNorm rows(const OpCall& call) {
  const TensorView* x = input_of(call);
  const auto shape = call.ints("normalized_shape");
  if (x == nullptr || shape.empty() || shape.size() > x->rank()) return std::nullopt;
  Count width = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (x->shape[x->rank() - shape.size() + i] != shape[i]) return std::nullopt;
    width *= Count{shape[i]};
  }
  return Norm{x->numel, x->numel / width, affine_of(call)};
}

MaybeNorm groups(const OpCall& call) {
  const TensorView* x = input_of(call);
  const auto count = call.integer("num_groups") ? call.integer("num_groups") : call.integer("group");
  if (x == nullptr || x->rank() < 2 || !count || *count <= 0 || x->dim(1) % *count != 0) return std::nullopt;
  return Norm{x->numel, Count{x->dim(0)} * Count{*count}, affine_of(call)};
}

MaybeNorm instances(const OpCall& call) {
  const TensorView* x = input_of(call);
  if (x == nullptr || x->rank() < 2) return std::nullopt;
  return Norm{x->numel, Count{x->dim(0)} * Count{x->dim(1)}, affine_of(call)};
}

template <ReadNorm kRead>
MaybeWork with_statistics(const OpCall& call) {
  const auto norm = kRead(call);
  if (!norm) return std::nullopt;
  return Work{.other_flops = norm->n * (norm->affine + 6), .specials = norm->r};
}

MaybeWork folded(const OpCall& call) {
  const auto norm = channels(call);
  return norm ? std::optional(Work{.other_flops = norm->n * 2}) : std::nullopt;
}

MaybeWork batch_norm(const OpCall& call) {
  // The overload without running statistics has no choice.
  const bool no_stats = call.tensor("running_mean") == nullptr;
  return call.boolean("training").value_or(no_stats) || no_stats ? with_statistics<channels>(call)
                                                                 : folded(call);
}

MaybeWork instance_norm(const OpCall& call) {
  return call.boolean("use_input_stats").value_or(true) ? with_statistics<instances>(call) : folded(call);
}

// Square, add, multiply; no mean is taken away.
MaybeWork rms_norm(const OpCall& call) {
  const auto norm = rows(call);
  if (!norm) return std::nullopt;
  return Work{.other_flops = norm->n * (norm->affine + 3), .specials = norm->r};
}

// v * (g / |v|).
MaybeWork weight_norm(const OpCall& call) {
  const TensorView *v = call.tensor("v"), *g = call.tensor("g");
  if (v == nullptr || g == nullptr) return std::nullopt;
  return Work{.other_flops = v->numel * 3 + g->numel, .specials = g->numel};
}

Letters weight_norm_letters(const OpCall& call) {
  const TensorView *v = call.tensor("v"), *g = call.tensor("g");
  if (v == nullptr || g == nullptr) return {};
  return {{"n", v->numel}, {"r", g->numel}};
}

// --- fvcore ---

Count fvcore_norm(const OpCall& call) {
  const TensorView* x = input_of(call);
  if (x == nullptr || x->rank() < 2 || x->rank() > 5) return 0;
  return x->numel * (call.tensor("weight") != nullptr ? 5 : 4);
}

Count fvcore_batch_norm(const OpCall& call) {
  const TensorView* x = input_of(call);
  if (x == nullptr || call.boolean("training").value_or(false)) return fvcore_norm(call);
  return x->numel * (call.tensor("weight") != nullptr ? 2 : 1);
}

constexpr std::string_view kStatistics = "n*(6+a) flops (mean, variance, normalise, affine) + r rsqrts";
constexpr std::string_view kFolded = "n*2 flops (scale, shift); in training n*(6+a) and r rsqrts";
constexpr std::string_view kRms = "n*(3+a) flops (square, sum, scale, affine) + r rsqrts";

template <ReadNorm kRead>
constexpr Family row{
    .category = Category::kNorm, .fusion = Fusion::kReduction, .letters = letters_from<kRead>};

constexpr OpRow weight_norm_row(std::string_view name) {
  return row<channels>(name, weight_norm, "3*n + r flops + r sqrts") | weight_norm_letters;
}

constexpr OpRow kRows[] = {
    row<channels>("aten::_batch_norm_impl_index aten::_native_batch_norm_legit "
                  "aten::_native_batch_norm_legit_functional aten::cudnn_batch_norm aten::miopen_batch_norm "
                  "aten::native_batch_norm",
                  batch_norm, kFolded),
    row<channels>("aten::_batch_norm_no_update aten::_native_batch_norm_legit_no_training", folded, kFolded),
    row<channels>("aten::_batch_norm_with_update", with_statistics<channels>, kStatistics),
    row<rows>("aten::_fused_rms_norm aten::rms_norm", rms_norm, kRms),
    weight_norm_row("aten::_weight_norm aten::_weight_norm_interface"),
    row<channels>("aten::batch_norm", batch_norm, kFolded) | fvcore(fvcore_batch_norm),
    row<groups>("aten::group_norm", with_statistics<groups>, kStatistics) | fvcore(fvcore_norm),
    row<instances>("aten::instance_norm", instance_norm, kStatistics) | fvcore(fvcore_norm),
    row<rows>("aten::layer_norm", with_statistics<rows>, kStatistics) | fvcore(fvcore_norm),
    row<groups>("aten::native_group_norm", with_statistics<groups>, kStatistics),
    row<rows>("aten::native_layer_norm", with_statistics<rows>, kStatistics),
};

}  // namespace

std::span<const OpRow> norm_rules() { return kTable<kRows>; }

}  // namespace opscope
