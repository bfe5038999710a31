// Lists of values: every form, and every mistake with its words.
#include <gtest/gtest.h>

#include "analyse/sweep/sweep.h"
#include "base/error.h"

namespace opscope {
namespace {

using List = std::vector<std::int64_t>;

List read(const char* text, std::int64_t least = 1) { return parse_value_list("--batch", text, least); }

std::string mistake(const char* text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "--batch");
    return error.what();
  }
  return "none";
}

TEST(SweepValues, every_form) {
  EXPECT_EQ(read("8"), (List{8}));
  EXPECT_EQ(read("4, 1,2"), (List{4, 1, 2}));
  EXPECT_EQ(read("1,2,4,..,32"), (List{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(read("1,2,4,...,32"), (List{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(read("16,32,48,..,96"), (List{16, 32, 48, 64, 80, 96}));
  EXPECT_EQ(read("1,2,..,5"), (List{1, 2, 3, 4, 5}));
  EXPECT_EQ(read("1,3,9,..,81,100"), (List{1, 3, 9, 27, 81, 100}));
  EXPECT_EQ(read("128:1024:x2"), (List{128, 256, 512, 1024}));
  EXPECT_EQ(read("128:1000:x2"), (List{128, 256, 512}));
  EXPECT_EQ(read("16:64:+16"), (List{16, 32, 48, 64}));
  EXPECT_EQ(read("16:64:16"), (List{16, 32, 48, 64}));
  EXPECT_EQ(read("3:6"), (List{3, 4, 5, 6}));
  EXPECT_EQ(read("1,4:8:x2,8,512"), (List{1, 4, 8, 512}));
  EXPECT_EQ(read("0,1,2", 0), (List{0, 1, 2}));
}

TEST(SweepValues, mistakes_say_what_is_wrong) {
  EXPECT_EQ(mistake(""), "'': a value is missing");
  EXPECT_EQ(mistake("1,,2"), "'1,,2': a value is missing");
  EXPECT_EQ(mistake("1,two"), "'1,two': 'two' is not a whole number");
  EXPECT_EQ(mistake("0,1"), "'0,1': values here are 1 or more");
  EXPECT_EQ(mistake("-4"), "'-4': values here are 1 or more");
  EXPECT_EQ(mistake("..,4"), "'..,4': '..' needs two values before it, to go on from");
  EXPECT_EQ(mistake("1,2,.."), "'1,2,..': '..' needs a value after it, to end at");
  EXPECT_EQ(mistake("1,2,4,..,100"), "'1,2,4,..,100': going on from 64 comes to 128, not to 100");
  EXPECT_EQ(mistake("1,2,7,..,100"),
            "'1,2,7,..,100': the values before '..' grow neither by one step nor by one factor");
  EXPECT_EQ(mistake("4,2,..,1"), "'4,2,..,1': the values before '..' do not grow");
  EXPECT_EQ(mistake("1,2,..,1"), "'1,2,..,1': 1 is not after 2");
  EXPECT_EQ(mistake("8:4"), "'8:4': 4 is less than 8");
  EXPECT_EQ(mistake("1:8:x1"), "'1:8:x1': values here are 2 or more");
  EXPECT_EQ(mistake("1:8:"), "'1:8:': a value is missing");
  EXPECT_EQ(mistake("1:5000000"), "'1:5000000': these are more than a million values");
  EXPECT_EQ(mistake("9999999999999999"), "'9999999999999999': '9999999999999999' is too large");
}

}  // namespace
}  // namespace opscope
