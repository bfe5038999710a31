// A comparison in every format: the same numbers, no line wider than asked for, a picture in which no name
// lies on another.
#include <gtest/gtest.h>

#include "analyse/measured_models.h"
#include "base/error.h"
#include "base/text.h"
#include "report/compare/report.h"
#include "report/text_lines.h"

namespace opscope {
namespace {

ModelComparison compared(std::size_t models) {
  std::vector<ComparedModel> all;
  for (std::size_t i = 0; i < models; ++i) {
    const Graph graph = test::ResNet18::make(static_cast<std::int64_t>(1 + i));
    Figures figures = figures_of(make_profile(graph));
    figures.parameters.total = figures.parameters.total * Count(models + 2) / Count(i + 2);
    all.push_back({"resnet18_batch_" + std::to_string(1 + i), std::move(figures), {}});
  }
  return compare_models(std::move(all));
}

int widest(const std::string& text) {
  int most = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    most = std::max(most, display_width(text.substr(at, end - at)));
    at = end + 1;
  }
  return most;
}

TEST(ComparisonReport, FitsEveryWidth) {
  for (const std::size_t models : {2, 4, 7, 25}) {
    const auto c = compared(models);
    for (const int width : {80, 100, 140, 200}) {
      TextOptions options;
      options.width = width;
      EXPECT_LE(widest(to_format(c, std::nullopt, Format::kText, options)), width) << models << " models";
      for (const CompareBy by : {CompareBy::kType, CompareBy::kModule}) {
        const auto parts = compare_parts(c, by, metric_at("flops"));
        EXPECT_LE(widest(to_format(c, parts, Format::kText, options)), width) << models << " models";
      }
    }
  }
}

TEST(ComparisonReport, HasTheBestAndTheRatioWithoutColour) {
  const std::string text = to_format(compared(2), std::nullopt, Format::kText, {});
  EXPECT_NE(text.find("3.64G*"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00x"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ComparisonReport, FormatsHaveTheSameNumbers) {
  const auto c = compared(3);
  const std::string flops = std::to_string(c.models[2].figures.totals.flops.value());
  EXPECT_NE(to_format(c, std::nullopt, Format::kJson, {}).find("\"flops\": " + flops), std::string::npos);
  EXPECT_NE(to_format(c, std::nullopt, Format::kCsv, {}).find("," + flops + ","), std::string::npos);
  const std::string shown = format_count(c.models[2].figures.totals.flops);
  EXPECT_NE(to_format(c, std::nullopt, Format::kMarkdown, {}).find(shown), std::string::npos);
  EXPECT_NE(to_format(c, std::nullopt, Format::kHtml, {}).find(shown), std::string::npos);
}

TEST(ComparisonReport, RatiosAreShort) {
  const auto text = [](double ratio) { return ratio_text({.is_known = true, .ratio = ratio}); };
  EXPECT_EQ(text(1), "1.00x");
  EXPECT_EQ(text(0.001), "<0.01x");
  EXPECT_EQ(text(0.1), "0.10x");
  EXPECT_EQ(text(9.994), "9.99x");
  EXPECT_EQ(text(9.996), "10.0x");
  EXPECT_EQ(text(1234.5), "1234x");
  EXPECT_EQ(ratio_text({}), "");
}

TEST(Pareto, EveryModelHasADotAndAName) {
  for (const std::size_t models : {2, 7, 25}) {
    const auto c = compared(models);
    const std::string svg = pareto_svg(c, {});
    for (const ComparedModel& model : c.models)
      EXPECT_NE(svg.find(model.label), std::string::npos) << model.label;
    EXPECT_EQ(svg, pareto_svg(c, {}));
  }
}

TEST(Pareto, RefusesWhatIsNotThere) {
  const auto c = compared(2);
  EXPECT_THROW(pareto_svg(c, {.x = &metric_at("flops"), .y = &metric_at("flops")}), Error);
  EXPECT_THROW(pareto_svg(c, {.x = &metric_at("time_seconds")}), Error);
}

}  // namespace
}  // namespace opscope
