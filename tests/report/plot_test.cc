// Drawings of plots: everything is inside the page, no two texts touch, and text versions fit their width.
#include "report/plot/plot.h"

#include <gtest/gtest.h>

#include "analyse/small_models.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/random_graph.h"
#include "report/plot/frame.h"
#include "report/svg_elements.h"
#include "report/text_lines.h"

namespace opscope {
namespace {

using test::lines_of;
using test::RandomGraph;
using test::ResNet18;

void expect_clean(const std::string& svg) {
  EXPECT_TRUE(test::well_formed(svg));
  const Box page = test::page(svg);
  const auto texts = test::texts(svg);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(page.contains(texts[i].box)) << texts[i].text;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(texts[i].box.inset(1).overlaps(texts[j].box.inset(1)))
          << texts[i].text << " / " << texts[j].text;
  }
  for (const auto tag : test::elements(svg, "rect"))
    EXPECT_TRUE(page.inset(-0.01).contains({test::number(tag, "x"), test::number(tag, "y"),
                                            test::number(tag, "width"), test::number(tag, "height")}))
        << tag;
  for (const auto tag : test::elements(svg, "circle")) {
    const double r = test::number(tag, "r");
    EXPECT_TRUE(page.contains({test::number(tag, "cx") - r, test::number(tag, "cy") - r, 2 * r, 2 * r}))
        << tag;
  }
}

std::vector<std::string> all_svgs(const Profile& profile) {
  std::vector<std::string> svgs;
  for (const Level level : {Level::kModule, Level::kLayer, Level::kOp, Level::kSubgraph})
    svgs.push_back(roofline_svg(profile, make_roofline(profile, level, {}), 12));
  svgs.push_back(types_svg(profile, make_types_plot(profile, metric_at("flops"), 10)));
  svgs.push_back(types_svg(profile, make_types_plot(profile, metric_at("macs"), 3)));
  for (const bool fold : {false, true})
    svgs.push_back(
        icicle_svg(profile, make_icicle(profile, {.metric = &metric_at("memory_bytes"), .fold = fold})));
  return svgs;
}

std::vector<std::string> all_texts(const Profile& profile, const TextOptions& options) {
  return {roofline_text(profile, make_roofline(profile, Level::kLayer, {}), options),
          types_text(profile, make_types_plot(profile, metric_at("flops"), 10), options),
          icicle_text(profile, make_icicle(profile, {.metric = &metric_at("memory_bytes")}), options)};
}

TextOptions styled(int width, bool color) {
  TextOptions options;
  options.width = width;
  options.color = color;
  return options;
}

TEST(PlotSvg, OfResNet18IsClean) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const std::string& svg : all_svgs(profile)) expect_clean(svg);
  for (const double ridge : {0.001, 1e5})
    expect_clean(roofline_svg(profile, make_roofline(profile, Level::kLayer, {.ridge = ridge}), 12));
}

TEST(PlotSvg, OfRandomGraphsIsClean) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const Graph graph = RandomGraph(seed).make(50);
    const Profile profile = make_profile(graph);
    if (!profile.totals.memory_bytes()) continue;
    for (const std::string& svg : all_svgs(profile)) expect_clean(svg);
  }
}

TEST(PlotSvg, SaysWhatMatters) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  const std::string svg = roofline_svg(profile, make_roofline(profile, Level::kLayer, {}), 10);
  for (const char* part : {"resnet18: roofline by layer", "ridge: 10 FLOPs per byte", "memory-bound",
                           "compute-bound", "layer1.*.conv*", "FLOPs of each layer"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  const Roof device{.ridge = 10, .peak_flops_per_second = 1e12};
  const std::string timed = roofline_svg(profile, make_roofline(profile, Level::kLayer, device), 10);
  EXPECT_NE(timed.find(" us</text>"), std::string::npos);
}

TEST(PlotText, FitsEveryWidth) {
  const Graph resnet = ResNet18::make(), random = RandomGraph(3).make(60);
  for (const Graph* graph : {&resnet, &random}) {
    const Profile profile = make_profile(*graph);
    for (const int width : {60, 80, 100, 160})
      for (const std::string& text : all_texts(profile, styled(width, false)))
        for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(PlotText, ColourOnlyWhereAsked) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const std::string& text : all_texts(profile, {})) EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (const std::string& text : all_texts(profile, styled(100, true)))
    EXPECT_NE(text.find("\x1b["), std::string::npos);
}

TEST(PlotData, RowsAreThoseOfThePlot) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  const RooflinePlot plot = make_roofline(profile, Level::kLayer, {});
  const auto csv = lines_of(roofline_data(profile, plot, Format::kCsv));
  EXPECT_EQ(csv.size(), plot.points.size() + 1);
  EXPECT_EQ(csv[0], "name,type,category,count,flops,memory_bytes,arithmetic_intensity,bound,time_share");
  const std::string json = roofline_data(profile, plot, Format::kJson);
  EXPECT_NE(json.find("\"plot\": \"roofline\""), std::string::npos) << json.substr(0, 200);
  EXPECT_EQ(lines_of(icicle_data(profile, make_icicle(profile, {}), Format::kCsv))[0],
            "path,name,type,category,depth,blocks,value,begin,share");
}

TEST(LabelPlacer, KeepsLabelsApart) {
  LabelPlacer placer({0, 0, 300, 200});
  std::vector<Box> taken;
  for (int i = 0; i < 8; ++i)
    if (const auto place = placer.place({110.0 + 12 * i, 100}, 4, 50, 12)) {
      EXPECT_TRUE((Box{0, 0, 300, 200}).contains(place->box));
      for (const Box& other : taken) EXPECT_FALSE(other.overlaps(place->box));
      taken.push_back(place->box);
    }
  EXPECT_GE(taken.size(), 6u);
  LabelPlacer full({0, 0, 300, 200});
  full.block({0, 0, 300, 200});
  EXPECT_FALSE(full.place({150, 100}, 4, 50, 12));
  EXPECT_FALSE(full.take({10, 10, 5, 5}));
}

}  // namespace
}  // namespace opscope
