// write -> read -> write is the identity on bytes, whatever the graph.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "graph/measured_graph.h"
#include "graph/random_graph.h"
#include "readers/capture/capture_reader.h"

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

TEST(RoundTrip, TracersGraphsComeBackAsTheSameBytes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto graph = test::RandomGraph(seed).make_traced(seed % 40);
    const auto written = write_json(graph);
    const auto read = read_capture(written, "random");
    ASSERT_EQ(write_json(read), written) << "seed " << seed;
    ASSERT_EQ(read.nodes.size(), graph.nodes.size());
    ASSERT_EQ(read.node_refs.size(), graph.node_refs.size());
    ASSERT_EQ(read.parts.size(), graph.parts.size());
    ASSERT_EQ(read.breaks.size(), graph.breaks.size());
    ASSERT_EQ(read.capture.rungs.size(), graph.capture.rungs.size());
    for (OpId id = 0; id < graph.ops.size(); ++id) ASSERT_EQ(read.ops[id].node, graph.ops[id].node);
  }
}

TEST(RoundTrip, KeepsEveryFieldOfATracersGraph) {
  GraphBuilder b;
  const auto x = b.input({2});
  b.begin_part("forward");
  const NodeId input = b.node(NodeKind::kPlaceholder, "x", "L_x_", {}, {x});
  b.begin_part("resume");
  const auto child = b.call("a", "A");
  const NodeId odd = b.node(NodeKind::kCallMethod, "odd", "relu", {}, {x});
  const NodeId end = b.node(NodeKind::kOutput, "output", "output", {odd, odd});
  auto& graph = b.graph();
  graph.nodes[odd].source = graph.intern("net.py:7");
  graph.breaks = {{"print", "line one\nline two", "net.py:4", 1}, {"skipped", {}, {}, kNone}};
  graph.capture.rungs = {{"fx", "failed", "why", "what to do", "all\n", 0.25},
                         {"export", "used", {}, {}, {}, 0}};
  const auto read = read_capture(write_json(b.finish({x})), "test");
  EXPECT_EQ(read.nodes[input].kind, NodeKind::kPlaceholder);
  EXPECT_EQ(read.text(read.nodes[input].target), "L_x_");
  EXPECT_EQ(read.outputs_of(read.nodes[input])[0], x.id);
  EXPECT_EQ(read.nodes[odd].kind, NodeKind::kCallMethod);
  EXPECT_EQ(read.text(read.nodes[odd].name), "odd");
  EXPECT_EQ(read.text(read.nodes[odd].source), "net.py:7");
  EXPECT_EQ(read.nodes[odd].part, 1u);
  EXPECT_EQ(read.nodes[odd].module, 1u);
  EXPECT_EQ(read.inputs_of(read.nodes[end]).size(), 2u);
  EXPECT_EQ(read.inputs_of(read.nodes[end])[1], odd);
  EXPECT_EQ(read.parts[1].name, "resume");
  EXPECT_EQ(read.parts[1].calls, 1u);
  EXPECT_EQ(read.breaks[0].detail, "line one\nline two");
  EXPECT_EQ(read.breaks[0].source, "net.py:4");
  EXPECT_EQ(read.breaks[0].after, 1u);
  EXPECT_EQ(read.breaks[1].after, kNone);
  EXPECT_EQ(read.capture.rungs[0].hint, "what to do");
  EXPECT_EQ(read.capture.rungs[0].detail, "all\n");
  EXPECT_EQ(read.capture.rungs[0].seconds, 0.25);
  EXPECT_EQ(read.capture.rungs[1].outcome, "used");
  EXPECT_EQ(read.capture.rungs[1].seconds, 0);
}

TEST(RoundTrip, MeasuredGraphsComeBackAsTheSameBytes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto graph = test::RandomGraph(seed).make(seed % 20);
    test::measure(graph, {.runs = 1 + static_cast<std::uint32_t>(seed % 7), .on_device = seed % 2 == 0});
    const auto written = write_json(graph);
    const auto read = read_capture(written, "random");
    ASSERT_EQ(write_json(read), written) << "seed " << seed;
    ASSERT_EQ(read.measurement.host, graph.measurement.host);
    ASSERT_EQ(read.measurement.device, graph.measurement.device);
    ASSERT_EQ(read.measurement.scopes, graph.measurement.scopes);
    ASSERT_EQ(read.measurement.environment.clocks_mhz, graph.measurement.environment.clocks_mhz);
  }
}

TEST(RoundTrip, KeepsEveryFieldOfAMeasurement) {
  GraphBuilder b;
  const auto x = b.input({2});
  b.op("aten::relu", {{"self", x}}, {{2}});
  auto graph = b.finish({x});
  auto& m = graph.measurement;
  m.environment = {"cuda:0", "a", "b", "c", "d", "e",
                   "f",      "g", "h", 3,   4,   {{"graphics", 1.5}, {"memory", 2}}};
  m.warmup = 5, m.runs = 2, m.on_device = true, m.typical = 1, m.empty_interval = 6;
  m.plain = {7, 8}, m.timed = {9, 10}, m.plain_device = {11, 12}, m.timed_device = {13, 14};
  m.host = {15, kUnmeasured}, m.device = {0, kUnmeasured - 1}, m.scopes = {16, 17},
  m.repeated = {kUnmeasured};
  m.host_begin = {18}, m.device_begin = {19}, m.scope_begin = {20};
  m.unmatched = {{"aten::add", 21, 22}};
  m.peak_memory_bytes = 23, m.base_memory_bytes = 24;
  const auto read = read_capture(write_json(graph), "test").measurement;
  const auto fields = [](const Measurement& of) {
    const auto& at = of.environment;
    return std::tuple(at.device, at.device_name, at.host, at.system, at.torch, at.runtime, at.driver,
                      at.precision, at.dtype, at.threads, at.memory_bytes, at.clocks_mhz);
  };
  EXPECT_EQ(fields(read), fields(m));
  const auto numbers = [](const Measurement& of) {
    return std::tuple(of.warmup, of.runs, of.on_device, of.typical, of.empty_interval, of.plain, of.timed,
                      of.plain_device, of.timed_device, of.host, of.device, of.scopes, of.repeated,
                      of.host_begin, of.device_begin, of.scope_begin, of.peak_memory_bytes,
                      of.base_memory_bytes, of.unmatched.size(), of.unmatched.at(0).op,
                      of.unmatched.at(0).count, of.unmatched.at(0).total);
  };
  EXPECT_EQ(numbers(read), numbers(m));
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
  auto graph = test::RandomGraph(7).make_traced(12);
  const auto written = write_json(test::measure(graph, {.runs = 2, .on_device = true}));
  for (std::size_t size = 0; size + 1 < written.size(); ++size)
    ASSERT_THROW(read_capture(written.substr(0, size), "cut"), Error) << size;
}

TEST(RoundTrip, ChangedBytesNeverCrash) {
  auto graph = test::RandomGraph(11).make_traced(20);
  const auto written = write_json(test::measure(graph, {.runs = 2, .on_device = true}));
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
