// The SVG writer: numbers, escaping, widths of text, colours and axes.
#include "report/svg/svg.h"

#include <gtest/gtest.h>

#include <array>
#include <clocale>
#include <cmath>
#include <set>

#include "base/error.h"
#include "report/svg/axis.h"
#include "report/svg/colors.h"
#include "report/svg_elements.h"

namespace opscope {
namespace {

TEST(Svg, NumbersAreShort) {
  EXPECT_EQ(svg_number(0), "0");
  EXPECT_EQ(svg_number(-0.001), "0");
  EXPECT_EQ(svg_number(12), "12");
  EXPECT_EQ(svg_number(100), "100");
  EXPECT_EQ(svg_number(0.5), "0.5");
  EXPECT_EQ(svg_number(-3.254), "-3.25");
  EXPECT_THROW(svg_number(std::nan("")), InternalError);
}

TEST(Svg, NumbersKnowNoLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(svg_number(1234.5), "1234.5");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Svg, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(svg_escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(svg_escaped(std::string_view("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(svg_escaped("\xff\xc3\x97"), "\xef\xbf\xbd\xc3\x97");
}

TEST(Svg, DocumentsNestAndRepeat) {
  const auto draw = [] {
    Svg svg(200, 100, "a <title>");
    const std::string clip = svg.clip({0, 0, 50, 50});
    svg.begin_group({.id = "g1",
                     .css_class = "node",
                     .title = "over & out",
                     .clip = clip,
                     .attributes = {{"data-op", "1\"2"}}});
    svg.rect({1, 2, 3, 4}, {.fill = "#fff", .stroke = "#000"}, 2, "tip");
    svg.circle({5, 5}, 2.5, {.fill = svg.gradient(sequential_stops())});
    const std::array<Point, 3> points{{{0, 0}, {1, 1}, {2, 0}}};
    svg.polyline(points, {.stroke = "#000", .dash = "4 3"});
    svg.polygon(points, {.fill = "#000"});
    svg.path("M0 0L1 1", {.stroke = "#000"});
    svg.text({10, 20}, "<name>", {.rotation = -90, .halo = "#fff"});
    svg.end_group();
    return svg.document();
  };
  const std::string document = draw();
  EXPECT_EQ(document, draw());
  EXPECT_TRUE(test::well_formed(document)) << document;
  for (const char* part :
       {"viewBox=\"0 0 200 100\"", "<title>a &lt;title&gt;</title>", "data-op=\"1&quot;2\"",
        "clip-path=\"url(#clip1)\"", "<title>over &amp; out</title>", "rotate(-90 10 20)",
        "fill=\"url(#gradient1)\"", "stroke-dasharray=\"4 3\""})
    EXPECT_NE(document.find(part), std::string::npos) << part << "\n" << document;
}

TEST(Svg, GroupsMustBeClosed) {
  Svg svg(10, 10);
  EXPECT_THROW(svg.end_group(), InternalError);
  svg.begin_group();
  EXPECT_THROW(svg.document(), InternalError);
}

// As in the font: 569 of 2048 units for an "i", and so on.
TEST(SvgFont, WidthsAreThoseOfTheFont) {
  const Font font{.size = 100}, bold{.size = 100, .bold = true};
  EXPECT_NEAR(text_width("i", font), 27.78, 0.01);
  EXPECT_NEAR(text_width("layer1.0.conv1", font), 744.04, 0.01);
  EXPECT_GT(text_width("conv", bold), text_width("conv", font));
  EXPECT_NEAR(text_width("\xe4\xb8\xad", font), 100, 0.01);  // a full em
  EXPECT_EQ(text_width("e\xcc\x81", font), text_width("e", font));
  EXPECT_EQ(text_width("", font), 0);
}

TEST(SvgFont, FittedTextFits) {
  const Font font{.size = 11};
  const std::string name = "encoder.layer.11.attention.self.query";
  for (double width = 0; width < 260; width += 3.7)
    for (const std::string& text : {fitted(name, width, font), fitted_middle(name, width, font)})
      EXPECT_LE(text_width(text, font), width) << text;
  EXPECT_EQ(fitted(name, 1000, font), name);
  EXPECT_EQ(fitted(name, 5, font), "");
  const std::string middle = fitted_middle(name, 120, font);
  EXPECT_TRUE(middle.starts_with("enc")) << middle;
  EXPECT_TRUE(middle.ends_with("query")) << middle;
}

TEST(SvgColors, EveryCategoryHasOne) {
  std::set<std::string_view> colors;
  for (const ColorGroup& group : color_groups()) EXPECT_TRUE(colors.insert(group.color).second) << group.name;
  for (int c = 0; c <= static_cast<int>(Category::kCustom); ++c)
    EXPECT_TRUE(colors.contains(color_of(static_cast<Category>(c))));
  std::set<std::string_view> kinds;
  for (std::size_t k = 0; k < kMemoryKinds; ++k)
    EXPECT_TRUE(kinds.insert(color_of(static_cast<MemoryKind>(k))).second);
}

TEST(SvgColors, MixAndScale) {
  EXPECT_EQ(tinted("#000000", 0), "#000000");
  EXPECT_EQ(tinted("#000000", 1), "#ffffff");
  EXPECT_EQ(sequential_color(0), sequential_stops().front());
  EXPECT_EQ(sequential_color(1), sequential_stops().back());
  EXPECT_EQ(sequential_color(7), sequential_stops().back());
  EXPECT_EQ(sequential_color(std::nan("")), sequential_stops().front());
  EXPECT_EQ(ink_on("#000000"), kPaper);
  EXPECT_EQ(ink_on("#ffffff"), kInk);
}

TEST(SvgAxis, LabelsAreRound) {
  EXPECT_EQ(tick_label(0, Unit::kCount), "0");
  EXPECT_EQ(tick_label(1e9, Unit::kCount), "1G");
  EXPECT_EQ(tick_label(2.5e6, Unit::kBytes), "2.5MB");
  EXPECT_EQ(tick_label(0.25, Unit::kShare), "25%");
  EXPECT_EQ(tick_label(0.1, Unit::kPlain), "0.1");
  EXPECT_EQ(tick_label(0.001, Unit::kPlain), "1e-3");
  EXPECT_EQ(tick_label(10000, Unit::kPlain), "10K");
}

TEST(SvgAxis, LinearAxesEndAtATick) {
  for (const double most : {1e-3, 0.7, 1.0, 42.0, 997.0, 1.81e9, 3e17}) {
    const Axis axis = linear_axis(most, 0, 100, Unit::kCount);
    EXPECT_GE(axis.high, most);
    EXPECT_LE(axis.high, 2.6 * most);
    const auto ticks = axis.ticks();
    ASSERT_GE(ticks.size(), 2u);
    EXPECT_EQ(ticks.front().value, 0);
    EXPECT_NEAR(ticks.back().value, axis.high, 1e-6 * axis.high);
  }
  EXPECT_EQ(linear_axis(0, 0, 100, Unit::kCount).high, 1);
}

TEST(SvgAxis, PowersOfTwoWhereTheyAreCounted) {
  Axis axis = log_axis(1, 256, 0, 100, Unit::kPlain);
  axis.by_two = true;
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks(5))
    if (!tick.label.empty()) labels.push_back(tick.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"1", "4", "16", "64", "256"}));
}

TEST(SvgAxis, LogAxesHoldTheirEnds) {
  for (const auto& [low, high] : {std::pair{1.0, 1.0}, {0.02, 300.0}, {1.0, 1e12}, {5.0, 40.0}}) {
    const Axis axis = log_axis(low, high, 0, 100, Unit::kPlain);
    EXPECT_GT(axis.at(low), 0);
    EXPECT_LT(axis.at(high), 100);
    std::size_t labels = 0;
    for (const Tick& tick : axis.ticks(5)) {
      EXPECT_GE(axis.at(tick.value), -1e-6);
      EXPECT_LE(axis.at(tick.value), 100 + 1e-6);
      labels += !tick.label.empty();
    }
    EXPECT_GE(labels, 1u) << low << " " << high;
    EXPECT_LE(labels, 9u) << low << " " << high;
  }
}

}  // namespace
}  // namespace opscope
