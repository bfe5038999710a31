// What fuses with what, on graphs small enough to see it; bytes are written as the sums they should be.
#include "partition/partition.h"

#include <string>

#include "analyse/small_models.h"
#include "partition/check_partition.h"

namespace opscope::test {
namespace {

struct Made {
  explicit Made(Graph made, PartitionOptions options = {})
      : graph(std::move(made)),
        costs(estimate(graph, Convention::kOpscope)),
        partition(make_partition(graph, costs, options)) {
    check_partition(graph, costs, partition);
  }
  std::vector<std::string> types() const {
    std::vector<std::string> result;
    for (const Subgraph& s : partition.subgraphs) result.emplace_back(s.type);
    return result;
  }
  Graph graph;
  std::vector<OpCost> costs;
  Partition partition;
};
using Types = std::vector<std::string>;

constexpr std::uint64_t kFloat = 4;

// A model of values that are all [rows, columns], and products with [columns, columns].
class Net {
 public:
  explicit Net(std::int64_t rows = 4, std::int64_t columns = 64) : rows_(rows), columns_(columns), b("net") {}

  TensorSpec full() const { return {rows_, columns_}; }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(rows_ * columns_) * kFloat; }
  std::uint64_t weight_bytes() const { return static_cast<std::uint64_t>(columns_ * columns_) * kFloat; }

  Tensor input() { return b.input(full()); }
  Tensor linear(Tensor x) {
    const auto call = b.call("linear", "Linear");
    return b.op("aten::linear", {{"input", x}, {"weight", b.parameter("weight", {columns_, columns_})}},
                {full()});
  }
  Tensor unary(const char* op, Tensor x) { return b.op(op, {{"self", x}}, {full()}); }
  Tensor relu(Tensor x) { return unary("aten::relu", x); }
  Tensor add(Tensor x, Tensor y) { return b.op("aten::add.Tensor", {{"self", x}, {"other", y}}, {full()}); }
  Tensor mul(Tensor x, Tensor y) { return b.op("aten::mul.Tensor", {{"self", x}, {"other", y}}, {full()}); }
  Tensor mean(Tensor x) {
    return b.op("aten::mean.dim", {{"self", x}, {"dim", ints{-1}}, {"keepdim", true}}, {{rows_, 1}});
  }
  Tensor layer_norm(Tensor x) {
    return b.op("aten::layer_norm",
                {{"input", x},
                 {"normalized_shape", ints{columns_}},
                 {"weight", b.parameter("norm", {columns_})},
                 {"bias", b.parameter("norm_bias", {columns_})}},
                {full()});
  }

 private:
  std::int64_t rows_, columns_;

 public:
  GraphBuilder b;
};

TEST(Partition, ResNet18IsItsConvolutionsAndThreeMore) {
  const Made made(ResNet18::make());
  EXPECT_EQ(made.partition.subgraphs.size(), 23u);  // 20 convolutions, max pool, mean, linear
  const auto types = made.types();
  EXPECT_EQ(std::ranges::count(types, "conv+batch_norm+add+relu"), 8);
  EXPECT_EQ(std::ranges::count(types, "conv+batch_norm+relu"), 9);
  EXPECT_EQ(std::ranges::count(types, "conv+batch_norm"), 3);  // of the three shortcuts
  EXPECT_EQ(made.partition.subgraphs[0].module, 0u);           // conv1, bn1 and relu meet in the model itself
  EXPECT_EQ(made.partition.subgraphs[0].begins, Border::kInput);
  EXPECT_EQ(made.partition.subgraphs.back().ends, Border::kOutput);
}

TEST(Partition, AnchorTakesItsTail) {
  Net n;
  const auto x = n.input();
  const Made made(n.b.finish({n.relu(n.add(n.linear(x), x))}));
  ASSERT_EQ(made.types(), Types{"linear+add+relu"});
  const Subgraph& s = made.partition.subgraphs[0];
  // x for the product and again for the sum; the two results between stay inside.
  EXPECT_EQ(s.traffic.input_bytes, Count{2 * n.bytes()});
  EXPECT_EQ(s.traffic.output_bytes, Count{n.bytes()});
  EXPECT_EQ(s.traffic.weight_bytes, Count{n.weight_bytes()});
  EXPECT_EQ(s.saved_bytes(), Count{4 * n.bytes()});
}

TEST(Partition, ValuesReadElsewhereAreStillWritten) {
  Net n;
  const auto y = n.linear(n.input());
  const auto z = n.relu(y);
  const Made made(n.b.finish({y, z}));
  ASSERT_EQ(made.types(), Types{"linear+relu"});
  EXPECT_EQ(made.partition.subgraphs[0].traffic.output_bytes, Count{2 * n.bytes()});
  EXPECT_EQ(made.partition.subgraphs[0].saved_bytes(), Count{n.bytes()});  // relu's read
}

TEST(Partition, ViewsThatAreReadOutsideKeepTheirMemory) {
  Net n;
  const auto y = n.relu(n.input());
  const auto view = n.b.op("aten::view", {{"self", y}, {"size", ints{4, 64}}}, {n.full().view_of(y)});
  const auto z = n.mul(y, y);
  const Made made(n.b.finish({n.linear(view), z}));
  ASSERT_EQ(made.types(), (Types{"relu+mul", "linear"}));
  EXPECT_EQ(made.partition.of_op[1], 0u);  // the view rides with what made it
  EXPECT_EQ(made.partition.subgraphs[0].traffic.output_bytes, Count{2 * n.bytes()});
}

TEST(Partition, ChangesInPlaceWriteOnce) {
  Net n;
  const auto y = n.linear(n.input());
  const auto z = n.b.op("aten::relu_", {{"self", y}}, {n.full().view_of(y)});
  const Made made(n.b.finish({z}));
  ASSERT_EQ(made.types(), Types{"linear+relu"});
  EXPECT_EQ(made.partition.subgraphs[0].traffic.output_bytes, Count{n.bytes()});
}

TEST(Partition, AnOldValueIsReadBeforeItIsReplaced) {
  Net n;
  const auto x = n.relu(n.input());
  const auto old = n.linear(x);
  const auto changed = n.b.op("aten::relu_", {{"self", x}}, {n.full().view_of(x)});
  // The change may not join what made x: the product in between has to see the old value.
  const Made made(n.b.finish({n.add(old, changed)}));
  EXPECT_NE(made.partition.of_op[0], made.partition.of_op[2]);
}

TEST(Partition, NormsTakeTheirProducersAndTails) {
  Net n;
  const auto x = n.input(), y = n.input();
  const Made made(n.b.finish({n.relu(n.layer_norm(n.add(x, y)))}));
  EXPECT_EQ(made.types(), Types{"add+layer_norm+relu"});
  EXPECT_EQ(made.partition.subgraphs[0].parallelism, Count{4});  // rows
}

TEST(Partition, ReductionsDoNotJoinAnchors) {
  Net n;
  const Made made(n.b.finish({n.layer_norm(n.linear(n.input()))}));
  ASSERT_EQ(made.types(), (Types{"linear", "layer_norm"}));
  EXPECT_EQ(made.partition.subgraphs[1].begins, Border::kReduction);
  EXPECT_EQ(made.partition.subgraphs[0].ends, Border::kReduction);
  ASSERT_EQ(made.partition.missed.size(), 1u);
  EXPECT_EQ(made.partition.missed[0].bytes, Count{2 * n.bytes()});  // its write and its read
}

// x * rsqrt(mean(x^2) + eps), after a residual sum: the square goes with its mean.
TEST(Partition, RmsNormByHandIsOneGroup) {
  Net n;
  const auto x = n.input();
  const auto sum = n.add(n.linear(x), x);
  const auto square = n.b.op("aten::pow.Tensor_Scalar", {{"self", sum}, {"exponent", 2}}, {n.full()});
  const auto scale = n.b.op("aten::rsqrt", {{"self", n.mean(square)}}, {{4, 1}});
  const auto normed = n.mul(sum, scale);
  const Made made(n.b.finish({n.add(n.linear(normed), sum)}));
  EXPECT_EQ(made.types(), (Types{"linear+add", "rms_norm", "linear+add"}));
  // The sum is read once for the square and the product.
  EXPECT_EQ(made.partition.subgraphs[1].memory_bytes(), Count{2 * n.bytes()});
}

TEST(Partition, DistancesAreNoNorms) {
  Net n;
  const auto apart = n.b.op("aten::sub.Tensor", {{"self", n.input()}, {"other", n.input()}}, {n.full()});
  const auto far = n.mean(n.mul(apart, apart));
  const Made made(n.b.finish({n.b.op("aten::sqrt", {{"self", far}}, {{4, 1}})}));
  EXPECT_EQ(made.types(), Types{"sub+mul+mean+sqrt"});
}

TEST(Partition, LoopsOfOtherShapesEnd) {
  Net n;
  const auto small = n.b.op("aten::exp", {{"self", n.b.input({4, 1})}}, {{4, 1}});
  const Made made(n.b.finish({n.mul(n.relu(n.input()), small)}));
  ASSERT_EQ(made.types(), (Types{"exp", "relu+mul"}));
  EXPECT_EQ(made.partition.subgraphs[0].ends, Border::kShapeChange);
}

TEST(Partition, TransposedSelfIsNoElementwiseSum) {
  Net n(64, 64);
  const auto x = n.linear(n.input());
  const auto turned =
      n.b.op("aten::transpose.int", {{"self", x}, {"dim0", 0}, {"dim1", 1}}, {n.full().view_of(x)});
  EXPECT_EQ(Made(n.b.finish({n.add(x, turned)})).types(), (Types{"linear", "add"}));
}

// Rotary embedding: each element of the concatenation is one of its parts', so that these fit its loop.
TEST(Partition, ConcatenationsTakeTheirParts) {
  Net n;
  const auto x = n.linear(n.input());
  const auto half = [&] { return TensorSpec{4, 32}.view_of(x); };
  const auto first = n.b.op("aten::slice.Tensor", {{"self", x}}, {half()});
  const auto second = n.b.op("aten::slice.Tensor", {{"self", x}}, {half()});
  const auto cos = n.input(), sin = n.input();
  const auto straight = n.mul(x, cos);
  const auto negated = n.b.op("aten::neg", {{"self", second}}, {{4, 32}});
  const auto turned = n.b.op("aten::cat", {{"tensors", tensors{negated, first}}, {"dim", -1}}, {n.full()});
  const Made made(n.b.finish({n.add(straight, n.mul(turned, sin))}));
  EXPECT_EQ(made.types(), (Types{"linear", "mul+neg+cat+add"}));
}

TEST(Partition, JoinsGoWhereMostIsSaved) {
  Net n;
  const auto x = n.input();
  const auto kept = n.linear(x);           // returned as well: only a read to save
  const auto inner = n.relu(n.linear(x));  // a write too
  const Made made(n.b.finish({n.add(kept, inner), kept}));
  EXPECT_EQ(made.types(), (Types{"linear", "linear+relu+add"}));
  EXPECT_EQ(made.partition.subgraphs[0].ends, Border::kJoin);
}

TEST(Partition, WaysOutAndBackAreNotFused) {
  Net n;
  const auto x = n.relu(n.input());
  const Made made(n.b.finish({n.add(x, n.b.op("mylib::odd", {{"self", x}}, {n.full()}))}));
  ASSERT_EQ(made.types(), (Types{"relu", "odd", "add"}));
  EXPECT_EQ(made.partition.subgraphs[1].confidence, Confidence::kUnknown);
  EXPECT_EQ(made.partition.subgraphs[2].begins, Border::kCycle);
  EXPECT_EQ(made.partition.subgraphs[0].ends, Border::kFork);  // a barrier and a cycle
}

TEST(Partition, OtherStrategies) {
  const Graph graph = ResNet18::make();
  EXPECT_EQ(Made(graph, {Strategy::kEachOp}).partition.subgraphs.size(), 68u);  // flatten is a view
  const Made layers(graph, {Strategy::kLayer});
  EXPECT_EQ(layers.partition.subgraphs.size(), 68u);  // of torchvision's, each is one op
  EXPECT_EQ(layers.partition.subgraphs[0].ends, Border::kStrategy);
  EXPECT_EQ(layers.partition.fused_bytes, layers.partition.unfused_bytes);
}

// A row of 4096 floats is 16 KiB: three of them at once need more than 32 KiB.
TEST(Partition, FastMemoryEndsGroups) {
  const auto make = [] {
    Net n(4, 4096);
    const auto x = n.input();
    const auto centred = n.add(x, n.mean(x));
    return n.b.finish({n.mul(centred, n.mean(centred))});
  };
  EXPECT_EQ(Made(make()).partition.subgraphs.size(), 1u);
  const Made limited(make(), {Strategy::kFused, Count{32 << 10}});
  EXPECT_GT(limited.partition.subgraphs.size(), 1u);
  EXPECT_TRUE(std::ranges::any_of(limited.partition.missed,
                                  [](const MissedFusion& m) { return m.why == Border::kSizeLimit; }));
}

TEST(Partition, PhasesOfTrainingAreApart) {
  Net n;
  const auto y = n.linear(n.input());
  Graph graph = n.b.finish({n.relu(y)});
  graph.phases = {{"forward", 0}, {"backward", 1}};
  const Made made(std::move(graph));
  ASSERT_EQ(made.types(), (Types{"linear", "relu"}));
  EXPECT_EQ(made.partition.subgraphs[0].ends, Border::kPhase);
}

TEST(Partition, NoOpsNoSubgraphs) {
  GraphBuilder b;
  const auto x = b.input({1});
  EXPECT_TRUE(Made(b.finish({x})).partition.subgraphs.empty());
}

TEST(Partition, NamesOfStrategies) {
  for (const auto strategy : {Strategy::kEachOp, Strategy::kLayer, Strategy::kFused})
    EXPECT_EQ(strategy_from_name(name(strategy)), strategy);
  EXPECT_THROW(strategy_from_name("fuse"), Error);
}

}  // namespace
}  // namespace opscope::test
