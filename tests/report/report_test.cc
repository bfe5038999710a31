// Reports: every format carries the same totals, fits its width, and survives hostile names.
#include <gtest/gtest.h>

#include "analyse/small_models.h"
#include "base/text.h"
#include "graph/random_graph.h"
#include "report/core/document.h"
#include "report/text_lines.h"

namespace opscope {
namespace {

using test::lines_of;
using test::RandomGraph;
using test::ResNet18;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Text, FitsEveryWidth) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  for (const int width : {80, 100, 120, 160}) {
    for (const bool shapes : {false, true}) {
      TextOptions options;
      options.width = width;
      options.show_shapes = shapes;
      for (const auto& line : lines_of(to_format(profile, Format::kText, options)))
        EXPECT_LE(display_width(line), width) << line;
    }
  }
}

// What is said about a fact goes on below it.
TEST(Text, DetailsOfFactsAreWholeAtEveryWidth) {
  Facts facts("Model");
  facts.add("KV cache per token", "24,576B",
            "12 layers of 2 x 8 heads x 64, and of 12 others the last 128 tokens");
  facts.add("Positions", "131,072");
  Document document{{{"a model"}}};
  document.add(facts);
  TextOptions options;
  for (options.width = 60; options.width <= 120; options.width += 5) {
    const std::string text = to_text(document, options);
    EXPECT_FALSE(has(text, "…")) << text;
    EXPECT_TRUE(has(text, "tokens\nPositions")) << text;
    for (const auto& line : lines_of(text)) EXPECT_LE(display_width(line), options.width) << line;
  }
}

TEST(Text, SaysWhatMatters) {
  const Graph graph = ResNet18::make();
  const std::string text = to_format(make_profile(graph), Format::kText);
  for (const char* part : {"resnet18", "torchvision 0.28.0", "x: 1x3x224x224 float32",
                           "static capture 1.4 ms", "69 ops, all exact", "11.69M", "1.81G", "0..1 x2",
                           "Top 10 of 69 layers by FLOPs", "compute-bound", "convolution is 99"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_FALSE(has(text, "\x1b["));
}

TEST(Text, UnknownOpsAreInTheFirstLines) {
  const Graph graph = test::shared_and_unknown();
  const auto lines = lines_of(to_format(make_profile(graph), Format::kText));
  EXPECT_TRUE(has(lines[0] + lines[1], "3 of 7 ops unknown: mylib::foo x3")) << lines[0] << lines[1];
  EXPECT_TRUE(has(to_format(make_profile(graph), Format::kText), "opscope.register_op(\"mylib::foo\""));
}

TEST(Text, DepthAndFold) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  TextOptions options;
  options.depth = 1;
  EXPECT_FALSE(has(to_format(profile, Format::kText, options), "0..1 x2"));
  options.depth = 9;
  EXPECT_TRUE(has(to_format(profile, Format::kText, options), "│  └─ 0..1 x2"));
  EXPECT_TRUE(has(to_format(profile, Format::kText, options), "(own ops)"));
  options.fold = false;
  EXPECT_FALSE(has(to_format(profile, Format::kText, options), "0..1 x2"));
}

TEST(Text, ColourOnlyWhenAsked) {
  const Graph graph = ResNet18::make();
  TextOptions options;
  options.color = true;
  std::string text = to_format(make_profile(graph), Format::kText, options);
  EXPECT_TRUE(has(text, "\x1b[1m"));
  for (auto at = text.find("\x1b["); at != std::string::npos; at = text.find("\x1b["))
    text.erase(at, text.find('m', at) - at + 1);
  EXPECT_EQ(text, to_format(make_profile(graph), Format::kText));
}

TEST(Text, ThreeSections) {
  const Graph graph = ResNet18::make();
  TextOptions options;
  options.sections_000 = true;
  const std::string text = to_format(make_profile(graph), Format::kText, options);
  EXPECT_TRUE(has(text, "Summary"));
  EXPECT_FALSE(has(text, "Operations"));
  EXPECT_FALSE(has(text, "Top 10"));
}

TEST(Csv, OneRowPerLayerAndTheTotals) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  const auto lines = lines_of(to_format(profile, Format::kCsv));
  ASSERT_EQ(lines.size(), 1 + profile.layers().size());
  std::uint64_t flops = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::istringstream row(lines[i]);
    std::string field;
    for (int c = 0; c < 10; ++c) std::getline(row, field, ',');  // flops is the tenth
    flops += std::stoull(field);
  }
  EXPECT_EQ(Count{flops}, profile.totals.flops);
}

TEST(Csv, Quotes) {
  GraphBuilder b("net", "Net");
  auto x = b.input({4});
  {
    const auto call = b.call("a,\"b\"", "ReLU");
    x = b.op("aten::relu", {{"self", x}}, {{4}});
  }
  const Graph graph = b.finish({x});
  EXPECT_TRUE(has(to_format(make_profile(graph), Format::kCsv), "\n\"a,\"\"b\"\"\",relu,"));
}

TEST(Csv, ModulesWhereTheyAreAskedFor) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  TextOptions options;
  options.level = Level::kModule;
  const auto lines = lines_of(to_format(profile, Format::kCsv, options));
  ASSERT_EQ(lines.size(), 1 + profile.modules().size());
  EXPECT_TRUE(lines[0].starts_with("path,name,type,depth,calls,params,")) << lines[0];
}

// What a spreadsheet would run is text to it, and numbers stay numbers.
TEST(Csv, FormulasAreText) {
  Table table{{{.key = "text"}, {.key = "number"}}, {}};
  table.rows = {{"=1+1", -2}, {"-x", 2.5}, {"-", true}, {"a\nb", Count{3}}};
  EXPECT_EQ(to_format(table, Format::kCsv, {}), "text,number\n'=1+1,-2\n'-x,2.5\n-,true\na\\nb,3\n");
}

TEST(Formats, WriteControlCharactersOut) {
  GraphBuilder b("net\x1b[31m", "Net");
  auto x = b.input({4}, "x\x07");
  {
    const auto call = b.call("a\x1b]0;b\r\nc\xc2\x85", "ReLU");
    x = b.op("aten::relu", {{"self", x}}, {{4}});
  }
  const Graph graph = b.finish({x});
  const Profile profile = make_profile(graph);
  for (const Format format : {Format::kText, Format::kMarkdown, Format::kHtml, Format::kCsv}) {
    const std::string text = to_format(profile, format);
    for (const char c : {'\x1b', '\x07', '\r'})
      EXPECT_EQ(text.find(c), std::string::npos) << name(format) << text;
    EXPECT_EQ(text.find("\xc2\x85"), std::string::npos) << name(format);
    EXPECT_TRUE(has(text, "x1b")) << name(format) << text;
  }
}

TEST(Json, HasTheOldKeysAndTheTotals) {
  const Graph graph = ResNet18::make();
  const Profile profile = make_profile(graph);
  const std::string json = to_json(profile);
  const std::string flops = std::to_string(profile.totals.flops.value());
  EXPECT_TRUE(has(json, "\"total_flops\": " + flops)) << json.substr(0, 600);
  for (const char* key : {"schema_version", "model", "total_memory", "totals", "inputs", "capture",
                          "coverage", "unknown_ops", "slow_path_ops", "modules", "layers", "ops",
                          "diagnostics", "bottleneck", "arithmetic_intensity", "memory"})
    EXPECT_TRUE(has(json, "\"" + std::string(key) + "\":")) << key;
}

TEST(Html, EscapesNames) {
  GraphBuilder b("<script>alert(1)</script>", "Net");
  auto x = b.input({4}, "a&b");
  x = b.op("aten::relu", {{"self", x}}, {{4}});
  const Graph graph = b.finish({x});
  const std::string html = to_format(make_profile(graph), Format::kHtml);
  EXPECT_FALSE(has(html, "<script>"));
  EXPECT_TRUE(has(html, "&lt;script&gt;"));
  EXPECT_TRUE(has(html, "a&amp;b"));
}

TEST(Markdown, EscapesBars) {
  GraphBuilder b("a|b", "Net");
  auto x = b.input({4});
  x = b.op("aten::relu", {{"self", x}}, {{4}});
  const Graph graph = b.finish({x});
  EXPECT_TRUE(has(to_format(make_profile(graph), Format::kMarkdown), "# a\\|b\n"));
}

TEST(Formats, AreDeterministicOnAnyGraph) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph = RandomGraph(seed).make(80);
    const Profile profile = make_profile(graph), again = make_profile(graph);
    for (const Format format : {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml})
      EXPECT_EQ(to_format(profile, format), to_format(again, format));
  }
}

TEST(Formats, ByNameAndExtension) {
  EXPECT_EQ(format_from_extension("out/a.JSON"), Format::kJson);
  EXPECT_EQ(format_from_name("md"), Format::kMarkdown);
  EXPECT_THROW(format_from_extension("out.d/a"), Error);
  EXPECT_THROW(format_from_extension("a.xlsx"), Error);
  EXPECT_THROW(format_from_name("xml"), Error);
  EXPECT_EQ(metric_named("mem", "--sort", kLayerNeeds).key, "memory_bytes");
  EXPECT_THROW(metric_named("speed", "--sort", kLayerNeeds), Error);
}

}  // namespace
}  // namespace opscope
