// Layout, escaping and numbers of the JSON writer, byte for byte.
#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/error.h"

namespace opscope {
namespace {

std::string string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string number(double value) {
  std::string out;
  append_json_double(out, value);
  return out;
}

TEST(JsonWriter, LinesAndInline) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.field("a", 1);
  json.key("rows");
  json.begin_array();
  json.begin_object(JsonLayout::kInline);
  json.field("name", "x");
  json.list("shape", std::vector<std::int64_t>{1, -2});
  json.key("deep");
  json.begin_array(JsonLayout::kLines);  // inside an inline one: inline
  json.null();
  json.end_array();
  json.end_object();
  json.begin_array();
  json.end_array();
  json.end_array();
  json.field("on", true);
  json.end_object();
  EXPECT_EQ(out, R"({
  "a": 1,
  "rows": [
    {"name":"x","shape":[1,-2],"deep":[null]},
    []
  ],
  "on": true
})");
}

TEST(JsonWriter, MisuseIsAnInternalError) {
  std::string out;
  JsonWriter json(out);
  EXPECT_THROW(json.end_object(), InternalError);
  EXPECT_THROW(json.key("a"), InternalError);
}

TEST(JsonWriter, Escapes) {
  EXPECT_EQ(string("plain"), "\"plain\"");
  EXPECT_EQ(string("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(string("\n\r\t\b\f"), R"("\n\r\t\b\f")");
  EXPECT_EQ(string(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(string("\xc3\xa9\xe6\xa8\xa1\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe6\xa8\xa1\xf0\x9f\x98\x80\"");
}

TEST(JsonWriter, BadUtf8BecomesTheReplacementCharacter) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(string("a\xff"
                   "b"),
            "\"a" + bad + "b\"");
  EXPECT_EQ(string("\xc3"), "\"" + bad + "\"");                                // cut off
  EXPECT_EQ(string("\xc0\x80"), "\"" + bad + bad + "\"");                      // overlong
  EXPECT_EQ(string("\xed\xa0\x80"), "\"" + bad + bad + bad + "\"");            // surrogate
  EXPECT_EQ(string("\xf4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"");  // above U+10FFFF
}

TEST(JsonWriter, Doubles) {
  EXPECT_EQ(number(0), "0.0");
  EXPECT_EQ(number(-0.0), "-0.0");
  EXPECT_EQ(number(1), "1.0");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(5e-324), "5e-324");
  EXPECT_EQ(number(std::nan("")), "null");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, DoublesReadBackAsThemselves) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(std::strtod(number(value).c_str(), nullptr), value);
  }
}

TEST(JsonWriter, Integers) {
  std::string out;
  JsonWriter json(out);
  json.begin_array(JsonLayout::kInline);
  json.value(std::numeric_limits<std::int64_t>::min());
  json.value(std::numeric_limits<std::uint64_t>::max());
  json.value(Count{7});
  json.value(std::uint8_t{200});
  json.end_array();
  EXPECT_EQ(out, "[-9223372036854775808,18446744073709551615,7,200]");
}

TEST(JsonWriter, BlocksAreTheText) {
  const auto write = [](JsonWriter& json) {
    json.begin_object();
    json.key("rows");
    json.begin_array();
    for (int i = 0; i < 50'000; ++i) {
      json.begin_object(JsonLayout::kInline);
      json.field("index", i);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  };
  std::string whole, blocks, rest;
  std::size_t largest = 0;
  JsonWriter plain(whole);
  write(plain);
  const TextSink sink = [&](std::string_view block) {
    blocks += block;
    largest = std::max(largest, block.size());
  };
  JsonWriter streamed(rest, sink);
  write(streamed);
  EXPECT_EQ(blocks + rest, whole);
  EXPECT_GT(largest, 0u);
  EXPECT_LT(largest, whole.size() / 2);
}

TEST(JsonWriter, FunctionsAreFieldsToo) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("found", [] { return 7; });
  json.end_object();
  EXPECT_EQ(out, "{\"found\":7}");
}

}  // namespace
}  // namespace opscope
