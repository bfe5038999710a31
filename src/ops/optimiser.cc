// Fused optimiser steps and the list-wise arithmetic that the others are made of: n elements over all tensors
// of the list.
#include "ops/rules.h"

namespace opscope {
namespace {

Count elements(std::span<const TensorView> tensors) {
  Count n = 0;
  for (const TensorView& tensor : tensors) n += tensor.numel;
  return n;
}

template <unsigned kFlops, unsigned kSpecials = 0>
MaybeWork each(const OpCall& call) {
  const Count n = elements(call.tensors("self"));
  return Work{.other_flops = n * kFlops, .specials = n * kSpecials};
}

// alpha, or scalars of their own, multiply one side first.
template <unsigned kFlops>
MaybeWork each_scaled(const OpCall& call) {
  const bool scaled = call.real("alpha").value_or(1) != 1 || call.real("value").value_or(1) != 1;
  return scaled || call.has("scalars") ? each<kFlops + 1>(call) : each<kFlops>(call);
}

// m elements in t tensors, folded into one number each.
MaybeWork each_max(const OpCall& call) {
  const auto tensors = call.tensors("self");
  return Work{.other_flops = elements(tensors) - tensors.size()};
}

MaybeWork each_norm(const OpCall& call) {
  if (call.real("ord").value_or(2) != 2) return std::nullopt;
  const auto tensors = call.tensors("self");
  const Count n = elements(tensors), t = tensors.size();
  return Work{.other_flops = n + (n - t), .specials = t};
}

// The sum of squares 2, a root and eps 1, step 3; weight decay 2.
MaybeWork adagrad(const OpCall& call) {
  return call.real("weight_decay").value_or(0) != 0 ? each<8, 1>(call) : each<6, 1>(call);
}

// First moment 3, second moment 4, denominator 2 and a root, step 3; weight decay, on the gradient, 2 more,
// or on the parameter, 1; amsgrad a compare.
template <unsigned kDecay>
MaybeWork adam(const OpCall& call) {
  const Count decay = call.real("weight_decay").value_or(0) != 0 ? kDecay : 0;
  const Count amsgrad = call.boolean("amsgrad").value_or(false) ? 1 : 0;
  const Count n = elements(call.tensors("self"));
  return Work{.other_flops = n * (decay + amsgrad + 12), .specials = n};
}

// Step 2, weight decay 2, momentum 3 and with Nesterov 2 more.
MaybeWork sgd(const OpCall& call) {
  Count per_element = 2;
  if (call.real("weight_decay").value_or(0) != 0) per_element += 2;
  if (call.real("momentum").value_or(0) != 0) per_element += call.boolean("nesterov").value_or(false) ? 5 : 3;
  return Work{.other_flops = elements(call.tensors("self")) * per_element};
}

Letters list_letters(const OpCall& call) { return {{"n", elements(call.tensors("self"))}}; }

constexpr Family row{.category = Category::kPointwise, .fusion = Fusion::kPointwise, .letters = list_letters};

constexpr OpRow kRows[] = {
    row("aten::_foreach_abs aten::_foreach_sign", each<1>, "n flops"),
    row("aten::_foreach_add", each_scaled<1>, "n adds; 2*n where alpha is not 1"),
    row("aten::_foreach_addcdiv", each_scaled<2>, "2*n flops (divide, add); 3*n where value is not 1"),
    row("aten::_foreach_addcmul", each_scaled<2>, "2*n flops (multiply, add); 3*n where value is not 1"),
    row("aten::_foreach_clamp_max aten::_foreach_clamp_min aten::_foreach_maximum aten::_foreach_minimum",
        each<1>, "n compares"),
    row("aten::_foreach_copy aten::_foreach_zero", no_work, "none"),
    row("aten::_foreach_div aten::_foreach_reciprocal", each<1>, "n divides"),
    row("aten::_foreach_exp", each<0, 1>, "n exps"),
    row("aten::_foreach_lerp", each<3>, "3*n flops"),
    row("aten::_foreach_max", each_max, "n - t compares for t tensors"),
    row("aten::_foreach_mul", each<1>, "n multiplies"),
    row("aten::_foreach_neg", each<1>, "n negations"),
    row("aten::_foreach_norm", each_norm, "2*n - t flops + t sqrts for t tensors"),
    row("aten::_foreach_pow", each<0, 1>, "n specials"),
    row("aten::_foreach_sqrt", each<0, 1>, "n sqrts"),
    row("aten::_foreach_sub", each_scaled<1>, "n subtracts; 2*n where alpha is not 1"),
    row("aten::_fused_adagrad", adagrad, "6*n flops + n sqrts; weight decay 2*n"),
    row("aten::_fused_adam", adam<2>, "12*n flops + n sqrts; weight decay 2*n, amsgrad n"),
    row("aten::_fused_adamw", adam<1>, "12*n flops + n sqrts; weight decay n, amsgrad n"),
    row("aten::_fused_sgd", sgd, "2*n flops; weight decay 2*n, momentum 3*n, nesterov 2*n"),
};

}  // namespace

std::span<const OpRow> optimiser_rules() { return kTable<kRows>; }

}  // namespace opscope
