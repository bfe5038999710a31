// Memory over time where the capture tells lifetimes, workspaces and what values are for. A value of shape
// {n} is n bytes.
#include <gtest/gtest.h>

#include <chrono>

#include "cost/liveness.h"
#include "graph/builder.h"

namespace opscope {
namespace {

using Counts = std::vector<Count>;

TensorSpec bytes(std::int64_t n) { return TensorSpec(ints{n}, DType::kUInt8); }

Tensor relu(GraphBuilder& b, Tensor x, std::int64_t n) {
  return b.op("aten::relu", {{"self", x}}, {bytes(n)});
}

// x (1) -> 10 -> 100 -> 1000
Graph chain(std::string_view input = "input", std::string_view output = "") {
  GraphBuilder b;
  const auto x = b.input(bytes(1), input);
  const auto y = relu(b, x, 10);
  const auto z = relu(b, y, 100);
  const auto out = relu(b, z, 1000);
  auto graph = b.finish({out});
  if (!output.empty()) graph.values[out.id].name = graph.intern(output);
  return graph;
}

TEST(ToldMemory, AStorageIsHeldForItsLifetime) {
  auto graph = chain();
  // The caller keeps x; a variable keeps the 10 bytes to the last op; the 100 are gone at once.
  graph.lifetimes = {{kNone, kNone}, {0, 2}, {1, 1}, {2, kNone}};
  const auto timeline = memory_timeline(graph);
  EXPECT_EQ(timeline.alive, (Counts{1 + 10, 1 + 10 + 100, 1 + 10 + 1000}));
  EXPECT_EQ(timeline.peak_op, 2u);
  EXPECT_EQ(timeline.at_peak[MemoryKind::kInputs], Count{1});
  EXPECT_EQ(timeline.at_peak[MemoryKind::kActivations], Count{1010});
}

TEST(ToldMemory, AWorkspaceIsThereDuringItsOpAlone) {
  auto graph = chain();
  graph.ops[1].workspace = 5000;
  const auto timeline = memory_timeline(graph);
  EXPECT_EQ(timeline.alive, (Counts{11, 5110, 1100}));
  EXPECT_EQ(timeline.peak_op, 1u);
  EXPECT_EQ(timeline.at_peak[MemoryKind::kWorkspace], Count{5000});
  EXPECT_EQ(timeline.at_peak.total(), timeline.peak_memory_bytes());
}

TEST(ToldMemory, WeightsAreCountedOnceAndApart) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto weight = b.parameter("weight", bytes(100));
  b.parameter("unused", bytes(1000));  // held though nothing reads it
  const auto table = b.constant(bytes(10000));
  const auto turned = b.op("aten::t", {{"self", weight}}, {bytes(100).view_of(weight)});
  const auto y = b.op("aten::cat", {{"tensors", tensors{x, turned, table}}}, {bytes(7)});
  const auto timeline = memory_timeline(b.finish({y}));
  EXPECT_EQ(timeline.weights, Count{100 + 1000 + 10000});
  EXPECT_EQ(timeline.peak, Count{8});
  EXPECT_EQ(timeline.peak_memory_bytes(), Count{11108});
}

TEST(ToldMemory, AConstantThatIsMadeInTheRunIsAnActivation) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto y = relu(b, x, 10);
  const auto scale = b.constant(bytes(100));
  const auto z = b.op("aten::mul.Tensor", {{"self", y}, {"other", scale}}, {bytes(1000)});
  auto graph = b.finish({z});
  graph.lifetimes = {{kNone, kNone}, {0, 1}, {1, 1}, {1, kNone}};
  const auto timeline = memory_timeline(graph);
  EXPECT_EQ(timeline.weights, Count{0});
  EXPECT_EQ(timeline.alive, (Counts{11, 1111}));
}

TEST(ToldMemory, NamesSayWhatIsAKvCache) {
  for (const auto* name : {"past_key_values.layers[0].keys", "past_key_values.0.0", "model.kv_cache",
                           "cache_params.conv_states[3]", "cache.ssm_states"})
    EXPECT_TRUE(names_cache(name)) << name;
  for (const auto* name : {"", "input_ids", "cache_position", "last_hidden_state", "key_padding_mask"})
    EXPECT_FALSE(names_cache(name)) << name;
  const auto given = memory_timeline(chain("past_key_values.layers[0].keys"));
  EXPECT_EQ(memory_splits(chain("past_key_values.0"),
                          memory_pieces(chain("past_key_values.0")))[0][MemoryKind::kKvCache],
            Count{1});
  EXPECT_EQ(given.alive, memory_timeline(chain()).alive);
  const auto made = memory_timeline(chain("input", "past_key_values.layers[0].keys"));
  EXPECT_EQ(made.at_peak[MemoryKind::kKvCache], Count{1000});
  EXPECT_EQ(made.at_peak[MemoryKind::kActivations], Count{100});
}

// Without lifetimes, what a step keeps for the next stays to the end.
TEST(ToldMemory, GradientsAndStateStay) {
  auto graph = chain();
  graph.values[1].kind = ValueKind::kGradient;
  graph.values[2].kind = ValueKind::kOptimizerState;
  const auto splits = memory_splits(graph, memory_pieces(graph));
  EXPECT_EQ(splits[2][MemoryKind::kGradients], Count{10});
  EXPECT_EQ(splits[2][MemoryKind::kOptimizerState], Count{100});
  EXPECT_EQ(splits[2][MemoryKind::kActivations], Count{1000});
}

TEST(ToldMemory, PiecesSayWhenTheyAreNeeded) {
  auto graph = chain();
  graph.lifetimes = {{kNone, kNone}, {0, 2}, {1, 2}, {2, kNone}};
  const auto pieces = memory_pieces(graph);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].last_use, 0u);
  EXPECT_EQ(pieces[1].last_use, 1u);  // and held until 2
  EXPECT_EQ(pieces[1].held, (Lifetime{0, 2}));
  EXPECT_FALSE(pieces[1].returned);
  EXPECT_TRUE(pieces[3].returned);
}

TEST(ToldMemory, AMillionOpsTakeAFractionOfASecond) {
  GraphBuilder b;
  auto x = b.input(bytes(1));
  for (int i = 0; i < 1'000'000; ++i) x = relu(b, x, 1 + i % 1000);
  const auto graph = b.finish({x});
  const auto begin = std::chrono::steady_clock::now();
  const auto timeline = memory_timeline(graph);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(timeline.peak, Count{999 + 1000});
  EXPECT_LT(seconds.count(), 5);  // 0.1 s where nothing else runs
  RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1000));
}

}  // namespace
}  // namespace opscope
