// Counts stick at their maximum.
#include "base/count.h"

#include <gtest/gtest.h>

namespace opscope {
namespace {

constexpr Count kTop{Count::kMax};

TEST(Count, Saturates) {
  EXPECT_EQ(kTop + Count{1}, kTop);
  EXPECT_EQ(Count{1ull << 40} * Count{1ull << 40}, kTop);
  EXPECT_EQ(kTop * Count{0}, Count{0});
  EXPECT_TRUE((Count{Count::kMax - 1} + Count{1}).saturated());
}

TEST(Count, StaysSaturated) {
  EXPECT_EQ(kTop - Count{5}, kTop);
  EXPECT_EQ(kTop / Count{2}, kTop);
}

TEST(Count, StopsAtZero) {
  EXPECT_EQ(Count{3} - Count{5}, Count{0});
  EXPECT_EQ(Count{-7}, Count{0});
  EXPECT_EQ(Count{7} / Count{0}, Count{0});
}

TEST(Count, ComparesAndConverts) {
  EXPECT_LT(Count{3}, Count{4});
  EXPECT_TRUE(Count{1});
  EXPECT_FALSE(Count{});
  EXPECT_EQ(static_cast<double>(Count{8}), 8.0);
}

}  // namespace
}  // namespace opscope
