// Lagrange interpolation one variable after the other, with one common denominator, and Horner's scheme.
#include "analyse/sweep/polynomial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace opscope {
namespace {

constexpr double kSafe = 1e37;        // 2^127 is 1.7e38
constexpr double kSafeNarrow = 4e18;  // 2^63 is 9.2e18

bool multiply(Wide a, Wide b, Wide& out) { return !__builtin_mul_overflow(a, b, &out); }
bool add(Wide a, Wide b, Wide& out) { return !__builtin_add_overflow(a, b, &out); }

Wide magnitude(Wide value) { return value < 0 ? -value : value; }

Wide common_divisor(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return magnitude(a);
}

// Horner's scheme, the last variable first. `step(sum, t, c)` is sum * t + c.
template <class Number, class Step>
Number folded(std::span<const Number> coefficients, std::span<const std::uint32_t> terms,
              std::span<const std::int64_t> origin, std::span<const std::int64_t> x, Step step) {
  if (terms.empty()) return coefficients[0];
  std::array<Number, 32> room;
  std::vector<Number> large;
  std::size_t count = coefficients.size();
  std::span<Number> values{room};
  if (count > room.size()) large.resize(count), values = large;
  for (std::size_t v = terms.size(); v-- > 0; coefficients = values) {
    const Number t = Number{x[v]} - origin[v];
    const std::uint32_t powers = terms[v];
    count /= powers;
    for (std::size_t row = 0; row < count; ++row) {
      Number sum = coefficients[row * powers + powers - 1];
      for (std::uint32_t power = powers - 1; power-- > 0;)
        sum = step(sum, t, coefficients[row * powers + power]);
      values[row] = sum;
    }
  }
  return values[0];
}

}  // namespace

Polynomial::Polynomial(std::vector<std::int64_t> origin, std::vector<std::uint32_t> terms,
                       std::vector<Wide> coefficients, Wide denominator)
    : origin_(std::move(origin)),
      terms_(std::move(terms)),
      coefficients_(std::move(coefficients)),
      denominator_(denominator) {
  const auto count = std::accumulate(terms_.begin(), terms_.end(), std::size_t{1}, std::multiplies<>());
  OPSCOPE_CHECK(origin_.size() == terms_.size() && coefficients_.size() == count);
  OPSCOPE_CHECK(denominator_ > 0);
  Wide divisor = denominator_;
  for (const Wide each : coefficients_) divisor = common_divisor(divisor, each);
  if (divisor <= 1) return;
  denominator_ /= divisor;
  for (Wide& each : coefficients_) each /= divisor;
}

void Polynomial::promise_within(std::span<const std::int64_t> farthest) {
  double bound = 0;
  for (std::size_t i = 0; i < coefficients_.size(); ++i) {
    double term = std::fabs(static_cast<double>(coefficients_[i]));
    std::size_t rest = i;
    for (std::size_t v = terms_.size(); v-- > 0; rest /= terms_[v])
      term *= std::pow(static_cast<double>(std::max<std::int64_t>(farthest[v], 1)),
                       static_cast<double>(rest % terms_[v]));
    bound += term;
  }
  safe_.clear(), narrow_.clear();
  if (bound < kSafe) safe_.assign(farthest.begin(), farthest.end());
  if (bound < kSafeNarrow)
    for (const Wide each : coefficients_) narrow_.push_back(static_cast<std::int64_t>(each));
}

bool Polynomial::is_safe(std::span<const std::int64_t> x) const {
  if (safe_.empty()) return terms_.empty();
  for (std::size_t v = 0; v < x.size(); ++v)
    if (x[v] < origin_[v] || x[v] - origin_[v] > safe_[v]) return false;
  return true;
}

std::optional<std::uint64_t> Polynomial::at(std::span<const std::int64_t> x) const {
  OPSCOPE_CHECK(x.size() == terms_.size());
  const auto plain = [](auto sum, auto t, auto c) { return sum * t + c; };
  bool overflows = false;
  const auto checked = [&](Wide sum, Wide t, Wide c) {
    overflows |= !multiply(sum, t, sum) || !add(sum, c, sum);
    return sum;
  };
  const Wide sum = !is_safe(x)       ? folded<Wide>(coefficients_, terms_, origin_, x, checked)
                   : narrow_.empty() ? folded<Wide>(coefficients_, terms_, origin_, x, plain)
                                     : folded<std::int64_t>(narrow_, terms_, origin_, x, plain);
  const Wide value = denominator_ == 1 ? sum : sum / denominator_;
  if (overflows || sum < 0 || (denominator_ != 1 && value * denominator_ != sum) ||
      value >= Wide{std::numeric_limits<std::uint64_t>::max()})
    return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

bool Polynomial::is_constant() const {
  return std::all_of(coefficients_.begin() + 1, coefficients_.end(), [](Wide each) { return each == 0; });
}

std::optional<Polynomial> Polynomial::sum(const Polynomial& a, const Polynomial& b) {
  OPSCOPE_CHECK(a.origin_ == b.origin_ && a.terms_ == b.terms_);
  const Wide divisor = common_divisor(a.denominator_, b.denominator_);
  Wide denominator = 0;
  if (!multiply(a.denominator_ / divisor, b.denominator_, denominator)) return std::nullopt;
  std::vector<Wide> coefficients(a.coefficients_.size());
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    Wide left = 0, right = 0;
    if (!multiply(a.coefficients_[i], b.denominator_ / divisor, left) ||
        !multiply(b.coefficients_[i], a.denominator_ / divisor, right) || !add(left, right, coefficients[i]))
      return std::nullopt;
  }
  return Polynomial(a.origin_, a.terms_, std::move(coefficients), denominator);
}

bool Polynomial::is_never_below(const Polynomial& other) const {
  if (origin_ != other.origin_ || terms_ != other.terms_) return false;
  for (std::size_t i = 0; i < coefficients_.size(); ++i) {
    Wide left = 0, right = 0;
    if (!multiply(coefficients_[i], other.denominator_, left) ||
        !multiply(other.coefficients_[i], denominator_, right) || left < right)
      return false;
  }
  return true;
}

Interpolation::Interpolation(Grid grid) : grid_(std::move(grid)) {
  for (const auto& nodes : grid_) bases_.push_back(basis_of(nodes));
}

// L_i(t) = product over j != i of (t - t_j) / (t_i - t_j), with t = x - x_0.
Interpolation::Basis Interpolation::basis_of(std::span<const std::int64_t> nodes) {
  Basis basis;
  std::vector<Wide> below(nodes.size(), 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<Wide> row{1};
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      if (j == i) continue;
      const Wide root = nodes[j] - nodes[0];
      basis.overflows |= !multiply(below[i], nodes[i] - nodes[j], below[i]);
      std::vector<Wide> longer(row.size() + 1, 0);  // row times (t - root)
      for (std::size_t power = 0; power < row.size(); ++power) {
        Wide part = 0;
        basis.overflows |= !multiply(row[power], -root, part) || !add(longer[power], part, longer[power]);
        basis.overflows |= !add(longer[power + 1], row[power], longer[power + 1]);
      }
      row = std::move(longer);
    }
    basis.rows.push_back(std::move(row));
  }
  if (basis.overflows) return basis;
  for (const Wide each : below) {
    const Wide step = magnitude(each) / common_divisor(basis.scale, each);
    if (basis.overflows = !multiply(basis.scale, step, basis.scale); basis.overflows) return basis;
  }
  for (std::size_t i = 0; i < nodes.size() && !basis.overflows; ++i)
    for (Wide& each : basis.rows[i]) basis.overflows |= !multiply(each, basis.scale / below[i], each);
  return basis;
}

std::optional<Polynomial> Interpolation::fit(std::span<const std::uint64_t> values) const {
  std::vector<Wide> numbers(values.begin(), values.end());
  std::vector<std::int64_t> origin;
  std::vector<std::uint32_t> terms;
  Wide denominator = 1;
  std::size_t inner = numbers.size();
  for (std::size_t v = 0; v < grid_.size(); ++v) {
    const Basis& basis = bases_[v];
    if (basis.overflows || !multiply(denominator, basis.scale, denominator)) return std::nullopt;
    const std::size_t count = grid_[v].size(), stride = inner / count;
    std::vector<Wide> made(numbers.size(), 0);
    for (std::size_t block = 0; block < numbers.size(); block += inner)
      for (std::size_t node = 0; node < count; ++node)
        for (std::size_t power = 0; power < count; ++power)
          for (std::size_t k = 0; k < stride; ++k) {
            Wide part = 0;
            Wide& sum = made[block + power * stride + k];
            if (!multiply(numbers[block + node * stride + k], basis.rows[node][power], part) ||
                !add(sum, part, sum))
              return std::nullopt;
          }
    numbers = std::move(made);
    inner = stride;
    origin.push_back(grid_[v].front());
    terms.push_back(static_cast<std::uint32_t>(count));
  }
  return Polynomial(std::move(origin), std::move(terms), std::move(numbers), denominator);
}

}  // namespace opscope
