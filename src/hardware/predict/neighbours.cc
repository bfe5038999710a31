#include "hardware/predict/neighbours.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace opscope {
namespace {

constexpr std::size_t kAsked = 24;  // more change nothing
constexpr double kFarthest = 9;     // squared: beyond, nothing is said

struct Near {
  double distance = 0;  // squared
  const Neighbour* neighbour = nullptr;
};

using Matrix = std::array<std::array<double, kAsked>, kAsked>;
// The lower triangle of a symmetric matrix by Cholesky, in place; false: it is singular.
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

// The nearest, in order.
class Nearest {
 public:
  void offer(double distance, const Neighbour& neighbour) {
    if (count == kAsked && distance >= near[count - 1].distance) return;
    if (count < kAsked) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && near[at - 1].distance > distance; --at) near[at] = near[at - 1];
    near[at] = {distance, &neighbour};
  }
  double limit() const { return count < kAsked ? kFarthest : near[count - 1].distance; }

  std::array<Near, kAsked> near;
  std::size_t count = 0;
};

// Matern's kernel of one and a half: smooth, but for what is near alone.
double alike(double squared) {
  const double scaled = std::sqrt(3 * squared);
  return (1 + scaled) * std::exp(-scaled);
}

}  // namespace

double seconds_by(const FamilyRates& rates, const OpFeatures& op) {
  const double compute = rates.flop_rate > 0 ? op.work() / rates.flop_rate : 0;
  const double memory = rates.byte_rate > 0 ? op.bytes / rates.byte_rate : 0;
  const double steps = rates.step_rate > 0 ? op.steps / rates.step_rate : 0;
  return std::max(compute, memory) + steps + rates.seconds;
}

double unlikeness(const Likeness& likeness, const OpFeatures& a, const OpFeatures& b, double enough) {
  double sum = a.op == b.op ? 0 : likeness.op;
  if (a.dtype != b.dtype)
    sum += element_bytes(a.dtype) == element_bytes(b.dtype) ? likeness.dtype : likeness.width;
  for (std::uint32_t differ = a.kind ^ b.kind; differ != 0; differ &= differ - 1)
    sum += likeness.kinds[static_cast<std::size_t>(std::countr_zero(differ))];
  for (std::size_t i = 0; i < a.sizes.size() && sum < enough; ++i) {
    const double apart = static_cast<double>(a.sizes[i] - b.sizes[i]);
    sum += likeness.sizes[i] * apart * apart;
  }
  return sum;
}

Miss miss_of(std::span<const Neighbour> measured, const Likeness& likeness, const OpFeatures& op,
             std::size_t left_out) {
  Nearest nearest;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (i == left_out) continue;
    const double distance = unlikeness(likeness, op, measured[i].features, nearest.limit());
    if (distance < nearest.limit()) nearest.offer(distance, measured[i]);
  }
  const double variance = likeness.spread * likeness.spread, noise = likeness.noise * likeness.noise;
  Miss found{.mean = 0, .deviation = std::sqrt(variance + noise)};
  const std::size_t count = nearest.count;
  if (count == 0) return found;
  Matrix covariance;
  std::array<double, kAsked> given, weights;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      covariance[i][j] = variance * alike(unlikeness(likeness, nearest.near[i].neighbour->features,
                                                     nearest.near[j].neighbour->features));
    covariance[i][i] = variance + noise;
    given[i] = weights[i] = variance * alike(nearest.near[i].distance);
  }
  if (!factorise(covariance, count)) return found;
  solve(covariance, weights, count);
  double known = 0;
  for (std::size_t i = 0; i < count; ++i)
    found.mean += weights[i] * nearest.near[i].neighbour->miss, known += weights[i] * given[i];
  found.deviation = std::sqrt(std::max(variance - known, 0.0) + noise);
  found.nearest = std::sqrt(nearest.near[0].distance);
  return found;
}

Miss both(const Miss& neighbours, double trees, const Likeness& likeness) {
  if (!(likeness.trees > 0)) return neighbours;
  const double a = 1 / (neighbours.deviation * neighbours.deviation),
               b = 1 / (likeness.trees * likeness.trees);
  return {.mean = (a * neighbours.mean + b * trees) / (a + b),
          .deviation = likeness.both / std::sqrt(a + b),
          .nearest = neighbours.nearest};
}

}  // namespace opscope
