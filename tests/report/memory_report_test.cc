// The memory report in all its formats: the same peak everywhere, on any graph.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/small_models.h"
#include "analyse/training_model.h"
#include "base/text.h"
#include "graph/random_graph.h"
#include "report/memory/report.h"
#include "report/text_lines.h"

namespace opscope {
namespace {

using test::lines_of;

int widest_line(const std::string& text) {
  int widest = 0;
  for (const std::string& line : lines_of(text)) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(MemoryReportFormats, AgreeOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = test::RandomGraph(seed).make(1 + seed % 40);
    const Profile profile = make_profile(graph);
    const auto report = make_memory_report(profile);
    const Count peak = profile.memory().peak_memory_bytes();
    const auto json = to_format(report, Format::kJson);
    EXPECT_NE(json.find("\"peak_memory_bytes\": " + std::to_string(peak.value())), std::string::npos)
        << "seed " << seed;
    EXPECT_EQ(lines_of(to_format(report, Format::kCsv)).size(), graph.ops.size() + 1) << "seed " << seed;
    // What is too much to count is "> 18.4E", which Markdown and HTML escape.
    for (const auto format : {Format::kText, Format::kMarkdown, Format::kHtml})
      EXPECT_TRUE((peak.saturated() && format != Format::kText) ||
                  to_format(report, format).find(format_bytes(peak)) != std::string::npos)
          << "seed " << seed;
    EXPECT_NE(to_json(profile).find("\"peak_memory_bytes\": " + std::to_string(peak.value())),
              std::string::npos);
    const auto svg = memory_svg(report);
    EXPECT_EQ(svg.find("nan"), std::string::npos) << "seed " << seed;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << "seed " << seed;
  }
}

TEST(MemoryReportFormats, ThePlotKeepsToItsWidth) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const int width : {60, 80, 100, 200}) {
    TextOptions options;
    options.width = width;
    EXPECT_LE(widest_line(memory_plot(make_memory_report(profile), options)), width);
    EXPECT_LE(widest_line(to_format(make_memory_report(profile), Format::kText, options)), width);
  }
}

// Of a training step, with all its kinds of memory.
TEST(MemoryReportFormats, ATrainingStepFitsToo) {
  const Graph graph = test::training_step();
  const Profile profile = make_profile(graph);
  for (const int width : {60, 80, 100}) {
    TextOptions options;
    options.width = width;
    EXPECT_LE(widest_line(to_format(make_memory_report(profile), Format::kText, options)), width);
  }
}

TEST(MemoryReportFormats, PhasesAreMarked) {
  const Graph graph = test::training_step();
  const Profile profile = make_profile(graph);
  const auto report = make_memory_report(profile);
  const auto plot = memory_plot(report, {});
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    EXPECT_NE(plot.find(phase), std::string::npos);
    EXPECT_NE(memory_svg(report).find(phase), std::string::npos);
    EXPECT_NE(to_format(report, Format::kCsv).find(phase), std::string::npos);
  }
}

TEST(MemoryReportFormats, Words) {
  MemorySplit split;
  EXPECT_EQ(split_text(split), "");
  split[MemoryKind::kInputs] = 10;
  split[MemoryKind::kKvCache] = 2000;
  split[MemoryKind::kWeights] = 100;
  EXPECT_EQ(split_text(split), "2.00KB KV cache + 100B weights + 10B inputs");
}

TEST(MemoryReportFormats, NoOps) {
  GraphBuilder b;
  const auto x = b.input({1});
  const Graph graph = b.finish({x});
  const Profile profile = make_profile(graph);
  const auto report = make_memory_report(profile);
  for (const auto format : {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml})
    EXPECT_FALSE(to_format(report, format).empty());
  EXPECT_NE(memory_svg(report).find("no op ran"), std::string::npos);
}

}  // namespace
}  // namespace opscope
