#include "graph/alignment.h"

#include <gtest/gtest.h>

#include <random>

namespace opscope {
namespace {

using Ids = std::vector<Id>;

Ids counted(Id count) {
  Ids ids(count);
  for (Id i = 0; i < count; ++i) ids[i] = i;
  return ids;
}

TEST(Alignment, EqualRunsMatchOneByOne) {
  const Ids run{5, 6, 5, 7};
  EXPECT_EQ(align(run, run), counted(4));
  EXPECT_TRUE(align({}, {}).empty());
  EXPECT_EQ(align({}, run), Ids(4, kNone));
  EXPECT_TRUE(align(run, {}).empty());
}

TEST(Alignment, WhatIsMoreInOneRunIsPassedOver) {
  EXPECT_EQ(align(Ids{1, 2, 3, 4}, Ids{1, 9, 9, 2, 3, 4}), (Ids{0, kNone, kNone, 1, 2, 3}));
  EXPECT_EQ(align(Ids{1, 8, 2, 3, 4}, Ids{1, 2, 3, 4}), (Ids{0, 2, 3, 4}));
}

TEST(Alignment, OtherOpsInTheSamePlace) {
  EXPECT_EQ(align(Ids{1, 2, 3, 4, 5}, Ids{1, 7, 3, 4, 5}), (Ids{0, kNone, 2, 3, 4}));
  EXPECT_EQ(align(Ids{1, 2}, Ids{3, 4}), (Ids{kNone, kNone}));
}

// A single op that is alike is no sign that the runs have met again.
TEST(Alignment, TwoInARowToMeetAgain) {
  EXPECT_EQ(align(Ids{1, 2, 3, 4, 5}, Ids{1, 4, 2, 3, 4, 5}), (Ids{0, kNone, 1, 2, 3, 4}));
}

TEST(Alignment, RisesAndMatchesOnlyWhatIsAlike) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    Ids expected, seen;
    for (int i = 0; i < 300; ++i) {
      const auto op = static_cast<Id>(random() % 6);
      if (random() % 10 != 0) expected.push_back(op);
      if (random() % 10 != 0) seen.push_back(op);
    }
    const auto found = align(expected, seen);
    ASSERT_EQ(found.size(), seen.size());
    Id next = 0;
    std::size_t matched = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == kNone) continue;
      ASSERT_GE(found[i], next);
      ASSERT_EQ(expected[found[i]], seen[i]);
      next = found[i] + 1, ++matched;
    }
    EXPECT_GT(matched, seen.size() / 2);
  }
}

// The length of the longest common subsequence, by the textbook's table.
std::size_t longest(const Ids& a, const Ids& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      table[i][j] =
          a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
  return table[a.size()][b.size()];
}

std::size_t check(const Ids& expected, const Ids& seen) {
  const Ids found = align(expected, seen);
  EXPECT_EQ(found.size(), seen.size());
  std::size_t partners = 0, next = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == kNone) continue;
    EXPECT_GE(found[i], next);
    EXPECT_EQ(expected[found[i]], seen[i]);
    next = found[i] + 1;
    ++partners;
  }
  return partners;
}

TEST(Alignment, SmallOnes) {
  EXPECT_EQ(align(Ids{1, 2, 3}, Ids{1, 2, 3}), (Ids{0, 1, 2}));
  EXPECT_EQ(align(Ids{1, 2, 3}, Ids{9, 1, 9, 3}), (Ids{kNone, 0, kNone, 2}));
  EXPECT_EQ(align(Ids{}, Ids{1}), (Ids{kNone}));
  EXPECT_EQ(align(Ids{1}, Ids{}), (Ids{}));
  EXPECT_EQ(align(Ids{1, 2}, Ids{3, 4}), (Ids{kNone, kNone}));
}

TEST(Alignment, IsTheLongest) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto sequence = [&] {
      Ids ids(random() % 60);
      for (Id& id : ids) id = static_cast<Id>(random() % (2 + seed % 7));
      return ids;
    };
    const Ids a = sequence(), b = sequence();
    EXPECT_EQ(check(a, b), longest(a, b));
  }
}

TEST(Alignment, LongStretchesOfOneSideOnly) {
  Ids expected, seen;
  for (Id i = 0; i < 3000; ++i) {
    expected.push_back(i);
    if (i == 1000)
      for (Id k = 0; k < 1200; ++k) seen.push_back(100000 + k);
    seen.push_back(i);
  }
  EXPECT_EQ(check(expected, seen), 3000u);
}

TEST(Alignment, ManyDifferencesEndAllTheSame) {
  Ids expected(8000), seen(8000);
  std::mt19937 random(1);
  for (Id& id : expected) id = static_cast<Id>(random() % 1000);
  for (Id& id : seen) id = static_cast<Id>(random() % 1000);
  EXPECT_GT(check(expected, seen), 0u);
  for (Id& id : seen) id += 5000;
  EXPECT_EQ(check(expected, seen), 0u);
}

}  // namespace
}  // namespace opscope
