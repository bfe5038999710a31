// write -> read -> write is the identity on bytes, whatever the graph.
#include <gtest/gtest.h>

#include "graph/random_graph.h"
#include "graph/writer.h"
#include "readers/capture_reader.h"

namespace opscope {
namespace {

TEST(RoundTrip, RandomGraphsComeBackAsTheSameBytes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto graph = test::RandomGraph(seed).make(seed % 40);
    const auto written = write_json(graph);
    ASSERT_TRUE(looks_like_capture(written));
    const auto read = read_capture(written, "random");
    ASSERT_EQ(write_json(read), written) << "seed " << seed;
    ASSERT_EQ(read.ops.size(), graph.ops.size());
    ASSERT_EQ(read.values.size(), graph.values.size());
    ASSERT_EQ(read.arguments.size(), graph.arguments.size());
  }
}

TEST(RoundTrip, KeepsWhatJsonHasNoWordFor) {
  GraphBuilder b;
  const auto x = b.input({2});
  b.op("aten::masked_fill.Scalar",
       {{"self", x}, {"value", -std::numeric_limits<double>::infinity()}, {"one", 1.0}, {"int", 1}}, {{2}});
  const auto read = read_capture(write_json(b.finish({x})), "test");
  const auto arguments = read.arguments_of(read.ops[0]);
  EXPECT_EQ(arguments[1].kind, ArgumentKind::kFloat);
  EXPECT_EQ(arguments[1].real, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(arguments[2].kind, ArgumentKind::kFloat);
  EXPECT_EQ(arguments[3].kind, ArgumentKind::kInt);
  EXPECT_EQ(read.text(read.targets[read.ops[0].target].overload), "Scalar");
}

TEST(RoundTrip, BadUtf8IsReplacedOnce) {
  GraphBuilder b("caf\xe9");
  const auto x = b.input({1});
  const auto written = write_json(b.finish({x}));
  const auto read = read_capture(written, "test");
  EXPECT_EQ(read.capture.model, "caf\xef\xbf\xbd");
  EXPECT_EQ(write_json(read), written);
}

// Damaged files: every prefix, and many single-byte changes, end in an Error or a graph that verifies.
TEST(RoundTrip, EveryPrefixIsRefused) {
  const auto written = write_json(test::RandomGraph(7).make(12));
  for (std::size_t size = 0; size + 1 < written.size(); ++size)
    ASSERT_THROW(read_capture(written.substr(0, size), "cut"), Error) << size;
}

TEST(RoundTrip, ChangedBytesNeverCrash) {
  const auto written = write_json(test::RandomGraph(11).make(20));
  test::Random random(1);
  std::size_t refused = 0;
  for (int i = 0; i < 4000; ++i) {
    auto changed = written;
    for (auto n = 1 + random.below(3); n-- > 0;)
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    try {
      read_capture(changed, "changed").verify();
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), "changed");
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000u);
}

}  // namespace
}  // namespace opscope
