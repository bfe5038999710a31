// Reports of tracers: they fit their width, carry the totals, and name what to do about what failed.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "analyse/traced_models.h"
#include "base/text.h"
#include "graph/random_graph.h"
#include "report/profile/sections.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void expect_fits(const std::string& text, int width) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) EXPECT_LE(display_width(line), width) << line;
}

class TraceComparisonReport : public testing::Test {
 protected:
  TraceComparisonReport() {
    comparison_.graph = &engine_;
    comparison_.rows = {
        tracer_row("static", make_profile(engine_)),
        {.tracer = "fx",
         .failure = {.reason = "it branches on data", .hint = "try --tracer dynamo", .detail = "deep"}},
        tracer_row("dynamo", make_profile(dynamo_))};
    comparison_.rows[0].is_engine = true;
    compare_to_engine(comparison_.rows, comparison_.rows);
  }
  const Graph engine_ = test::cut_in_three(false), dynamo_ = test::cut_in_three();
  TraceComparison comparison_;
};

TEST_F(TraceComparisonReport, SaysWhatMatters) {
  const std::string text = to_format(comparison_, Format::kText, {});
  expect_fits(text, 100);
  for (const char* part : {"the engine", "same", "call_method", "it branches on data", "try --tracer dynamo",
                           "break 2 after graph 2 at my_model.py:17"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_FALSE(has(text, "deep"));
  TextOptions verbose;
  verbose.verbose = true;
  EXPECT_TRUE(has(to_format(comparison_, Format::kText, verbose), "deep"));
}

TEST_F(TraceComparisonReport, EveryFormatHasEveryRow) {
  for (const Format format : {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml})
    for (const char* part : {"static", "fx", "dynamo", "it branches on data", "try --tracer dynamo"})
      EXPECT_TRUE(has(to_format(comparison_, format, {}), part)) << name(format) << " " << part;
}

TEST_F(TraceComparisonReport, DifferencesAreMarked) {
  comparison_.rows[2].macs_difference = -4096;
  EXPECT_TRUE(has(to_format(comparison_, Format::kText, {}), "-4.10K"));
  EXPECT_TRUE(has(to_format(comparison_, Format::kCsv, {}), ",-4096,"));
}

TEST(Breaks, OfOnePlaceAndReasonAreOneLine) {
  const std::vector<Break> breaks{{"it prints", "one", "a/net.py:7", 0},
                                  {"it asks", "two", "a/net.py:9", 1},
                                  {"it prints", "three", "a/net.py:7", 2},
                                  {"it prints", "", "", kNone}};
  EXPECT_EQ(break_lines(breaks, true, false),
            (std::vector<std::string>{"breaks 1, 3 at net.py:7: it prints",
                                      "break 2 after graph 2 at net.py:9: it asks", "break 4: it prints"}));
  EXPECT_EQ(break_lines(breaks, false, false)[1], "break 2 at net.py:9: it asks");
  const auto all = break_lines(breaks, true, true);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[2], "break 3 after graph 3 at net.py:7: it prints\nthree");
}

TEST(Detail, FitsAndIsDeterministicOnAnyGraph) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = test::RandomGraph(seed).make_traced(60);
    const Profile profile = make_profile(graph);
    const TraceDetail detail{.profile = &profile, .row = tracer_row("dynamo", profile)};
    for (const Format format : {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml})
      EXPECT_EQ(to_format(detail, format, {}), to_format(detail, format, {}));
  }
}

TEST(Detail, ShowsNodesAsManyAsAskedFor) {
  const Graph graph = test::as_fx(test::ResNet18::make());
  const Profile profile = make_profile(graph);
  const TraceDetail detail{.profile = &profile, .row = tracer_row("fx", profile)};
  TextOptions options;
  options.top = 8;
  const std::string text = to_format(detail, Format::kText, options);
  expect_fits(text, 100);
  EXPECT_TRUE(has(text, "and 63 more nodes")) << text;
  options.verbose = true;
  EXPECT_FALSE(has(to_format(detail, Format::kText, options), "more nodes"));
}

TEST(Detail, WeightsAreListedOnlyWhereAllIsAskedFor) {
  const Graph graph = test::cut_in_three();
  const Profile profile = make_profile(graph);
  const TraceDetail detail{.profile = &profile, .row = tracer_row("dynamo", profile)};
  TextOptions options;
  options.top = 40;
  const std::string text = to_format(detail, Format::kText, options);
  EXPECT_FALSE(has(text, "first.weight")) << text;
  EXPECT_TRUE(has(text, "6 weights are not listed: --verbose shows them")) << text;
  EXPECT_TRUE(has(text, "Calls   MACs")) << text;
  options.verbose = true;
  EXPECT_TRUE(has(to_format(detail, Format::kText, options), "first.weight"));
  EXPECT_FALSE(has(to_format(detail, Format::kText, options), "not listed"));
}

TEST(Names, ThatDifferStayDifferentWhenCut) {
  Table table{{{.title = "Node", .align = Align::kLeft, .min_width = 16, .good_width = 32},
               {.title = "Target", .align = Align::kLeft, .min_width = 16}},
              {}};
  for (const char* kind : {"word", "position", "token_type"})
    table.rows.push_back({{"embeddings." + std::string(kind) + "_embeddings.weight"},
                          {"torch._C._nn.scaled_dot_product_attention"}});
  for (const int width : {34, 40, 50, 60, 80}) {
    const std::string text = text_table(table, {.width = width});
    expect_fits(text, width);
    std::istringstream in(text);
    std::set<std::string> lines;
    for (std::string line; std::getline(in, line);) EXPECT_TRUE(lines.insert(line).second) << text;
  }
  EXPECT_TRUE(has(text_table(table, {.width = 80}), "embeddings.token_type_embeddings.weight"));
}

TEST(Indented, KeepsTheTextsOwnIndent) {
  EXPECT_EQ(indented("one two three\n\n  four five", 12, 2), "  one two\n  three\n\n    four\n    five");
}

TEST(Profile, JsonHasTheTracersGraphsOnlyWhereThereAreAny) {
  const Graph plain = test::ResNet18::make(), cut = test::cut_in_three(), hybrid = test::by_hybrid();
  for (const char* key : {"\"parts\":", "\"nodes\":", "\"breaks\":", "\"outside\":", "\"node\":"}) {
    EXPECT_FALSE(has(to_json(make_profile(plain)), key)) << key;
    EXPECT_TRUE(has(to_json(make_profile(cut)), key)) << key;
  }
  EXPECT_TRUE(has(to_json(make_profile(hybrid)), "\"rungs\":"));
  EXPECT_FALSE(has(to_json(make_profile(cut)), "\"rungs\":"));
}

TEST(Profile, TextSaysGraphsBreaksAndRungs) {
  const Graph cut = test::cut_in_three(), hybrid = test::by_hybrid();
  const std::string text = to_format(make_profile(cut), Format::kText);
  EXPECT_TRUE(has(text, "dynamo capture 520 ms: 3 graphs, 2 breaks, 15 nodes")) << text;
  EXPECT_TRUE(has(text, "outside the graphs")) << text;
  EXPECT_FALSE(has(text, "Explanation"));
  TextOptions verbose;
  verbose.verbose = true;
  EXPECT_TRUE(has(to_format(make_profile(cut), Format::kText, verbose), "Explanation"));
  EXPECT_TRUE(has(to_format(make_profile(hybrid), Format::kText), "fx did not work: the model branches"));
  EXPECT_FALSE(has(to_format(make_profile(hybrid), Format::kText), "Traceback"));
  EXPECT_TRUE(has(to_format(make_profile(hybrid), Format::kText, verbose), "Traceback"));
}

}  // namespace
}  // namespace opscope
