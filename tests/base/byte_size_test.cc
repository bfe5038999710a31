#include "base/byte_size.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace opscope {
namespace {

TEST(ByteSize, UnitsInEitherCase) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"65536", 65536},        {"1MB", 1000000},     {"24gb", 24000000000}, {"24GiB", 24ull << 30},
      {"1.5 gib", 3ull << 29}, {"256k", 256 * 1024}, {"0.0001", 0},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes("--memory", text), Count{bytes}) << text;
  EXPECT_EQ(parse_bytes("--memory", "1e30TB"), Count{Count::kMax});
}

TEST(ByteSize, WhatIsNone) {
  for (const char* text : {"", "lots", "24 gigs", "-1GB", "nan", "GB"})
    EXPECT_THROW(parse_bytes("--memory", text), Error) << text;
}

}  // namespace
}  // namespace opscope
