// Numbers are stable, views stay, copies are independent.
#include "graph/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace opscope {
namespace {

TEST(StringPool, GivesEachTextOneNumber) {
  StringPool pool;
  EXPECT_EQ(pool.intern(""), 0u);
  EXPECT_EQ(pool.intern("a"), 1u);
  EXPECT_EQ(pool.intern("b"), 2u);
  EXPECT_EQ(pool.intern("a"), 1u);
  EXPECT_EQ(pool.intern(std::string_view("\0", 1)), 3u);
  EXPECT_EQ(pool[1], "a");
  EXPECT_EQ(pool.size(), 4u);
}

TEST(StringPool, ViewsOutliveGrowth) {
  StringPool pool;
  const auto first = pool[pool.intern("first")];
  for (int i = 0; i < 50000; ++i)
    EXPECT_EQ(pool.intern("name" + std::to_string(i)), static_cast<unsigned>(i + 2));
  for (int i = 0; i < 50000; ++i)
    ASSERT_EQ(pool.intern("name" + std::to_string(i)), static_cast<unsigned>(i + 2));
  EXPECT_EQ(first, "first");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(pool[pool.intern(large)], large);
  EXPECT_EQ(pool[pool.intern("after")], "after");
}

TEST(StringPool, WhatIsAddedIsNotLookedUp) {
  StringPool pool;
  EXPECT_EQ(pool.add(""), 0u);
  const auto added = pool.add("a.b"), again = pool.add("a.b"), interned = pool.intern("a.b");
  EXPECT_NE(added, again);
  EXPECT_NE(again, interned);
  EXPECT_EQ(pool.intern("a.b"), interned);
  for (const auto id : {added, again, interned}) EXPECT_EQ(pool[id], "a.b");
}

TEST(StringPool, CopiesGoTheirOwnWay) {
  StringPool copy;
  {
    StringPool pool;
    pool.intern("shared");
    copy = pool;
    EXPECT_EQ(pool.intern("mine"), 2u);
    EXPECT_EQ(copy.intern("yours"), 2u);
    EXPECT_EQ(pool[2], "mine");
  }
  EXPECT_EQ(copy[1], "shared");
  EXPECT_EQ(copy[2], "yours");
  StringPool moved = std::move(copy);
  EXPECT_EQ(moved[2], "yours");
  copy = StringPool();  // what was moved from writes into none of the other's blocks
  EXPECT_EQ(copy[copy.intern("new")], "new");
  EXPECT_EQ(moved[moved.intern("more")], "more");
  EXPECT_EQ(copy[1], "new");
}

}  // namespace
}  // namespace opscope
