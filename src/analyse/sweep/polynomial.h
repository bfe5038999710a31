// Polynomials with rational coefficients in a few whole-number variables, in exact arithmetic: found from
// values on a grid of points, and evaluated without rounding. What would overflow 128 bits is refused, never
// wrapped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace opscope {

using Wide = __int128;

// Sum over monomials of coefficient * product of (x[v] - origin[v])^power, divided by the denominator.
class Polynomial {
 public:
  // In as many variables as `terms` has entries, each of so many powers (the degree and one).
  Polynomial(std::vector<std::int64_t> origin, std::vector<std::uint32_t> terms,
             std::vector<Wide> coefficients, Wide denominator);

  // nullopt where the value is no whole number of 0 to 2^64 - 2, or does not fit on the way.
  std::optional<std::uint64_t> at(std::span<const std::int64_t> x) const;

  // Up to which distance from the origin, in every variable, nothing can overflow: evaluated faster there.
  void promise_within(std::span<const std::int64_t> farthest);

  bool is_constant() const;

  // Of the same variables and origin; nullopt where it overflows.
  static std::optional<Polynomial> sum(const Polynomial& a, const Polynomial& b);
  // True if this is at least `other` at every point at or above the origin, judged by coefficients: where it
  // is false nothing is known.
  bool is_never_below(const Polynomial& other) const;

  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  bool is_safe(std::span<const std::int64_t> x) const;

  std::vector<std::int64_t> origin_, safe_;
  std::vector<std::uint32_t> terms_;
  std::vector<Wide> coefficients_;    // the last variable's powers run fastest
  std::vector<std::int64_t> narrow_;  // the same, where 64 bits are enough within what was promised
  Wide denominator_ = 1;
};

// The grid: for each variable the values at which the function is known, all different.
using Grid = std::vector<std::vector<std::int64_t>>;

// Makes polynomials from values on one grid; what depends on the grid alone is worked out once.
class Interpolation {
 public:
  explicit Interpolation(Grid grid);

  // `values`: at every point of the grid, the last variable fastest. nullopt where the numbers overflow.
  std::optional<Polynomial> fit(std::span<const std::uint64_t> values) const;

 private:
  struct Basis {  // of one variable: by node, the coefficients of its Lagrange polynomial times `scale`
    std::vector<std::vector<Wide>> rows;
    Wide scale = 1;
    bool overflows = false;
  };
  static Basis basis_of(std::span<const std::int64_t> nodes);

  Grid grid_;
  std::vector<Basis> bases_;
};

}  // namespace opscope
