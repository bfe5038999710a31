#include "metrics/unit.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace opscope {
namespace {

TEST(Unit, BytesInEveryUnit) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"65536", 65536},
      {"1MB", 1'000'000},
      {"24gb", 24'000'000'000},
      {"24GiB", 24ull << 30},
      {"1.5 gib", 3ull << 29},
      {"24G", 24'000'000'000},
      {"24Gi", 24ull << 30},
      {"256k", 256'000},
      {"256KiB", 256 * 1024},
      {"16MiB", 16 * 1024 * 1024},
      {"2TB", 2'000'000'000'000},
      {"0.0001", 0},
      {"7b", 7},
      {"18446744073709551615", Count::kMax},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes("--memory", text), Count{bytes}) << text;
  EXPECT_EQ(parse_bytes("--memory", "1e30TB"), Count{Count::kMax});
}

TEST(Unit, CountsTimesSharesAndRates) {
  const auto real = [](Unit unit, const char* text) { return parse_amount(unit, text, "").real; };
  EXPECT_EQ(parse_amount(Unit::kCount, "4.2G", "").count, Count{4'200'000'000});
  EXPECT_EQ(parse_amount(Unit::kParams, "7B", "").count, Count{7'000'000'000});
  EXPECT_EQ(parse_amount(Unit::kParams, "11_689_512", "").count, Count{11'689'512});
  EXPECT_EQ(parse_amount(Unit::kSeconds, "5ms", "").count, Count{5'000'000'000});  // picoseconds
  EXPECT_DOUBLE_EQ(real(Unit::kSeconds, "2.5 us"), 2.5e-6);
  EXPECT_DOUBLE_EQ(real(Unit::kSeconds, "2.5\xc2\xb5s"), 2.5e-6);
  EXPECT_DOUBLE_EQ(real(Unit::kShare, "25%"), 0.25);
  EXPECT_DOUBLE_EQ(real(Unit::kShare, "0.25"), 0.25);
  EXPECT_EQ(real(Unit::kRatio, "33.7"), 33.7);
  EXPECT_EQ(real(Unit::kTimes, "1.5x"), 1.5);
}

TEST(Unit, FiguresOfDatasheetsHaveTheirUnit) {
  EXPECT_EQ(parse_figure(Unit::kFlopRate, "1.5 PFLOP/s", ""), 1.5e15);
  EXPECT_EQ(parse_figure(Unit::kFlopRate, "624 TOP/s", ""), 624e12);
  EXPECT_EQ(parse_figure(Unit::kBandwidth, "4.8 TB/s", ""), 4.8e12);
  EXPECT_EQ(parse_figure(Unit::kBandwidth, "1 GiB/s", ""), 0x1p30);
  EXPECT_EQ(parse_figure(Unit::kBytes, "50 MiB", ""), 50 * 1048576.0);
  EXPECT_EQ(parse_figure(Unit::kBytes, "80GB", ""), 80e9);
  EXPECT_DOUBLE_EQ(parse_figure(Unit::kSeconds, "2.5 us", ""), 2.5e-6);
  EXPECT_EQ(parse_figure(Unit::kPower, "700 W", ""), 700);
  for (const char* text : {"80", "0 GB", "GB", "80 TFLOP/s"})
    EXPECT_THROW(parse_figure(Unit::kBytes, text, ""), Error) << text;
}

TEST(Unit, WhatIsNoAmount) {
  for (const char* text : {"", "lots", "24 gigs", "-1GB", "nan", "inf", "GB", "5ms", "25%"})
    EXPECT_THROW(parse_bytes("--memory", text), Error) << text;
  for (const char* text : {"5m", "5MB", "5 min"})
    EXPECT_THROW(parse_amount(Unit::kSeconds, text, ""), Error) << text;
  for (const char* text : {"1GiB", "3X", "1s"})
    EXPECT_THROW(parse_amount(Unit::kCount, text, ""), Error) << text;
  try {
    parse_bytes("--memory", "24 gigs");
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "'gigs' is not a unit of bytes");
  }
}

// What is printed for people reads back as what was printed.
TEST(Unit, TextReadsBack) {
  for (const Unit unit :
       {Unit::kCount, Unit::kParams, Unit::kBytes, Unit::kSeconds, Unit::kRatio, Unit::kShare, Unit::kTimes,
        Unit::kFlopRate, Unit::kBandwidth, Unit::kPower, Unit::kPlain})
    for (const double value : {0.25, 1.0, 12.0, 999.0, 1.25e3, 7.5e6, 1.81e9, 2.5e12}) {
      if (unit == Unit::kShare && value > 1) continue;
      const std::string once = text(unit, value);
      const Amount read = parse_amount(unit, once, "");
      EXPECT_EQ(text(unit, read), once) << value;
    }
}

TEST(Unit, Changes) {
  EXPECT_EQ(change_text(Unit::kBytes, counted(1000), counted(3000)), "+2.00KB");
  EXPECT_EQ(change_text(Unit::kCount, std::int64_t{-231'000'000}), "-231M");
  EXPECT_EQ(change_text(Unit::kSeconds, timed(5'000'000), timed(2'000'000)), "-3.00 us");
  EXPECT_EQ(change_text(Unit::kRatio, {{}, 1.5}, {{}, 3.0}), "+1.5");
  EXPECT_EQ(change_text(Unit::kBytes, std::int64_t{0}), "");
}

}  // namespace
}  // namespace opscope
