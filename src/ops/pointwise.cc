// Element-wise arithmetic: n elements of the output, broadcasting included. One flop per add, multiply,
// divide, compare, select or bit operation; one special per transcendental. Complex numbers cost what their
// real parts do.
#include "ops/rules.h"

namespace opscope {
namespace {

// Inputs decide, not the output: the absolute value of a complex tensor is real.
Count elements(const OpCall& call) { return call.outputs.empty() ? Count{} : call.outputs[0].numel; }

// alpha multiplies one side first.
MaybeWork add(const OpCall& call) {
  return call.real("alpha").value_or(1) == 1 ? pointwise<1>(call) : pointwise<2>(call);
}

// (a+bi)(c+di): four multiplies and two adds. conj(a) / |a|^2: a negation, the squared size (3), two divides.
MaybeWork multiply_or_invert(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  return Work{.other_flops = elements(call) * (any_complex(call) ? 6 : 1)};
}

// By a complex number: the product with its conjugate (6), its squared size (3), two divides.
MaybeWork divide(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const Count rounding = call.string("rounding_mode").empty() ? 0 : 1;
  return Work{.other_flops = elements(call) * (rounding + (any_complex(call) ? 11 : 1))};
}

MaybeWork absolute(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const Count n = elements(call);
  return any_complex(call) ? Work{.other_flops = n * 3, .specials = n} : Work{.other_flops = n};
}

// PyTorch multiplies for 2 and 3, divides for -1 and -2, and takes roots for halves.
MaybeWork power(const OpCall& call) {
  const auto exponent = call.tensor("exponent") == nullptr ? call.real("exponent") : std::nullopt;
  if (!exponent || any_complex(call)) return pointwise_special(call);
  if (*exponent == 0 || *exponent == 1) return no_work(call);
  if (*exponent == 2 || *exponent == -1) return pointwise<1>(call);
  if (*exponent == 3 || *exponent == -2) return pointwise<2>(call);
  return pointwise_special(call);
}

// The n-th difference along a dimension: each of its n rounds leaves one element less than the one before.
MaybeWork difference(const OpCall& call) {
  const std::int64_t rounds = call.integer("n").value_or(1);
  if (call.outputs.empty() || rounds < 0 || rounds > (std::int64_t{1} << 30)) return std::nullopt;
  const TensorView& out = call.outputs[0];
  const std::int64_t left = out.dim(call.integer("dim").value_or(-1));
  if (left == 0) return std::nullopt;
  const auto n = static_cast<std::uint64_t>(rounds);
  const Count lines = out.numel / static_cast<std::uint64_t>(left);
  return Work{.other_flops = lines * Count{n} * Count{static_cast<std::uint64_t>(left)} +
                             lines * Count{n == 0 ? 0 : n * (n - 1) / 2}};
}

MaybeWork clamp(const OpCall& call) {
  return call.has("min") && call.has("max") ? pointwise<2>(call) : pointwise<1>(call);
}

// self + value * a * b, or a / b.
MaybeWork scaled_product(const OpCall& call) {
  return call.real("value").value_or(1) == 1 ? pointwise<2>(call) : pointwise<3>(call);
}

constexpr Family row{.category = Category::kPointwise, .fusion = Fusion::kPointwise};

constexpr Family estimated_row{
    .category = Category::kPointwise, .fusion = Fusion::kPointwise, .confidence = Confidence::kEstimated};

constexpr OpRow kRows[] = {
    row("aten::__and__ aten::__iand__ aten::__ilshift__ aten::__ior__ aten::__irshift__ aten::__ixor__ "
        "aten::__lshift__ aten::__or__ aten::__rshift__ aten::__xor__ aten::bitwise_and "
        "aten::bitwise_left_shift aten::bitwise_not aten::bitwise_or aten::bitwise_right_shift "
        "aten::bitwise_xor aten::copysign aten::fix aten::frexp aten::heaviside aten::logical_and "
        "aten::logical_not aten::logical_or aten::logical_xor aten::nextafter aten::sgn aten::signbit",
        pointwise<1>, "n flops"),
    row("aten::_conj_physical aten::conj_physical aten::negative", pointwise<1>, "n negations"),
    row("aten::abs", absolute, "n flops; of a complex number 3*n flops + n sqrts") | kHasInPlace,
    row("aten::absolute", absolute, "n flops; of a complex number 3*n flops + n sqrts"),
    row("aten::acos aten::asin aten::atan aten::atan2 aten::cosh aten::sinh", pointwise_special,
        "n specials") |
        kHasInPlace,
    row("aten::acosh aten::arccos aten::arcsin aten::arctan aten::arctan2 aten::asinh aten::atanh "
        "aten::digamma aten::erfinv aten::i0 aten::igamma aten::igammac aten::lgamma aten::polygamma "
        "aten::special_digamma aten::special_gammaln aten::special_i0e aten::special_i1 aten::special_i1e "
        "aten::special_ndtri",
        pointwise_special, "n specials"),
    row("aten::add aten::sub", add, "n adds; 2*n where alpha is not 1") | kHasInPlace,
    row("aten::addcdiv", scaled_product, "2*n flops (divide, add); 3*n where value is not 1") | kHasInPlace,
    row("aten::addcmul", scaled_product, "2*n flops (multiply, add); 3*n where value is not 1") | kHasInPlace,
    row("aten::angle", pointwise_special, "n arctangents"),
    row("aten::ceil aten::floor aten::round aten::sign aten::trunc", pointwise<1>, "n flops") | kHasInPlace,
    row("aten::clamp aten::clip", clamp, "n compares for each bound") | kHasInPlace,
    row("aten::clamp_max aten::clamp_min", pointwise<1>, "n compares") | kHasInPlace,
    row("aten::complex aten::positive", no_work, "none"),
    row("aten::cos", pointwise_special, "n cosines") | kHasInPlace,
    row("aten::cross aten::linalg_cross", pointwise<3>, "3*n flops (two multiplies, subtract)"),
    row("aten::cumprod", per_input<1>, "n multiplies"),
    row("aten::cumsum", per_input<1>, "n adds"),
    row("aten::deg2rad aten::rad2deg", pointwise<1>, "n multiplies"),
    row("aten::diff", difference, "n*d + n*(n-1)/2 subtracts a line, for n rounds that leave d of it"),
    row("aten::div", divide, "n divides; 2*n where rounded") | kHasInPlace,
    row("aten::divide aten::true_divide", divide, "n divides; 2*n where rounded"),
    row("aten::eq aten::fmax aten::fmin aten::ge aten::greater aten::greater_equal aten::gt aten::isfinite "
        "aten::isinf aten::isnan aten::isneginf aten::isposinf aten::isreal aten::le aten::less "
        "aten::less_equal aten::lt aten::maximum aten::minimum aten::ne aten::not_equal",
        pointwise<1>, "n compares"),
    row("aten::erf aten::erfc", pointwise_special, "n erfs") | kHasInPlace,
    row("aten::exp aten::expm1", pointwise_special, "n exps") | kHasInPlace,
    row("aten::exp2 aten::special_exp2 aten::special_expm1", pointwise_special, "n exps"),
    row("aten::float_power", power, "n specials; multiplies for small whole exponents"),
    row("aten::floor_divide", pointwise<2>, "2*n flops (divide, floor)"),
    row("aten::fmod aten::remainder", pointwise<4>, "4*n flops (divide, round, multiply, subtract)") |
        kHasInPlace,
    row("aten::frac", pointwise<2>, "2*n flops"),
    estimated_row("aten::gcd aten::lcm", pointwise<1>, "n flops, whatever the number of steps"),
    row("aten::hypot", pointwise<3, 1>, "3*n flops (two squares, add) + n sqrts"),
    row("aten::isclose", pointwise<6>, "6*n flops (subtract, two abs, multiply, add, compare)"),
    row("aten::ldexp", pointwise<1, 1>, "n multiplies + n exps"),
    row("aten::lerp", pointwise<3>, "3*n flops (subtract, multiply, add)") | kHasInPlace,
    row("aten::log aten::log1p aten::log2", pointwise_special, "n logs") | kHasInPlace | kTakesProbabilities,
    row("aten::log10", pointwise_special, "n logs") | kTakesProbabilities,
    row("aten::logaddexp aten::logaddexp2", pointwise<4, 2>,
        "4*n flops (max, abs, subtract, add) + n exps + n logs"),
    row("aten::logit", pointwise<2, 1>, "2*n flops (subtract, divide) + n logs") | kTakesProbabilities,
    row("aten::masked_fill", pointwise<1>, "n selects") | kKeepsSize | kHasInPlace,
    row("aten::mul aten::square", multiply_or_invert, "n multiplies") | kHasInPlace,
    row("aten::multiply", multiply_or_invert, "n multiplies"),
    row("aten::nan_to_num", pointwise<3>, "3*n compares") | kHasInPlace,
    row("aten::neg", pointwise<1>, "n negations") | kHasInPlace,
    row("aten::polar", pointwise<2, 2>, "2*n multiplies + n sines + n cosines"),
    row("aten::pow", power, "n specials; multiplies for small whole exponents") | kHasInPlace |
        kTakesProbabilities,
    row("aten::reciprocal", multiply_or_invert, "n divides") | kHasInPlace,
    row("aten::rsqrt", pointwise_special, "n rsqrts") | kHasInPlace | kTakesProbabilities,
    row("aten::rsub aten::subtract", add, "n adds; 2*n where alpha is not 1"),
    row("aten::sin", pointwise_special, "n sines") | kHasInPlace,
    row("aten::sinc", pointwise<2, 1>, "2*n flops (multiply, divide) + n sines"),
    row("aten::special_entr", pointwise<2, 1>, "2*n flops (negate, multiply) + n logs"),
    row("aten::special_erf aten::special_erfc", pointwise_special, "n erfs"),
    row("aten::special_log1p", pointwise_special, "n logs"),
    row("aten::special_logit", pointwise<2, 1>, "2*n flops (subtract, divide) + n logs"),
    row("aten::special_ndtr", pointwise<3, 1>, "3*n flops + n erfs"),
    row("aten::special_xlog1py aten::special_xlogy aten::xlogy", pointwise<1, 1>, "n multiplies + n logs"),
    row("aten::sqrt", pointwise_special, "n sqrts") | kHasInPlace | kTakesProbabilities,
    row("aten::tan", pointwise_special, "n tangents") | kHasInPlace,
    row("aten::where", pointwise<1>, "n selects"),
};

}  // namespace

std::span<const OpRow> pointwise_rules() { return kTable<kRows>; }

}  // namespace opscope
