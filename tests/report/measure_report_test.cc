// The report of a measured model: the same numbers in every format, within its width, on any graph.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/plot/plot.h"
#include "analyse/small_models.h"
#include "analyse/times/times.h"
#include "analyse/training_model.h"
#include "base/text.h"
#include "graph/measured_graph.h"
#include "graph/random_graph.h"
#include "report/plot/plot.h"
#include "report/text_lines.h"
#include "report/times/times.h"

namespace opscope {
namespace {

using test::lines_of;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::vector<std::string> fields_of(const std::string& row) {
  std::vector<std::string> fields;
  std::istringstream in(row);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

Graph measured_resnet18(bool on_device = false) {
  Graph graph = test::ResNet18::make();
  test::measure(graph, {.on_device = on_device});
  return graph;
}

constexpr Format kFormats[] = {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml};

TEST(MeasureReport, FitsEveryWidth) {
  for (const bool on_device : {false, true}) {
    const Graph graph = measured_resnet18(on_device);
    const Profile profile = make_profile(graph);
    for (const int width : {80, 100, 160}) {
      TextOptions options;
      options.width = width, options.sort = &metric_at("time_seconds");
      for (const auto& line : lines_of(measure_report(profile, Format::kText, options)))
        EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(MeasureReport, SaysWhatMatters) {
  const Graph graph = measured_resnet18();
  TextOptions options;
  options.sort = &metric_at("time_seconds");
  const std::string text = measure_report(make_profile(graph), Format::kText, options);
  for (const char* part :
       {"resnet18", "A Processor (cpu)", "torch 2.13.0", "2 threads", "9 runs after 3", "whole run",
        "with every op timed", "sum of ops", "ops account for", "peak memory", "Time", "% Time", "FLOP/s",
        "layers by time", "Memory-bound", "Launch-bound", "Where the time goes", "What to look at", "saves "})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(MeasureReport, ADeviceHasItsOwnClock) {
  const Graph graph = measured_resnet18(true);
  const std::string text = measure_report(make_profile(graph), Format::kText);
  for (const char* part :
       {"NVIDIA H200 (cuda:0)", "graphics 1980 MHz before", "on the device", "with every call timed",
        "from separate, slower runs", "Launch-bound", "their calls on the host", "CUDA 13.0"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

// Ops are timed on the device: what disturbs the host does not make their times rough.
TEST(MeasureReport, NoiseOfTheHostIsNotTheDevices) {
  Graph graph = measured_resnet18(true);
  Measurement& m = graph.measurement;
  for (std::size_t run = 0; run < m.runs; ++run) m.plain[run] = 300'000 * (run + 1);
  for (std::size_t i = 0; i < m.device.size(); ++i) m.device[i] = 5'000;
  const std::string text = measure_report(make_profile(graph), Format::kText);
  EXPECT_TRUE(has(text, "whole runs are")) << text;
  EXPECT_FALSE(has(text, "all numbers")) << text;
}

// A profiler's trace has no runs without the clock.
TEST(MeasureReport, RowsOfRunsHaveTheirOwnTitles) {
  Graph graph = measured_resnet18(true);
  graph.measurement.plain.clear(), graph.measurement.plain_device.clear();
  const std::string text = measure_report(make_profile(graph), Format::kText);
  for (const char* part : {"whole run, every op timed", "on the device, every op timed"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_FALSE(has(text, "  with every op timed")) << text;
}

// A clock does not make a run quicker: what runs without it took beyond those with it is not Python's.
TEST(MeasureReport, RunsThatAreQuickerWithTheClockAreNoise) {
  Graph graph = measured_resnet18();
  for (std::size_t run = 0; run < graph.measurement.plain.size(); ++run)
    graph.measurement.plain[run] = 3 * graph.measurement.timed[run];
  const Profile profile = make_profile(graph);
  const RunTimes runs = run_times(profile, OpTimes(profile));
  EXPECT_TRUE(runs.is_reversed());
  EXPECT_DOUBLE_EQ(runs.idle(), runs.timed.median - runs.op_seconds);
  TextOptions options;
  options.width = 200;
  const std::string text = measure_report(profile, Format::kText, options);
  for (const char* part : {"all numbers here are rough", "the rest is noise", "is below the noise"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(MeasureReport, ClocksAreNamedOnce) {
  Graph graph = measured_resnet18();
  graph.measurement.environment.clocks_mhz = {
      {"graphics before", 1980}, {"memory before", 2619}, {"graphics after", 1755}, {"memory after", 2619}};
  EXPECT_TRUE(has(measure_report(make_profile(graph), Format::kText),
                  "graphics 1980 MHz before, 1755 MHz after, memory 2619 MHz before and after"));
}

// Columns give way before names are cut so far that all are one.
TEST(MeasureReport, SlowLayersKeepTheirNames) {
  GraphBuilder b("net");
  auto x = b.input({8, 8});
  for (int i = 0; i < 12; ++i) {
    const auto call = b.call("encoder.layer." + std::to_string(i) + ".intermediate.dense", "Linear");
    const auto weight = b.parameter("weight", {8, 8});
    x = b.op("aten::mm", {{"self", x}, {"mat2", weight}}, {{8, 8}});
  }
  Graph graph = b.finish({x});
  test::measure(graph, {});
  TextOptions options;
  options.sort = &metric_at("time_seconds"), options.top = 12, options.width = 100;
  const std::string text = measure_report(make_profile(graph), Format::kText, options);
  for (const char* part : {"\nencoder.layer.1.intermediate.dense ", "\nencoder.layer.11.intermediate.dense "})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(MeasureReport, EveryFormatHasTheSameTotal) {
  const Graph graph = measured_resnet18();
  const Profile profile = make_profile(graph);
  const std::string total = format_time(profile.totals.time_seconds());
  EXPECT_TRUE(has(measure_report(profile, Format::kText), total));
  EXPECT_TRUE(has(measure_report(profile, Format::kMarkdown), total));
  EXPECT_TRUE(has(measure_report(profile, Format::kHtml), total));
  const auto lines = lines_of(measure_report(profile, Format::kCsv));
  const auto keys = fields_of(lines[0]);
  const auto column = static_cast<std::size_t>(std::ranges::find(keys, "time_seconds") - keys.begin());
  double sum = 0;
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (!lines[i].empty()) sum += std::stod(fields_of(lines[i]).at(column));
  EXPECT_NEAR(sum, profile.totals.time_seconds(), 1e-12);
  const std::string json = measure_report(profile, Format::kJson);
  for (const char* key : {"\"measurement\"", "\"time_seconds\"", "\"time_statistics\"", "\"reconciliation\"",
                          "\"where_time_goes\"", "\"call_statistics\"", "\"findings\""})
    EXPECT_TRUE(has(json, key)) << key;
}

TEST(MeasureReport, ATrainingStepHasPhases) {
  Graph graph = test::training_step();
  test::measure(graph);
  const std::string text = measure_report(make_profile(graph), Format::kText);
  for (const char* part : {"Phases", "forward", "backward"}) EXPECT_TRUE(has(text, part)) << part;
}

TEST(MeasureReport, IsDeterministicOnAnyGraph) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Graph graph = test::RandomGraph(seed).make_traced(seed % 30);
    test::measure(graph, {.runs = 1 + static_cast<std::uint32_t>(seed % 5), .on_device = seed % 2 == 0});
    graph.measurement.unmatched = {{"aten::add", 2, 3000}};
    const Profile profile = make_profile(graph);
    for (const Format format : kFormats)
      EXPECT_EQ(measure_report(profile, format), measure_report(make_profile(graph), format));
  }
}

TEST(MeasureReport, AProfileWithoutTimesHasNoneOfTheirColumns) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  EXPECT_FALSE(has(to_format(profile, Format::kText), "Time"));
  EXPECT_FALSE(has(to_json(profile), "time_seconds"));
  EXPECT_FALSE(has(to_format(profile, Format::kCsv), "time_seconds"));
}

TEST(MeasureReport, FoldedBlocksShowWhatOneTakesOnAverage) {
  const Graph graph = measured_resnet18();
  const Profile profile = make_profile(graph);
  const auto& rows = profile.modules();
  Count sum;
  std::uint64_t blocks = 0;
  for (const ModuleRow& row : rows) {
    const auto path = graph.path(graph.modules[row.module]);
    if (path == "layer1.0" || path == "layer1.1") sum += row.metrics.time, ++blocks;
  }
  ASSERT_EQ(blocks, 2u);
  TextOptions options;
  options.depth = 2;
  const auto lines = lines_of(to_format(profile, Format::kText, options));
  const auto folded = std::ranges::find_if(lines, [](const auto& line) { return has(line, "0..1 x2"); });
  ASSERT_NE(folded, lines.end());
  EXPECT_TRUE(has(*folded, format_time(static_cast<double>(sum / Count{2}) * 1e-12))) << *folded;
}

TEST(FlamePlot, IsCleanAndAddsUp) {
  for (const bool on_device : {false, true}) {
    const Graph graph = measured_resnet18(on_device);
    const Profile profile = make_profile(graph);
    const IciclePlot plot = make_icicle(profile, {.metric = &metric_at("time_seconds"), .fold = false});
    EXPECT_EQ(plot.total, profile.totals.time);
    std::vector<double> below(plot.slices.size());
    for (const IcicleSlice& slice : plot.slices)
      if (slice.parent != kNone) below[slice.parent] += slice.share;
    for (std::size_t i = 0; i < plot.slices.size(); ++i)
      if (!plot.slices[i].category) {
        EXPECT_NEAR(below[i], plot.slices[i].share, 1e-9);
      }
    const std::string svg = flame_svg(profile, plot);
    EXPECT_EQ(svg, flame_svg(profile, plot));
    EXPECT_TRUE(has(svg, "resnet18: time by module"));
    EXPECT_TRUE(has(svg, "<title>"));
    EXPECT_FALSE(has(svg, "nan"));
  }
}

TEST(FlamePlot, InTheTerminalTheModelIsAtTheBottom) {
  const Graph graph = measured_resnet18();
  const Profile profile = make_profile(graph);
  const IciclePlot plot = make_icicle(profile, {.metric = &metric_at("time_seconds"), .fold = false});
  const std::string flame = icicle_text(profile, plot, {}, PlotKind::kFlame);
  const std::string icicle = icicle_text(profile, plot, {});
  EXPECT_GT(flame.find("▏resnet18"), flame.find("▏layer1"));
  EXPECT_LT(icicle.find("▏resnet18"), icicle.find("▏layer1"));
}

TEST(FlamePlot, NeedsAMeasurement) {
  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  EXPECT_THROW(make_icicle(profile, {.metric = &metric_at("time_seconds")}), Error);
  EXPECT_THROW(make_types_plot(profile, metric_at("time_seconds"), 5), Error);
}

}  // namespace
}  // namespace opscope
