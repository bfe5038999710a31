// What is held at the peak and what would help, on graphs small enough to work out by hand. A value of shape
// {n} is n bytes.
#include "analyse/memory/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/small_models.h"
#include "analyse/training_model.h"
#include "graph/builder.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

TensorSpec bytes(std::int64_t n) { return TensorSpec(ints{n}, DType::kUInt8); }

struct Reported {
  explicit Reported(Graph made)
      : graph(std::move(made)), profile(make_profile(graph)), report(make_memory_report(profile)) {}
  Graph graph;
  Profile profile;
  MemoryReport report;

  const MemoryAdvice* find(Remedy remedy) const {
    const auto found = std::ranges::find(report.advice, remedy, &MemoryAdvice::remedy);
    return found == report.advice.end() ? nullptr : &*found;
  }
};

TEST(Memory, ResNet18ByHand) {
  const Reported r(test::ResNet18::make());
  // bn1 reads and makes 64x112x112 floats; its input is gone after it, its output is what relu_ writes into.
  EXPECT_EQ(r.profile.memory().peak, Count{2 * 64 * 112 * 112 * 4});
  EXPECT_EQ(layer_name(r.profile, r.profile.memory().peak_op), "bn1");
  ASSERT_EQ(r.report.held.size(), 2u);
  const Count weights = r.profile.parameters.bytes + r.profile.parameters.buffer_bytes;
  EXPECT_EQ(r.profile.memory().weights, weights);
  EXPECT_EQ(r.report.owners[0].held, r.profile.memory().peak);
  EXPECT_EQ(r.report.owners[0].weights, weights);
  EXPECT_EQ(r.report.phases.size(), 1u);
  EXPECT_EQ(r.report.phases[0].name, "forward");
}

// x -> conv (not pointwise) -> gelu -> conv: gelu's input dies in it.
Graph with_gelu() {
  GraphBuilder b;
  auto x = b.input(bytes(10));
  x = b.op("aten::conv2d", {{"input", x}}, {bytes(1000)});
  {
    const auto call = b.call("act", "GELU");
    x = b.op("aten::gelu", {{"self", x}}, {bytes(1000)});
  }
  x = b.op("aten::conv2d", {{"input", x}}, {bytes(300)});
  return b.finish({x});
}

TEST(Memory, InPlaceSavesWhatIsBesideItsInput) {
  const Reported r(with_gelu());
  EXPECT_EQ(r.profile.memory().peak, Count{2000});
  const auto* advice = r.find(Remedy::kInPlace);
  ASSERT_NE(advice, nullptr);
  // 1000 while gelu runs; then the second convolution is the peak, with 1000 + 300.
  EXPECT_EQ(advice->saved_bytes, Count{2000 - 1300});
  EXPECT_EQ(advice->where, "act");
  EXPECT_EQ(advice->places, 1u);
}

TEST(Memory, InPlaceNeedsAnInputThatDies) {
  GraphBuilder b;
  const auto x = b.input(bytes(10));
  const auto y = b.op("aten::conv2d", {{"input", x}}, {bytes(1000)});
  const auto z = b.op("aten::gelu", {{"self", y}}, {bytes(1000)});
  const auto sum = b.op("aten::cat", {{"tensors", tensors{y, z}}}, {bytes(2)});
  EXPECT_EQ(Reported(b.finish({sum})).find(Remedy::kInPlace), nullptr);
}

TEST(Memory, InPlaceLeavesTheCallersInputAlone) {
  GraphBuilder b;
  const auto x = b.input(bytes(1000));
  const auto y = b.op("aten::gelu", {{"self", x}}, {bytes(1000)});
  EXPECT_EQ(Reported(b.finish({y})).find(Remedy::kInPlace), nullptr);
}

// A variable keeps `skip` (500) through the widest op, though only the op before reads it.
TEST(Memory, FreeingEarlierSavesWhatIsHeldInVain) {
  GraphBuilder b;
  auto x = b.input(bytes(1));
  {
    const auto call = b.call("stem.0", "Conv2d");
    x = b.op("aten::conv2d", {{"input", x}}, {bytes(500)});
  }
  x = b.op("aten::conv2d", {{"input", x}}, {bytes(10)});
  x = b.op("aten::conv2d", {{"input", x}}, {bytes(2000)});
  auto graph = b.finish({x});
  graph.lifetimes = {{kNone, 0}, {0, 2}, {1, 2}, {2, kNone}};
  const Reported r(std::move(graph));
  EXPECT_EQ(r.profile.memory().peak, Count{500 + 10 + 2000});
  const auto* advice = r.find(Remedy::kFreeEarlier);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->saved_bytes, Count{500});
  EXPECT_EQ(advice->where, "stem.*");
  EXPECT_EQ(advice->change, "del the result after conv2d, which reads it last");
}

TEST(Memory, PhasesHaveTheirOwnPeaks) {
  const Reported r(test::training_step());
  ASSERT_EQ(r.report.phases.size(), 3u);
  EXPECT_TRUE(r.report.is_training);
  EXPECT_EQ(r.report.phases[0].peak, Count{1 + 4000 + 1});       // at the loss
  EXPECT_EQ(r.report.phases[1].peak, Count{1 + 4000 + 1 + 10});  // the first gradient
  EXPECT_EQ(r.report.phases[1].peak_op, 5u);
  EXPECT_EQ(r.report.phases[2].at_peak[MemoryKind::kGradients], Count{10});
  EXPECT_EQ(r.report.phases[2].at_peak[MemoryKind::kOptimizerState], Count{50});
  EXPECT_EQ(r.report.phases[2].at_peak[MemoryKind::kWeights], Count{50});
}

// Autocast is not promised: what it keeps in float32, and its copies, are known only by capturing it.
TEST(Memory, TrainingInBfloat16IsHalfOfEverything) {
  GraphBuilder b;
  const auto x = b.input({100}, "x");
  const auto w = b.parameter("weight", {1000});
  const auto y = b.op("aten::conv2d", {{"input", x}, {"weight", w}}, {{200}});
  const auto step = b.op("aten::sum", {{"self", y}}, {TensorSpec(ints{}, DType::kFloat32)});
  auto graph = b.finish({y});
  graph.values[step.id].kind = ValueKind::kOptimizerState;  // a count of steps stays as it is
  graph.phases = {{"forward", 0}, {"backward", 1}};
  const Reported r(std::move(graph));
  ASSERT_NE(r.find(Remedy::kHalfAll), nullptr);
  EXPECT_EQ(r.find(Remedy::kHalfAll)->saved_bytes, Count{2000 + 200 + 400});
  EXPECT_EQ(r.find(Remedy::kHalfWeights), nullptr);
}

TEST(Memory, CheckpointsSaveInnerActivationsUntilTheyAreNeeded) {
  const Reported r(test::training_step());
  const auto* advice = r.find(Remedy::kCheckpoint);
  ASSERT_NE(advice, nullptr);
  // Inside a block is the first op's result (the second is the block's own). What is left of the peak is the
  // last op of the forward pass: the input, and all results but the one inside block 0.
  EXPECT_EQ(advice->where, "blocks.*");
  EXPECT_EQ(advice->places, 2u);
  EXPECT_EQ(advice->saved_bytes, Count{(1 + 4000 + 1 + 10) - (1 + 3000)});
}

TEST(Memory, ScoresThatAreWrittenOut) {
  GraphBuilder b;
  const auto q = b.input(bytes(64), "q"), k = b.input(bytes(64), "k"), v = b.input(bytes(64), "v");
  auto s = b.op("aten::matmul", {{"self", q}, {"other", k}}, {bytes(4096)});
  s = b.op("aten::div.Tensor", {{"self", s}, {"other", 8}}, {bytes(4096)});
  s = b.op("aten::softmax.int", {{"self", s}, {"dim", -1}}, {bytes(4096)});
  const auto out = b.op("aten::matmul", {{"self", s}, {"other", v}}, {bytes(64)});
  const Reported r(b.finish({out}));
  EXPECT_EQ(r.profile.memory().peak, Count{64 + 2 * 4096});
  const auto* advice = r.find(Remedy::kFusedAttention);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->saved_bytes, Count{64 + 2 * 4096 - 3 * 64});
  EXPECT_EQ(advice->places, 1u);
}

TEST(Memory, HalfPrecisionIsExactByDtype) {
  GraphBuilder b;
  const auto x = b.input({100}, "x");
  const auto w = b.parameter("weight", {1000});
  const auto ids = b.input(TensorSpec(ints{50}, DType::kInt64), "ids");
  const auto y = b.op("aten::conv2d", {{"input", x}, {"weight", w}, {"other", ids}}, {{200}});
  const Reported r(b.finish({y}));
  EXPECT_EQ(r.profile.memory().peak_memory_bytes(), Count{4000 + 400 + 400 + 800});
  ASSERT_NE(r.find(Remedy::kHalfWeights), nullptr);
  EXPECT_EQ(r.find(Remedy::kHalfWeights)->saved_bytes, Count{2000});
  EXPECT_EQ(r.find(Remedy::kHalfAll)->saved_bytes, Count{2000 + 200 + 400});
}

// linear -> gelu -> linear on 8 rows, 4 times as wide inside.
TEST(Memory, RowsInParts) {
  GraphBuilder b;
  const auto x = b.input(TensorSpec(ints{8, 10}, DType::kUInt8));
  const auto h = b.op("aten::linear", {{"input", x}}, {TensorSpec(ints{8, 40}, DType::kUInt8)});
  const auto a = b.op("aten::gelu", {{"self", h}}, {TensorSpec(ints{8, 40}, DType::kUInt8)});
  const auto y = b.op("aten::linear", {{"input", a}}, {TensorSpec(ints{8, 10}, DType::kUInt8)});
  const Reported r(b.finish({y}));
  EXPECT_EQ(r.profile.memory().peak, Count{2 * 320});
  const auto* advice = r.find(Remedy::kChunk);
  ASSERT_NE(advice, nullptr);
  // At gelu: two quarters of 320, the input and the result, 80 each.
  EXPECT_EQ(advice->saved_bytes, Count{640 - (2 * 80 + 80 + 80)});
}

TEST(Memory, Patterns) {
  EXPECT_EQ(pattern_of("encoder.layer.11.output"), "encoder.layer.*.output");
  EXPECT_EQ(pattern_of("layers[3].keys"), "layers[*].keys");
  EXPECT_EQ(pattern_of("layer1.0.conv2"), "layer1.*.conv2");
  EXPECT_EQ(pattern_of("encoder_layer_0.mlp"), "encoder_layer_*.mlp");
  EXPECT_EQ(pattern_of("0"), "*");
  EXPECT_EQ(pattern_of(""), "");
  EXPECT_EQ(pattern_of("v2.x3y"), "v2.x3y");
}

// Every advice leaves a peak that is no less than what single storages need, and owners add up.
TEST(Memory, RandomGraphs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Reported r(test::RandomGraph(seed).make(1 + seed % 40));
    const auto& report = r.report;
    const Count peak = r.profile.memory().peak_memory_bytes();
    for (const auto& advice : report.advice) EXPECT_LE(advice.saved_bytes, peak) << "seed " << seed;
    Count held{}, own{};
    for (const auto index : report.held) held += report.pieces[index].bytes;
    for (const auto& row : report.owners) own += row.own_held;
    EXPECT_EQ(own, report.owners[0].held) << "seed " << seed;
    const auto workspace = r.graph.ops[r.profile.memory().peak_op].workspace;
    EXPECT_EQ(held + Count{workspace}, own) << "seed " << seed;
    Count highest{};
    for (const auto& phase : report.phases) highest = std::max(highest, phase.peak);
    EXPECT_EQ(highest, r.profile.memory().peak) << "seed " << seed;
  }
}

TEST(Memory, NoOps) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const Reported r(b.finish({x}));
  EXPECT_TRUE(r.report.held.empty());
  EXPECT_TRUE(r.report.advice.empty());
  EXPECT_EQ(r.report.phases[0].peak_op, kNone);
}

}  // namespace
}  // namespace opscope
