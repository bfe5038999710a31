// Special functions, one special for each element whatever series or fraction computes it, and orthogonal
// polynomials by their recurrences: so many flops for each degree above the first.
#include "ops/rules.h"

namespace opscope {
namespace {

// Of degree d, for each of n elements; a degree that is a tensor is not known, and taken as one special.
struct Polynomial {
  Count n, d;
  bool known = false;
  Letters letters() const { return {{"n", n}, {"d", d}}; }
};

std::optional<Polynomial> polynomial_of(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const auto degree = call.integer("n");
  return Polynomial{.n = call.outputs[0].numel, .d = degree.value_or(0), .known = degree.has_value()};
}

template <unsigned kFlops>
MaybeWork recurrence(const OpCall& call) {
  const auto x = polynomial_of(call);
  if (!x) return std::nullopt;
  if (!x->known) return Work{.specials = x->n};
  return Work{.other_flops = x->n * (x->d - 1) * kFlops};
}

// lgamma(x - i/2) for each i below p, added up with a constant.
struct Multivariate {
  Count n, p;
  Work work() const { return {.other_flops = n * p * 2, .specials = n * p}; }
  Letters letters() const { return {{"n", n}, {"p", p}}; }
};

std::optional<Multivariate> multivariate_of(const OpCall& call) {
  const auto p = call.integer("p");
  if (!p || call.outputs.empty()) return std::nullopt;
  return Multivariate{.n = call.outputs[0].numel, .p = *p};
}

constexpr Family row{.category = Category::kPointwise, .fusion = Fusion::kPointwise};
constexpr Family polynomial_row{.category = Category::kPointwise,
                                .fusion = Fusion::kPointwise,
                                .confidence = Confidence::kEstimated,
                                .letters = letters_from<polynomial_of>};

constexpr OpRow kRows[] = {
    row("aten::mvlgamma aten::special_multigammaln", work_from<multivariate_of>,
        "2*n*p flops (subtract, add) + n*p lgammas") |
        letters_from<multivariate_of>,
    row("aten::special_airy_ai aten::special_bessel_j0 aten::special_bessel_j1 aten::special_bessel_y0 "
        "aten::special_bessel_y1 aten::special_erfcx aten::special_modified_bessel_i0 "
        "aten::special_modified_bessel_i1 aten::special_modified_bessel_k0 aten::special_modified_bessel_k1 "
        "aten::special_scaled_modified_bessel_k0 aten::special_scaled_modified_bessel_k1 "
        "aten::special_zeta",
        pointwise_special, "n specials"),
    polynomial_row("aten::special_chebyshev_polynomial_t aten::special_chebyshev_polynomial_u "
                   "aten::special_chebyshev_polynomial_v aten::special_chebyshev_polynomial_w "
                   "aten::special_hermite_polynomial_he",
                   recurrence<3>, "3*n*(d-1) flops for degree d; n specials where d is a tensor"),
    polynomial_row("aten::special_hermite_polynomial_h", recurrence<4>,
                   "4*n*(d-1) flops for degree d; n specials where d is a tensor"),
    polynomial_row("aten::special_laguerre_polynomial_l aten::special_legendre_polynomial_p "
                   "aten::special_shifted_chebyshev_polynomial_t "
                   "aten::special_shifted_chebyshev_polynomial_u "
                   "aten::special_shifted_chebyshev_polynomial_v "
                   "aten::special_shifted_chebyshev_polynomial_w",
                   recurrence<7>, "7*n*(d-1) flops for degree d; n specials where d is a tensor"),
    row("aten::special_log_ndtr", pointwise<3, 2>, "3*n flops + n erfs + n logs"),
    row("aten::special_spherical_bessel_j0", pointwise<1, 1>, "n divides + n sines"),
};

}  // namespace

std::span<const OpRow> special_rules() { return kTable<kRows>; }

}  // namespace opscope
