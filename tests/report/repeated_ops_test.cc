// Ops measured alone beside the model's: groups, sums and words.
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/builder.h"
#include "graph/measured_graph.h"
#include "report/text_lines.h"
#include "report/times/times.h"

namespace opscope {
namespace {

// Three equal ops, one of another size, a view, and one that was not replayed.
Graph repeated_graph() {
  GraphBuilder b("net");
  auto x = b.input({64, 64});
  for (int i = 0; i < 3; ++i) x = b.op("aten::relu", {{"self", x}}, {{64, 64}});
  const auto seen = b.op("aten::view", {{"self", x}, {"size", ints{4096}}}, {TensorSpec{4096}.view_of(x)});
  const auto y = b.op("aten::relu", {{"self", seen}}, {{4096}});
  b.op("aten::nonzero", {{"self", y}}, {{{7, 1}, DType::kInt64}});
  auto graph = b.finish({y});
  test::measure(graph);
  graph.measurement.repeated = {2000, 2000, 2000, kUnmeasured, 1500, kUnmeasured};
  return graph;
}

TEST(RepeatedOps, GroupsAndSums) {
  const Graph graph = repeated_graph();
  const Profile profile = make_profile(graph);
  const auto repeated = repeated_ops(profile);
  ASSERT_EQ(repeated.rows.size(), 2u);
  EXPECT_EQ(repeated.rows[0].ops, (std::vector<OpId>{0, 1, 2}));
  EXPECT_EQ(repeated.rows[0].signature, "aten::relu(self: float32[64,64]) on cpu");
  EXPECT_DOUBLE_EQ(repeated.rows[0].alone_seconds, 2e-6);
  EXPECT_EQ(repeated.calls, 4u);
  EXPECT_DOUBLE_EQ(repeated.alone_seconds, 3 * 2e-6 + 1.5e-6);
  EXPECT_EQ(repeated.other_calls, 1u);  // nonzero: the view does no work
  double in_model = 0;
  for (const OpId op : {0u, 1u, 2u, 4u})
    in_model += static_cast<double>(profile.costs[op].time.value()) * 1e-12;
  EXPECT_DOUBLE_EQ(repeated.time_seconds, in_model);
}

TEST(RepeatedOps, AreInEveryReport) {
  const Graph graph = repeated_graph();
  const Profile profile = make_profile(graph);
  const auto text = measure_report(profile, Format::kText);
  EXPECT_NE(text.find("Ops alone"), std::string::npos);
  EXPECT_NE(text.find("4 calls of 2 distinct ops"), std::string::npos) << text;
  for (const int width : {80, 100}) {
    TextOptions options;
    options.width = width;
    for (const auto& line : test::lines_of(measure_report(profile, Format::kText, options)))
      EXPECT_LE(display_width(line), width) << line;
  }
  const auto json = measure_report(profile, Format::kJson);
  EXPECT_NE(json.find("\"aten::relu(self: float32[4096]) on cpu\""), std::string::npos);
}

TEST(RepeatedOps, NothingIsSaidWhereNoneWereRepeated) {
  Graph graph = repeated_graph();
  graph.measurement.repeated.clear();
  const Profile profile = make_profile(graph);
  EXPECT_EQ(measure_report(profile, Format::kText).find("Ops alone"), std::string::npos);
  EXPECT_EQ(measure_report(profile, Format::kJson).find("repeated_ops"), std::string::npos);
}

}  // namespace
}  // namespace opscope
