// A trace's times on the ops that they belong to, and reasons for the rest.
#include <gtest/gtest.h>

#include "analyse/trace/joined.h"
#include "base/error.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "readers/capture/capture_reader.h"
#include "readers/files/model_file.h"
#include "readers/kineto/reader.h"
#include "readers/small_trace.h"

namespace opscope {
namespace {

using test::SmallTrace;

// linear, relu, linear, each in a module of its own.
Graph small_graph() {
  GraphBuilder b("net", "Net");
  Tensor x = b.input({2, 8});
  const auto linear = [&](const char* name) {
    const auto call = b.call(name, "Linear");
    x = b.op("aten::linear", {{"input", x}, {"weight", b.parameter("weight", {8, 8})}, {"bias", nullptr}},
             {{2, 8}});
  };
  linear("first");
  {
    const auto call = b.call("act", "ReLU");
    x = b.op("aten::relu", {{"self", x}}, {{2, 8}});
  }
  linear("second");
  return b.finish({x});
}

JoinedTrace join(const Graph& graph, const SmallTrace& trace) {
  return join_trace(graph, read_kineto_bytes(trace.json(), "trace.json"));
}

// One run of small_graph on the CPU; op i takes 100 + i.
void add_run(SmallTrace& trace, long start, std::string_view dims = "[[2, 8], [8, 8], []]") {
  trace.call("aten::linear", start, 100, dims);
  trace.call("aten::t", start + 10, 20);
  trace.call("aten::matmul", start + 40, 50);
  trace.call("aten::mm", start + 45, 40);
  trace.call("aten::relu_", start + 200, 101, std::string(dims.substr(0, dims.find(']') + 1)) + "]");
  trace.call("aten::clamp_min_", start + 210, 50);
  trace.call("aten::linear", start + 400, 102, dims);
}

void expect_runs(const JoinedTrace& joined, std::uint32_t runs) {
  const Measurement& m = joined.measurement;
  ASSERT_EQ(m.runs, runs);
  ASSERT_EQ(m.host.size(), 3 * runs);
  for (OpId op = 0; op < 3; ++op)
    for (std::uint32_t run = 0; run < runs; ++run) EXPECT_EQ(m.host[op * runs + run], 100 + op);
  EXPECT_EQ(joined.joined_ops, 3u);
  EXPECT_TRUE(joined.missing.empty());
}

TEST(JoinedTrace, CallsOnTheCpu) {
  const Graph graph = small_graph();
  SmallTrace trace;
  add_run(trace, 1000);
  const JoinedTrace joined = join(graph, trace);
  expect_runs(joined, 1);
  EXPECT_FALSE(joined.measurement.on_device);
  EXPECT_EQ(joined.total, 303u);
  EXPECT_EQ(joined.joined, 303u);
  EXPECT_TRUE(joined.not_joined.empty());
  EXPECT_EQ(joined.measurement.host_begin, (std::vector<Nanoseconds>{0, 200, 400}));
  EXPECT_EQ(joined.measurement.scopes, (std::vector<Nanoseconds>{502, 100, 101, 102}));
}

TEST(JoinedTrace, StepsAndRepeatedRunsAreTheSame) {
  const Graph graph = small_graph();
  SmallTrace marked, unmarked;
  for (int run = 0; run < 5; ++run) {
    marked.step(run, 1000 * run, 900);
    add_run(marked, 1000 * run + 50);
    add_run(unmarked, 1000 * run + 50);
  }
  expect_runs(join(graph, marked), 5);
  expect_runs(join(graph, unmarked), 5);
  EXPECT_EQ(join(graph, marked).steps, 5u);
  EXPECT_EQ(join(graph, unmarked).steps, 0u);
}

TEST(JoinedTrace, SeveralRunsInAStep) {
  const Graph graph = small_graph();
  SmallTrace trace;
  trace.step(1, 0, 5000);
  for (int run = 0; run < 3; ++run) add_run(trace, 1000 * run + 50);
  expect_runs(join(graph, trace), 3);
}

TEST(JoinedTrace, ARunThatIsCutOffIsLeftOut) {
  const Graph graph = small_graph();
  SmallTrace trace;
  trace.step(0, 0, 1000), trace.step(1, 1000, 1000);
  trace.call("aten::linear", 400, 102);
  add_run(trace, 1050);
  const JoinedTrace joined = join(graph, trace);
  expect_runs(joined, 1);
  EXPECT_EQ(joined.notes.size(), 1u);
}

TEST(JoinedTrace, KernelsGoToTheOpAroundTheirLaunch) {
  const Graph graph = small_graph();
  SmallTrace trace;
  add_run(trace, 1000);
  trace.kernel("gemm", 1060, 3000, 500);           // inside aten::mm, inside aten::linear
  trace.kernel("split_k_reduce", 1095, 3600, 50);  // inside aten::linear itself
  trace.kernel("relu", 1215, 3700, 30);
  trace.kernel("gemm", 1450, 3800, 600);
  const JoinedTrace joined = join(graph, trace);
  const Measurement& m = joined.measurement;
  EXPECT_TRUE(m.on_device);
  EXPECT_EQ(m.device, (std::vector<Nanoseconds>{550, 30, 600}));
  EXPECT_EQ(m.device_begin, (std::vector<Nanoseconds>{2000, 2700, 2800}));
  EXPECT_EQ(m.timed, (std::vector<Nanoseconds>{4400 - 1000}));
  EXPECT_EQ(m.timed_device, (std::vector<Nanoseconds>{4400 - 3000}));
  EXPECT_EQ(joined.total, 1180u);
  EXPECT_EQ(joined.joined, 1180u);
  ASSERT_EQ(joined.kernels.size(), 4u);
  EXPECT_EQ(joined.kernels[1].name, "split_k_reduce");
  EXPECT_EQ(joined.kernels[1].op, 0u);
}

TEST(JoinedTrace, WhatIsNotTheModelsHasAReason) {
  const Graph graph = small_graph();
  SmallTrace trace;
  trace.step(0, 1000, 1000);
  add_run(trace, 1000);
  trace.kernel("gemm", 1060, 3000, 1000);
  trace.call("aten::to", 500, 100);
  trace.kernel("copy", 550, 2000, 40);  // before the step
  trace.call("aten::mul", 1700, 100);
  trace.kernel("mul", 1750, 5000, 30);
  trace.call("aten::relu", 1900, 50);
  trace.kernel("relu", 1910, 5100, 20);
  trace.kernel("nccl", 1300, 5200, 10, 9);  // on a thread without ops
  trace.event("kernel", "stray", 7, 5300, 5, R"("correlation": 4711)");
  const JoinedTrace joined = join(graph, trace);
  EXPECT_EQ(joined.total, 1105u);
  EXPECT_EQ(joined.joined, 1000u);
  std::vector<std::pair<std::string, std::string>> rest;
  for (const NotJoined& row : joined.not_joined) rest.emplace_back(row.name, row.reason);
  EXPECT_EQ(rest, (std::vector<std::pair<std::string, std::string>>{
                      {"copy", "aten::to, outside the profiler's steps"},
                      {"mul", "aten::mul is not in the graph"},
                      {"relu", "aten::relu: more calls of it than the graph has"},
                      {"nccl", "launched outside of any op, by cudaLaunchKernel"},
                      {"stray", "nothing in the trace launches it"}}));
}

// Autograd's thread runs the backward ops inside calls of its own.
TEST(JoinedTrace, ABackwardPassOnAnotherThread) {
  Graph graph = small_graph();
  GraphBuilder b("net", "Net");
  Tensor x = b.input({2, 8});
  x = b.op("aten::relu", {{"self", x}}, {{2, 8}});
  x = b.op("aten::threshold_backward", {{"grad_output", x}, {"self", x}}, {{2, 8}});
  graph = b.finish({x});
  graph.phases = {{"forward", 0}, {"backward", 1}};
  SmallTrace trace;
  trace.call("aten::relu", 0, 100);
  trace.call("autograd::engine::evaluate_function: ReluBackward0", 500, 200, "", 2);
  trace.call("ReluBackward0", 510, 180, "", 2);
  trace.call("aten::threshold_backward", 520, 160, "", 2);
  trace.kernel("threshold", 560, 900, 70, 2);
  const JoinedTrace joined = join(graph, trace);
  EXPECT_EQ(joined.joined_ops, 2u);
  EXPECT_EQ(joined.measurement.device, (std::vector<Nanoseconds>{0, 70}));
}

// Autocast: the outer call casts, then calls the op again with what it cast.
TEST(JoinedTrace, TheInnerOfTwoCallsOfTheSameOp) {
  const Graph graph = small_graph();
  SmallTrace trace;
  trace.call("aten::linear", 0, 500);
  trace.call("aten::to", 10, 100);
  trace.kernel("cast", 20, 1000, 7);
  trace.call("aten::linear", 200, 250);
  trace.kernel("gemm", 210, 1100, 50);
  trace.call("aten::relu", 600, 100);
  trace.call("aten::linear", 800, 100);
  const JoinedTrace joined = join(graph, trace);
  EXPECT_EQ(joined.measurement.device, (std::vector<Nanoseconds>{50, 0, 0}));
  EXPECT_EQ(joined.not_joined.size(), 1u);
}

TEST(JoinedTrace, ShapesTellEqualNamesApart) {
  GraphBuilder b("net", "Net");
  Tensor x = b.input({4, 4}), y = b.input({9, 9}, "y");
  x = b.op("aten::relu", {{"self", x}}, {{4, 4}});
  y = b.op("aten::relu", {{"self", y}}, {{9, 9}});
  const Graph graph = b.finish({x, y});
  SmallTrace trace;
  trace.call("aten::relu", 0, 1, "[[5, 5]]");
  trace.call("aten::relu", 10, 2, "[[4, 4]]");
  trace.call("aten::relu", 20, 4, "[[5, 5]]");
  trace.call("aten::relu", 30, 8, "[[9, 9]]");
  const JoinedTrace joined = join(graph, trace);
  ASSERT_EQ(joined.measurement.runs, 1u);
  EXPECT_EQ(joined.measurement.host, (std::vector<Nanoseconds>{2, 8}));
  EXPECT_TRUE(joined.notes.empty());
}

TEST(JoinedTrace, OtherShapesAreSaidAndDoNotMatter) {
  const Graph graph = small_graph();
  SmallTrace trace;
  add_run(trace, 0, "[[64, 8], [8, 8], []]");
  const JoinedTrace joined = join(graph, trace);
  expect_runs(joined, 1);
  EXPECT_EQ(joined.notes.size(), 1u);
}

TEST(JoinedTrace, ModulesAsTheTraceHasThem) {
  const Graph graph = small_graph();
  SmallTrace trace;
  add_run(trace, 1000);
  trace.event("python_function", "nn.Module: Net_0", 1, 900, 700);
  trace.event("python_function", "nn.Module: Linear_0", 1, 990, 120);
  trace.event("python_function", "nn.Module: ReLU_0", 1, 1190, 121);
  trace.event("python_function", "nn.Module: Linear_1", 1, 1390, 122);
  const Measurement m = join(graph, trace).measurement;
  EXPECT_EQ(m.scopes, (std::vector<Nanoseconds>{700, 120, 121, 122}));
  EXPECT_EQ(m.scope_begin, (std::vector<Nanoseconds>{0, 90, 290, 490}));
  EXPECT_EQ(m.host_begin, (std::vector<Nanoseconds>{100, 300, 500}));
}

TEST(JoinedTrace, AnotherModelIsAnError) {
  SmallTrace trace;
  trace.call("aten::fft_rfft", 0, 100);
  EXPECT_THROW(join(small_graph(), trace), Error);
}

TEST(JoinedTrace, TheFixtureToTheMicrosecond) {
  Graph graph = read_model_file(OPSCOPE_TEST_FILES "/cnn.onnx", {});
  const JoinedTrace joined = join_trace(graph, read_kineto_trace(OPSCOPE_TEST_FILES "/cuda_trace.json"));
  const Measurement& m = joined.measurement;
  ASSERT_EQ(m.runs, 2u);
  // conv2d: kernels 2 and 3; relu 4; mean 5; reshape none; linear 6.
  EXPECT_EQ(m.device, (std::vector<Nanoseconds>{5000, 10000, 4000, 8000, 5000, 10000, 0, 0, 6000, 12000}));
  EXPECT_EQ(joined.joined, 20000u * 3);
  EXPECT_EQ(joined.total, 20000u * 3 + 1000 * 3 + 2 * 3000);
  EXPECT_EQ(m.environment.device_name, "NVIDIA H200");
  graph.measurement = m;
  graph.verify();
  const std::string written = write_json(graph);
  EXPECT_EQ(write_json(read_capture(written, "again")), written);
}

}  // namespace
}  // namespace opscope
