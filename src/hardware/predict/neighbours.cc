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
  double distance = 0;    // squared
  std::size_t place = 0;  // in the calibration
  std::size_t call = 0;   // in what is searched
  std::size_t kin = 0;    // of MeasuredOps
};

using Matrix = std::array<std::array<double, kAsked>, kAsked>;
// The lower triangle of a symmetric matrix by Cholesky, in place; false: it is singular. Column by column, so
// that no sum waits for the one before it.
bool factorise(Matrix& a, std::size_t n) {
  std::array<double, kAsked> column;
  for (std::size_t k = 0; k < n; ++k) {
    if (!(a[k][k] > 1e-12)) return false;
    const double root = column[k] = a[k][k] = std::sqrt(a[k][k]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double part = column[i] = a[i][k] /= root;
      for (std::size_t j = k + 1; j <= i; ++j) a[i][j] -= part * column[j];
    }
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

// The nearest, in order; of two as near, that which comes first in the calibration.
class Nearest {
 public:
  void offer(const Near& one) {
    if (!is_nearer(one)) return;
    if (count < kAsked) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && before(one, near[at - 1]); --at) near[at] = near[at - 1];
    near[at] = one;
  }
  // What is further off is not among them.
  double limit() const { return count < kAsked ? kFarthest : near[count - 1].distance; }

  std::array<Near, kAsked> near;
  std::size_t count = 0;

 private:
  static bool before(const Near& a, const Near& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.place < b.place);
  }
  bool is_nearer(const Near& one) const {
    return count < kAsked ? one.distance < kFarthest : before(one, near[count - 1]);
  }
};

// Matern's kernel of one and a half: smooth, but for what is near alone.
double alike(double squared) {
  const double scaled = std::sqrt(3 * squared);
  return (1 + scaled) * std::exp(-scaled);
}

// What ops of one family differ in beside their sizes.
template <class A, class B>
double unlike_kinds(const Likeness& likeness, const A& a, const B& b) {
  double sum = a.op == b.op ? 0 : likeness.op;
  if (a.dtype != b.dtype)
    sum += element_bytes(a.dtype) == element_bytes(b.dtype) ? likeness.dtype : likeness.width;
  for (std::uint32_t differ = a.kind ^ b.kind; differ != 0; differ &= differ - 1)
    sum += likeness.kinds[static_cast<std::size_t>(std::countr_zero(differ))];
  return sum;
}

double unlike_sizes(const Likeness& likeness, const OpSizes& a, const OpSizes& b, double sum, double enough) {
  for (std::size_t i = 0; i < a.size() && sum <= enough; ++i) {
    const double apart = static_cast<double>(a[i] - b[i]);
    sum += likeness.sizes[i] * apart * apart;
  }
  return sum;
}

// To the end, in the same order.
double unlike_sizes(const Likeness& likeness, const OpSizes& a, const OpSizes& b, double sum) {
  std::array<double, OpFeatures::kSizes> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double apart = static_cast<double>(a[i] - b[i]);
    parts[i] = likeness.sizes[i] * apart * apart;
  }
  for (const double part : parts) sum += part;
  return sum;
}

// Kriging: what the nearest tell together. `apart`: how unlike two of them are; `miss`: of one.
template <class Apart, class MissOf>
Miss told_by(const Nearest& nearest, const Likeness& likeness, Apart apart, MissOf miss) {
  const double variance = likeness.spread * likeness.spread, noise = likeness.noise * likeness.noise;
  Miss found{.mean = 0, .deviation = std::sqrt(variance + noise)};
  const std::size_t count = nearest.count;
  if (count == 0) return found;
  Matrix covariance;
  std::array<double, kAsked> given, weights;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      covariance[i][j] = variance * alike(apart(nearest.near[i], nearest.near[j]));
    covariance[i][i] = variance + noise;
    given[i] = weights[i] = variance * alike(nearest.near[i].distance);
  }
  if (!factorise(covariance, count)) return found;
  solve(covariance, weights, count);
  double known = 0;
  for (std::size_t i = 0; i < count; ++i)
    found.mean += weights[i] * miss(nearest.near[i]), known += weights[i] * given[i];
  found.deviation = std::sqrt(std::max(variance - known, 0.0) + noise);
  found.nearest = std::sqrt(nearest.near[0].distance);
  return found;
}

// Goes through kin by how unlike the op they are at least, and through each of them from the op's own size
// outwards, until nothing nearer can come.
class Search {
 public:
  Search(const MeasuredOps& measured, const Likeness& likeness, const OpFeatures& op)
      : measured_(measured), likeness_(likeness), op_(op) {}

  Nearest run() {
    std::vector<From> all;
    all.reserve(measured_.kin.size());
    for (std::size_t i = 0; i < measured_.kin.size(); ++i)
      if (const double least = unlike_kinds(likeness_, op_, measured_.kin[i]); least < kFarthest)
        all.push_back({least, i});
    constexpr auto later = [](const From& a, const From& b) { return a.least > b.least; };
    std::ranges::make_heap(all, later);
    for (; !all.empty() && all.front().least <= nearest_.limit(); all.pop_back()) {
      look_at(all.front());
      std::ranges::pop_heap(all, later);
    }
    return nearest_;
  }

 private:
  struct From {
    double least = 0;
    std::size_t kin = 0;
  };

  void look_at(const From& from) {
    const OpKin& kin = measured_.kin[from.kin];
    const auto sizes = measured_.sizes.subspan(kin.first, kin.count);
    const std::size_t order = kin.order;
    // How unlike it is at least: rounding never makes a sum less than a part of it.
    const auto least = [&](std::size_t i) {
      const double apart = static_cast<double>(op_.sizes[order] - sizes[i][order]);
      return from.least + likeness_.sizes[order] * apart * apart;
    };
    const auto by_order = [&](const OpSizes& one) { return one[order]; };
    std::size_t up = static_cast<std::size_t>(
        std::ranges::lower_bound(sizes, op_.sizes[order], {}, by_order) - sizes.begin());
    std::size_t down = up;
    while (down > 0 || up < sizes.size()) {
      const bool goes_up = down == 0 || (up < sizes.size() && least(up) < least(down - 1));
      const std::size_t at = goes_up ? up++ : --down;
      const double limit = nearest_.limit();
      if (least(at) > limit) return;
      const std::size_t call = kin.first + at;
      nearest_.offer({unlike_sizes(likeness_, op_.sizes, sizes[at], from.least, limit),
                      measured_.places[call], call, from.kin});
    }
  }

  const MeasuredOps& measured_;
  const Likeness& likeness_;
  const OpFeatures& op_;
  Nearest nearest_;
};

}  // namespace

double seconds_by(const FamilyRates& rates, const OpFeatures& op) {
  const double compute = rates.flop_rate > 0 ? op.work() / rates.flop_rate : 0;
  const double memory = rates.byte_rate > 0 ? op.bytes / rates.byte_rate : 0;
  const double step_rate =
      rates.step_rate > 0 || op.family != OpFamily::kMatmul ? rates.step_rate : rates.byte_rate;
  const double steps = step_rate > 0 ? op.steps / step_rate : 0;
  return std::max(compute, memory) + steps + rates.seconds;
}

double unlikeness(const Likeness& likeness, const OpFeatures& a, const OpFeatures& b, double enough) {
  return unlike_sizes(likeness, a.sizes, b.sizes, unlike_kinds(likeness, a, b), enough);
}

Miss miss_of(std::span<const Neighbour> measured, const Likeness& likeness, const OpFeatures& op,
             std::size_t left_out) {
  Nearest nearest;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (i == left_out) continue;
    const double distance = unlikeness(likeness, op, measured[i].features, nearest.limit());
    if (distance < nearest.limit()) nearest.offer({distance, i, i});
  }
  return told_by(
      nearest, likeness,
      [&](const Near& a, const Near& b) {
        return unlikeness(likeness, measured[a.call].features, measured[b.call].features);
      },
      [&](const Near& one) { return measured[one.call].miss; });
}

Miss miss_of(const MeasuredOps& measured, const Likeness& likeness, const OpFeatures& op) {
  return told_by(
      Search(measured, likeness, op).run(), likeness,
      [&](const Near& a, const Near& b) {
        return unlike_sizes(likeness, measured.sizes[a.call], measured.sizes[b.call],
                            unlike_kinds(likeness, measured.kin[a.kin], measured.kin[b.kin]));
      },
      [&](const Near& one) { return measured.misses[one.call]; });
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
