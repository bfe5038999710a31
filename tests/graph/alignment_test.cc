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

}  // namespace
}  // namespace opscope
