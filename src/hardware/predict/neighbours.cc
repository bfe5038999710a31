#include "hardware/predict/neighbours.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace opscope {
namespace {

constexpr std::size_t kAsked = 12;   // more change nothing
constexpr double kOtherDtype = 1.5;  // as far as so many doublings

struct Near {
  double distance;
  const Neighbour* neighbour;
};

double apart(const OpFeatures& a, const OpFeatures& b) {
  const double sizes = distance(a, b);
  return a.dtype == b.dtype ? sizes : std::sqrt(sizes * sizes + kOtherDtype * kOtherDtype);
}

// Solves the symmetric system for two right-hand sides at once, in place, by Cholesky; false: it is singular.
using Matrix = std::array<std::array<double, kAsked>, kAsked>;
bool factorise(Matrix& a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (i == j && !(sum > 1e-12)) return false;
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  return true;
}
void solve(const Matrix& factor, std::array<double, kAsked>& x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= factor[i][k] * x[k];
    x[i] /= factor[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= factor[k][i] * x[k];
    x[i] /= factor[i][i];
  }
}

}  // namespace

double seconds_by(const FamilyRates& rates, const OpFeatures& op) {
  const double compute = rates.flop_rate > 0 ? op.work() / rates.flop_rate : 0;
  const double memory = rates.byte_rate > 0 ? op.bytes / rates.byte_rate : 0;
  return std::max(compute, memory) + rates.seconds;
}

Miss miss_of(std::span<const Neighbour> measured, const FamilyRates& rates, const OpFeatures& op,
             std::size_t left_out) {
  std::array<Near, kAsked> near;
  std::size_t count = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (i == left_out) continue;
    const Near candidate{apart(op, measured[i].features), &measured[i]};
    if (candidate.distance > 3 * rates.reach) continue;
    if (count == kAsked && candidate.distance >= near[count - 1].distance) continue;
    if (count < kAsked) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && near[at - 1].distance > candidate.distance; --at) near[at] = near[at - 1];
    near[at] = candidate;
  }
  const double variance = rates.spread * rates.spread, noise = rates.noise * rates.noise;
  Miss found{.mean = 0, .deviation = std::sqrt(variance + noise)};
  if (count == 0) return found;
  const auto alike = [&](double distance) { return variance * std::exp(-distance / rates.reach); };
  Matrix covariance;
  std::array<double, kAsked> given, weights;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      covariance[i][j] = alike(apart(near[i].neighbour->features, near[j].neighbour->features));
    covariance[i][i] = variance + noise;
    given[i] = weights[i] = alike(near[i].distance);
  }
  if (!factorise(covariance, count)) return found;
  solve(covariance, weights, count);
  double known = 0;
  for (std::size_t i = 0; i < count; ++i)
    found.mean += weights[i] * near[i].neighbour->miss, known += weights[i] * given[i];
  found.deviation = std::sqrt(std::max(variance - known, 0.0) + noise);
  found.nearest = near[0].distance;
  return found;
}

}  // namespace opscope
