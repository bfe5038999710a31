// Numbers and words as reports show them: one row per edge.
#include "base/text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>

namespace opscope {
namespace {

TEST(Numbers, Counts) {
  const std::pair<Count, const char*> cases[] = {{0, "0"},
                                                 {1, "1"},
                                                 {999, "999"},
                                                 {1000, "1.00K"},
                                                 {1004, "1.00K"},
                                                 {1005, "1.01K"},
                                                 {9994, "9.99K"},
                                                 {9995, "10.0K"},
                                                 {99949, "99.9K"},
                                                 {99950, "100K"},
                                                 {999499, "999K"},
                                                 {999500, "1.00M"},
                                                 {118013952, "118M"},
                                                 {1605632, "1.61M"},
                                                 {802816, "803K"},
                                                 {3640000000, "3.64G"},
                                                 {Count::kMax - 1, "18.4E"},
                                                 {Count::kMax, ">18.4E"}};
  for (const auto& [count, text] : cases) EXPECT_EQ(format_count(count), text);
  EXPECT_EQ(format_count(0, Zero::kDash), "-");
  EXPECT_EQ(format_count(5, Zero::kDash), "5");
}

TEST(Numbers, Parameters) {
  const std::pair<Count, const char*> cases[] = {{0, "0"},
                                                 {128, "128"},
                                                 {9408, "9.41K"},
                                                 {147968, "147.97K"},
                                                 {513000, "513.00K"},
                                                 {11689512, "11.69M"},
                                                 {999994, "999.99K"},
                                                 {999995, "1.00M"},
                                                 {405000000000, "405.00G"}};
  for (const auto& [count, text] : cases) EXPECT_EQ(format_params(count), text);
}

TEST(Numbers, Bytes) {
  const std::pair<Count, const char*> cases[] = {{0, "0B"},
                                                 {512, "512B"},
                                                 {3850000, "3.85MB"},
                                                 {9995000, "10.0MB"},
                                                 {19900000, "19.9MB"},
                                                 {107900000, "107.9MB"},
                                                 {999949999, "999.9MB"},
                                                 {999950000, "1.00GB"},
                                                 {1200000000000, "1.20TB"},
                                                 {Count::kMax, ">18.4EB"}};
  for (const auto& [count, text] : cases) EXPECT_EQ(format_bytes(count), text);
}

TEST(Numbers, Exact) {
  EXPECT_EQ(format_exact(0), "0");
  EXPECT_EQ(format_exact(999), "999");
  EXPECT_EQ(format_exact(1000), "1,000");
  EXPECT_EQ(format_exact(1814073344), "1,814,073,344");
}

TEST(Numbers, Ratios) {
  EXPECT_EQ(format_ratio(33.71), "33.7");
  EXPECT_EQ(format_ratio(0.01), "<0.1");
  EXPECT_EQ(format_ratio(0), "0.0");
  EXPECT_EQ(format_ratio(0, Zero::kDash), "-");
  EXPECT_EQ(format_ratio(std::nan("")), "-");
  EXPECT_EQ(format_ratio(std::numeric_limits<double>::infinity()), "-");
}

TEST(Numbers, Percentages) {
  EXPECT_EQ(format_percent(Count{998}, Count{1000}), "99.8%");
  EXPECT_EQ(format_percent(Count{99999}, Count{100000}), "99.9%");
  EXPECT_EQ(format_percent(Count{5}, Count{5}), "100%");
  EXPECT_EQ(format_percent(Count{1}, Count{100000}), "<0.1%");
  EXPECT_EQ(format_percent(Count{0}, Count{5}), "0%");
  EXPECT_EQ(format_percent(Count{0}, Count{0}, Zero::kDash), "-");
}

TEST(Numbers, Seconds) {
  EXPECT_EQ(format_seconds(0), "0 us");
  EXPECT_EQ(format_seconds(850e-6), "850 us");
  EXPECT_EQ(format_seconds(0.9996e-3), "1.0 ms");
  EXPECT_EQ(format_seconds(1.4e-3), "1.4 ms");
  EXPECT_EQ(format_seconds(0.123), "123 ms");
  EXPECT_EQ(format_seconds(2.31), "2.31 s");
  EXPECT_EQ(format_seconds(75.25), "75.2 s");
  EXPECT_EQ(format_seconds(-1), "-");
}

TEST(Numbers, Shapes) {
  EXPECT_EQ(format_shape({}), "scalar");
  const std::int64_t shape[] = {1, 3, 224, 224};
  EXPECT_EQ(format_shape(shape), "1x3x224x224");
}

TEST(Numbers, AForeignLocaleChangesNothing) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale);
    EXPECT_EQ(format_ratio(33.71), "33.7");
    EXPECT_EQ(format_count(1605632), "1.61M");
  }
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Width, CountsColumns) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("\u251c\u2500 x"), 4);
  EXPECT_EQ(display_width("\u6a21\u578b"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("\U0001F600"), 2);
  EXPECT_EQ(display_width("\xff\xfe"), 2);
}

TEST(Width, Pads) {
  EXPECT_EQ(pad_right("ab", 4), "ab  ");
  EXPECT_EQ(pad_left("ab", 4), "  ab");
  EXPECT_EQ(pad_left("\u6a21", 3), " \u6a21");
  EXPECT_EQ(pad_right("abc", 2), "abc");
  EXPECT_EQ(pad_right("abc", -1), "abc");
}

TEST(Width, Truncates) {
  EXPECT_EQ(truncate("abcdef", 6), "abcdef");
  EXPECT_EQ(truncate("abcdef", 4), "abc\u2026");
  EXPECT_EQ(truncate("\u6a21\u578b\u6a21", 4), "\u6a21\u2026");
  EXPECT_EQ(truncate("abc", 1), "\u2026");
  EXPECT_EQ(truncate("abc", 0), "");
  EXPECT_EQ(truncate_middle("layer1.0.conv1", 9), "laye\u2026onv1");
  EXPECT_EQ(truncate_middle("abc", 1), "\u2026");
  for (int width = 0; width < 20; ++width) {
    EXPECT_LE(display_width(truncate("a\u6a21e\u0301bcdefgh\u578b", width)), width);
    EXPECT_LE(display_width(truncate_middle("a\u6a21e\u0301bcdefgh\u578b", width)), width);
  }
}

TEST(Utf8, WellFormed) {
  EXPECT_TRUE(is_utf8("plain \u6a21"));
  EXPECT_FALSE(is_utf8("\xc3"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
}

TEST(Text, CaseAside) {
  EXPECT_EQ(lower_case("ResNet-50 Ä"), "resnet-50 Ä");
  EXPECT_TRUE(contains_text("Conv2d", "conv2D"));
  EXPECT_TRUE(contains_text("conv", ""));
  EXPECT_FALSE(contains_text("conv", "conv2d"));
  EXPECT_EQ(file_extension("a.b/out.tar.JSON"), "json");
  EXPECT_EQ(file_extension(".json"), "json");
  EXPECT_EQ(file_extension("a.b/out"), "");
  EXPECT_EQ(file_extension("out."), "");
}

using Names = std::vector<std::string>;
const Names kModels{"alexnet",        "densenet121", "mobilenet_v2", "mobilenet_v3_large",
                    "resnet101",      "resnet152",   "resnet18",     "resnet34",
                    "resnet50",       "swin_t",      "vgg11",        "vgg13",
                    "vgg16",          "vgg19",       "vit_b_16",     "vit_b_32",
                    "wide_resnet50_2"};

TEST(Nearest, FindsWhatWasMeant) {
  const std::pair<const char*, Names> cases[] = {
      {"resnet81", {"resnet18", "resnet101", "resnet34"}},
      {"ResNet-50", {"resnet50"}},
      {"mobilenetv2", {"mobilenet_v2"}},
      {"vgg", {"vgg11", "vgg13", "vgg16"}},
      {"wide", {"wide_resnet50_2"}},
      {"net50_2", {"wide_resnet50_2"}},
      {"swin_t_custom", {"swin_t"}},
      {"aelxnet", {"alexnet"}},
      {"zzz", {}},
      {"", {}},
      {"x", {}},
  };
  for (const auto& [typed, expected] : cases) {
    auto found = nearest_names(typed, kModels);
    found.resize(std::min(found.size(), std::max<std::size_t>(expected.size(), 1)));
    EXPECT_EQ(found, expected) << typed;
  }
}

TEST(Nearest, AsksAQuestion) {
  EXPECT_EQ(did_you_mean("swin", kModels), "did you mean swin_t?");
  EXPECT_EQ(did_you_mean("qqqqq", kModels), "");
  EXPECT_EQ(did_you_mean(std::string(100000, 'a'), kModels), "");
}

}  // namespace
}  // namespace opscope
