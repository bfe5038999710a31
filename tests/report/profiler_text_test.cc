// The files of opscope.Profiler, word for word on a model small enough to read.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/measured_graph.h"
#include "report/times/times.h"

namespace opscope {
namespace {

// x + relu(linear(x))
Graph residual() {
  GraphBuilder b("Residual", "Residual");
  const auto x = b.input({2, 4}, "x");
  Tensor y;
  {
    const auto call = b.call("linear", "Linear");
    const auto weight = b.parameter("weight", {4, 4}), bias = b.parameter("bias", {4});
    y = b.op("aten::linear", {{"input", x}, {"weight", weight}, {"bias", bias}}, {{2, 4}});
  }
  {
    const auto call = b.call("act", "ReLU");
    y = b.op("aten::relu", {{"self", y}}, {{2, 4}});
  }
  y = b.op("aten::add.Tensor", {{"self", x}, {"other", y}, {"alpha", 1}}, {{2, 4}});
  b.graph().capture.torch = "2.13.0";
  return b.finish({y});
}

Graph measured(bool on_device) {
  Graph graph = residual();
  test::measure(graph, {.runs = 1, .on_device = on_device});
  graph.measurement.empty_interval = 0;
  auto& samples = on_device ? graph.measurement.device : graph.measurement.host;
  samples = {1'000'000, 20'000, 3'000};
  graph.measurement.scopes = {1'100'000, 1'050'000, 30'000};
  graph.measurement.timed = {1'200'000};
  return graph;
}

std::string text(const Graph& graph, Level granularity, const ProfilerTextOptions& options = {}) {
  const Profile profile = make_profile(graph);
  return profiler_text(make_profiler_graph(profile, granularity), options);
}

TEST(ProfilerText, IsAlignedAndWhole) {
  EXPECT_EQ(text(measured(false), Level::kModule),
            R"(Residual: module graph   device cpu (A Processor)   torch 2.13.0
forward ms: a node's ops on the host's clock, one forward run; call ms: the module's call on the host, with Python and the recorder between its ops

Nodes
  id   name     type        params   bytes   forward ms   call ms   ops   output
   0   linear   Linear          20      80       1.0000    1.0500     1   2x4 float32
   1   act      ReLU             0       0       0.0200    0.0300     1   2x4 float32
   2   add      aten::add        0       0       0.0030         -     1   2x4 float32

Inputs
  x   2x4 float32   ->   0 linear, 2 add

Outputs
  output   2x4 float32   <-   2 add

Edges
  from        to   names           tensor
     0   ->    1   linear -> act   2x4 float32
     1   ->    2   act -> add      2x4 float32

Statistics
  nodes               3
  edges               2
  ops                 3
  parameters         20   80 bytes, shared ones once
  forward ms     1.0230   sum over nodes
    mean         0.3410
    median       0.0200
    longest      1.0000   0 linear
  whole run ms   1.2000   from the call until all its work was done

By type
  type        nodes   forward ms   share
  Linear          1       1.0000   97.8%
  ReLU            1       0.0200    2.0%
  aten::add       1       0.0030    0.3%
)");
}

TEST(ProfilerText, OfOpsOnADeviceSaysWhoseClock) {
  const std::string out = text(measured(true), Level::kOp, {.include_edges = false, .include_stats = false});
  EXPECT_EQ(out, R"(Residual: detail graph (ops)   device cuda:0 (NVIDIA H200)   torch 2.13.0
forward ms: a node's ops on the device's own clock, one forward run

Nodes
  id   name            type           params   bytes   forward ms   output
   0   linear.linear   aten::linear       20      80       1.0000   2x4 float32
   1   act.relu        aten::relu          0       0       0.0200   2x4 float32
   2   add             aten::add           0       0       0.0030   2x4 float32
)");
}

TEST(ProfilerText, WithoutTimesHasDashes) {
  const std::string out = text(residual(), Level::kLayer);
  EXPECT_NE(out.find("device not timed"), std::string::npos) << out;
  EXPECT_NE(out.find("forward ms    -   not timed"), std::string::npos) << out;
}

TEST(ProfilerText, MarksTheTokens) {
  const std::string out = text(residual(), Level::kModule, {.tokens = "x"});
  EXPECT_NE(out.find("x (tokens)   2x4 float32"), std::string::npos) << out;
}

TEST(ProfilerText, KeepsTenTypesAndSumsUpTheRest) {
  GraphBuilder b("net", "Net");
  Tensor x = b.input({4}, "x");
  for (int i = 0; i < 13; ++i) x = b.op("mylib::op" + std::to_string(i), {{"self", x}}, {{4}});
  Graph graph = b.finish({x});
  test::measure(graph, {.runs = 1});
  const Profile profile = make_profile(graph);
  const std::string out = profiler_stats_text(make_profiler_graph(profile, Level::kOp));
  EXPECT_NE(out.find("3 others"), std::string::npos) << out;
}

}  // namespace
}  // namespace opscope
