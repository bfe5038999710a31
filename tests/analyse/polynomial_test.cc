// Polynomials: random ones come back exactly, others are told apart, and what does not fit is refused.
#include "analyse/sweep/polynomial.h"

#include <gtest/gtest.h>

#include <random>

namespace opscope {
namespace {

using Point = std::vector<std::int64_t>;

// Whole coefficients, the last variable's powers fastest.
Wide value_of(const std::vector<std::int64_t>& coefficients, const std::vector<std::uint32_t>& terms,
              const Point& x) {
  Wide sum = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    Wide term = coefficients[i];
    std::size_t rest = i;
    for (std::size_t v = terms.size(); v-- > 0; rest /= terms[v])
      for (std::size_t power = 0; power < rest % terms[v]; ++power) term *= x[v];
    sum += term;
  }
  return sum;
}

std::vector<std::uint64_t> values_on(const Grid& grid, const std::vector<std::int64_t>& coefficients,
                                     const std::vector<std::uint32_t>& terms) {
  std::vector<std::uint64_t> values;
  std::size_t count = 1;
  for (const auto& nodes : grid) count *= nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    Point x(grid.size());
    std::size_t rest = i;
    for (std::size_t v = grid.size(); v-- > 0; rest /= grid[v].size()) x[v] = grid[v][rest % grid[v].size()];
    values.push_back(static_cast<std::uint64_t>(value_of(coefficients, terms, x)));
  }
  return values;
}

TEST(Polynomial, random_ones_come_back_exactly) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::uint32_t> terms{1 + static_cast<std::uint32_t>(random() % 3),
                                           1 + static_cast<std::uint32_t>(random() % 5)};
    Grid grid;
    for (const std::uint32_t count : terms) {
      std::int64_t at = 1 + static_cast<std::int64_t>(random() % 30);
      auto& nodes = grid.emplace_back();
      for (std::uint32_t i = 0; i < count; ++i)
        nodes.push_back(at += 1 + static_cast<std::int64_t>(random() % 40));
    }
    std::vector<std::int64_t> coefficients;
    for (std::size_t i = 0; i < terms[0] * terms[1]; ++i)
      coefficients.push_back(static_cast<std::int64_t>(random() % 1000));
    const auto fitted = Interpolation(grid).fit(values_on(grid, coefficients, terms));
    ASSERT_TRUE(fitted);
    for (int point = 0; point < 10; ++point) {
      const Point x{1 + static_cast<std::int64_t>(random() % 600),
                    1 + static_cast<std::int64_t>(random() % 300)};
      EXPECT_EQ(fitted->at(x), static_cast<std::uint64_t>(value_of(coefficients, terms, x)));
    }
  }
}

TEST(Polynomial, halves_are_exact) {  // n (n + 1) / 2
  const auto fitted = Interpolation(Grid{{2, 3, 4}}).fit(std::vector<std::uint64_t>{3, 6, 10});
  ASSERT_TRUE(fitted);
  for (std::int64_t n = 2; n < 1000; ++n)
    EXPECT_EQ(fitted->at(Point{n}), static_cast<std::uint64_t>(n * (n + 1) / 2));
}

TEST(Polynomial, a_value_that_is_not_whole_or_below_zero_is_none) {
  const auto half = Interpolation(Grid{{2, 4}}).fit(std::vector<std::uint64_t>{1, 2});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->at(Point{6}), 3u);
  EXPECT_EQ(half->at(Point{5}), std::nullopt);
  const auto falling = Interpolation(Grid{{1, 2}}).fit(std::vector<std::uint64_t>{5, 2});
  ASSERT_TRUE(falling);
  EXPECT_EQ(falling->at(Point{3}), std::nullopt);
}

TEST(Polynomial, promised_bounds_change_nothing) {
  auto cubic = *Interpolation(Grid{{2, 3, 5, 9}}).fit(std::vector<std::uint64_t>{8, 27, 125, 729});
  std::vector<std::optional<std::uint64_t>> before;
  for (std::int64_t n = 2; n < 200; ++n) before.push_back(cubic.at(Point{n}));
  cubic.promise_within(Point{100});
  for (std::int64_t n = 2; n < 200; ++n)
    EXPECT_EQ(cubic.at(Point{n}), before[static_cast<std::size_t>(n - 2)]);
  EXPECT_EQ(cubic.at(Point{1000}), 1000000000u);
}

TEST(Polynomial, what_overflows_is_refused) {
  const std::uint64_t huge = ~std::uint64_t{0} - 5;
  const auto steep = Interpolation(Grid{{1, 2}}).fit(std::vector<std::uint64_t>{0, huge});
  ASSERT_TRUE(steep);
  EXPECT_EQ(steep->at(Point{2}), huge);
  EXPECT_EQ(steep->at(Point{3}), std::nullopt);
  EXPECT_EQ(steep->at(Point{std::int64_t{1} << 62}), std::nullopt);
  Grid wide(1);
  for (std::int64_t i = 0; i < 9; ++i) wide[0].push_back(1 + (std::int64_t{1} << 39) * i);
  EXPECT_FALSE(Interpolation(wide).fit(std::vector<std::uint64_t>(9, huge)));
}

TEST(Polynomial, sums_and_bounds) {
  const Grid grid{{2, 3, 4}};
  const Interpolation interpolation(grid);
  const auto square = *interpolation.fit(std::vector<std::uint64_t>{4, 9, 16});
  const auto half = *interpolation.fit(std::vector<std::uint64_t>{3, 6, 10});
  EXPECT_TRUE(interpolation.fit(std::vector<std::uint64_t>{7, 7, 7})->is_constant());
  const auto sum = Polynomial::sum(square, half);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->at(Point{10}), 100u + 55u);
  EXPECT_TRUE(square.is_never_below(half));
  EXPECT_FALSE(half.is_never_below(square));
}

}  // namespace
}  // namespace opscope
