// Memory over time of small graphs, worked out by hand. A value of shape {n} is n bytes.
#include "cost/liveness.h"

#include <gtest/gtest.h>

#include <utility>

#include "graph/builder.h"
#include "graph/graph.h"

namespace opscope {
namespace {

using Counts = std::vector<Count>;

TensorSpec bytes(std::int64_t n) { return TensorSpec(ints{n}, DType::kUInt8); }
TensorSpec view(std::int64_t n, Tensor base) { return bytes(n).view_of(base); }

Tensor relu(GraphBuilder& b, Tensor x, std::int64_t n) {
  return b.op("aten::relu", {{"self", x}}, {bytes(n)});
}

TEST(MemoryTimeline, ChainHoldsTwoAtATime) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto y = relu(b, x, 10);
  const auto z = relu(b, y, 100);
  const auto out = relu(b, z, 1000);
  const auto timeline = memory_timeline(b.finish({out}));
  EXPECT_EQ(timeline.alive, (Counts{1 + 10, 10 + 100, 100 + 1000}));
  EXPECT_EQ(timeline.peak, Count{1100});
  EXPECT_EQ(timeline.peak_op, 2u);
}

TEST(MemoryTimeline, AResidualStaysUntilItIsAdded) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto skip = relu(b, x, 10);
  auto y = relu(b, skip, 100);
  y = relu(b, y, 1000);
  y = b.op("aten::add.Tensor", {{"self", y}, {"other", skip}}, {bytes(10000)});
  const auto end = relu(b, y, 5);
  const auto timeline = memory_timeline(b.finish({end}));
  EXPECT_EQ(timeline.alive, (Counts{11, 10 + 100, 10 + 100 + 1000, 10 + 1000 + 10000, 10000 + 5}));
  EXPECT_EQ(timeline.peak_op, 3u);
}

TEST(MemoryTimeline, AViewCostsNothingAndKeepsItsBase) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto y = relu(b, x, 10);
  const auto part = b.op("aten::slice", {{"self", y}}, {view(3, y)});
  const auto z = relu(b, x, 100);
  const auto sum = b.op("aten::add.Tensor", {{"self", z}, {"other", part}}, {bytes(1000)});
  EXPECT_EQ(memory_timeline(b.finish({sum})).alive, (Counts{11, 11, 111, 1110}));
}

TEST(MemoryTimeline, AnInPlaceOpMakesNothing) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto y = relu(b, x, 10);
  const auto same = b.op("aten::relu_", {{"self", y}}, {view(10, y)});
  const auto z = relu(b, same, 100);
  EXPECT_EQ(memory_timeline(b.finish({z})).alive, (Counts{11, 10, 110}));
}

TEST(MemoryTimeline, OutputsStayToTheEnd) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto early = relu(b, x, 10);
  const auto y = relu(b, x, 100);
  const auto z = relu(b, y, 1000);
  const auto seen = b.op("aten::view", {{"self", early}}, {view(10, early)});
  const auto w = relu(b, z, 10000);
  // The view is what the model returns: the memory behind it stays.
  EXPECT_EQ(memory_timeline(b.finish({w, seen})).alive, (Counts{11, 111, 1110, 1010, 11010}));
}

TEST(MemoryTimeline, AResultThatNothingReadsIsGoneAfterItsOp) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  relu(b, x, 1000);
  const auto y = relu(b, x, 10);
  const auto timeline = memory_timeline(b.finish({y}));
  EXPECT_EQ(timeline.alive, (Counts{1001, 11}));
  EXPECT_EQ(timeline.peak_op, 0u);
}

TEST(MemoryTimeline, InputsAreThereFromTheStartUntilTheirLastReader) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto late = b.input(bytes(10));
  b.input(bytes(100));  // nothing reads it
  const auto y = relu(b, x, 1000);
  const auto z = b.op("aten::add.Tensor", {{"self", y}, {"other", late}}, {bytes(10000)});
  const auto end = relu(b, z, 0);
  EXPECT_EQ(memory_timeline(b.finish({end})).alive, (Counts{1011, 11010, 10000}));
}

TEST(MemoryTimeline, WeightsAndConstantsAreNotCounted) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto weight = b.parameter("weight", bytes(100000));
  const auto running = b.buffer("running", bytes(100000));
  const auto table = b.constant(bytes(100000));
  b.op("aten::add_", {{"self", running}, {"other", x}}, {view(100000, running)});
  b.op("aten::add_", {{"self", table}, {"other", x}}, {view(100000, table)});
  const auto turned = b.op("aten::t", {{"self", weight}}, {view(100000, weight)});
  const auto y = b.op("aten::mm", {{"self", x}, {"mat2", turned}}, {bytes(10)});
  EXPECT_EQ(memory_timeline(b.finish({y, weight})).alive, (Counts{1, 1, 1, 11}));
}

// The engine says "constant" of a view whose making it did not see; the memory is an activation's all the
// same.
TEST(MemoryTimeline, AConstantInMemoryThatAnOpMadeIsCounted) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto y = relu(b, x, 10);
  const auto alias = b.constant(view(10, y));
  const auto z = relu(b, x, 100);
  const auto end = b.op("aten::add.Tensor", {{"self", z}, {"other", alias}}, {bytes(1000)});
  EXPECT_EQ(memory_timeline(b.finish({end})).alive, (Counts{11, 111, 1110}));
}

TEST(MemoryTimeline, ValuesWithoutStorageCountByTheirShape) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto y = relu(b, x, 10);
  b.graph().values[y.id].storage = kNone;
  const auto z = relu(b, y, 100);
  EXPECT_EQ(memory_timeline(b.finish({z})).alive, (Counts{11, 110}));
}

TEST(MemoryTimeline, NoOps) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  const auto timeline = memory_timeline(b.finish({x}));
  EXPECT_TRUE(timeline.alive.empty());
  EXPECT_EQ(timeline.peak, Count{0});
  EXPECT_EQ(timeline.peak_op, kNone);
}

TEST(MemoryTimeline, ComesDownAgainFromMoreThanCountsHold) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  GraphBuilder b;
  auto x = b.input(bytes(1));
  const auto big = b.op_outputs("aten::split", std::vector<NamedArgument>{{"self", x}},
                                std::vector<TensorSpec>(8, bytes(kHuge)));
  const auto y = b.op("aten::cat", {{"tensors", big}}, {bytes(10)});
  const auto z = relu(b, y, 100);
  const auto timeline = memory_timeline(b.finish({z}));
  EXPECT_TRUE(timeline.alive[0].saturated());
  EXPECT_EQ(timeline.alive[2], Count{110});
}

// --- by node

struct Traced {
  GraphBuilder b;
  NodeId placeholder(const char* name, Tensor value) {
    return b.node(NodeKind::kPlaceholder, name, name, {}, {value});
  }
  std::pair<NodeId, Tensor> relu(const char* name, NodeId from, Tensor x, std::int64_t n) {
    const auto node = b.node(NodeKind::kCallFunction, name, "torch.relu", {from});
    return {node, b.op("aten::relu", {{"self", x}}, {bytes(n)})};
  }
  NodeId output(std::initializer_list<NodeId> from, const tensors& values) {
    return b.node(NodeKind::kOutput, "output", "output", from, values);
  }
};

TEST(NodeTimeline, Chain) {
  Traced t;
  const auto x = t.b.input(bytes(1));
  t.b.begin_part("forward");
  const auto input = t.placeholder("x", x);
  const auto weight = t.b.parameter("weight", bytes(100000));
  const NodeId gets = t.b.node(NodeKind::kGetAttr, "weight", "weight", {}, {weight});
  const auto [a, y] = t.relu("a", input, x, 10);
  const auto [c, z] = t.relu("c", a, y, 100);
  t.output({c, gets}, {z});
  // The placeholder, a parameter, then what each leaves behind.
  EXPECT_EQ(node_timeline(t.b.finish({z})), (Counts{1, 1, 10, 100, 100}));
}

TEST(NodeTimeline, PlaceholdersAddTheirInputs) {
  Traced t;
  const auto x = t.b.input(bytes(1));
  const auto y = t.b.input(bytes(10));
  const auto unused = t.b.input(bytes(100));
  t.b.begin_part("forward");
  const auto first = t.placeholder("x", x);
  t.placeholder("unused", unused);
  const auto second = t.placeholder("y", y);
  const auto [a, z] = t.relu("a", second, y, 1000);
  const auto [c, w] = t.relu("c", first, x, 10000);
  t.output({a, c}, {z, w});
  EXPECT_EQ(node_timeline(t.b.finish({z, w})), (Counts{1, 1, 11, 1001, 11000, 11000}));
}

// No op runs for `size`, and yet the tensor is needed until then.
TEST(NodeTimeline, ANodeWithoutOpsReadsWhatItTakes) {
  Traced t;
  const auto x = t.b.input(bytes(1));
  t.b.begin_part("forward");
  const auto input = t.placeholder("x", x);
  const auto [a, y] = t.relu("a", input, x, 10);
  const auto [c, z] = t.relu("c", a, y, 100);
  const NodeId size = t.b.node(NodeKind::kCallMethod, "size", "size", {a});
  const auto [d, w] = t.relu("d", c, z, 1000);
  t.output({d, size}, {w});
  EXPECT_EQ(node_timeline(t.b.finish({w})), (Counts{1, 10, 110, 100, 1000, 1000}));
}

TEST(NodeTimeline, ViewsInPlaceOpsAndUnusedResults) {
  Traced t;
  const auto x = t.b.input(bytes(1));
  t.b.begin_part("forward");
  const auto input = t.placeholder("x", x);
  const auto [a, y] = t.relu("a", input, x, 10);
  t.relu("unused", a, y, 100000);
  Tensor flat, same;
  NodeId flatten = kNone, in_place = kNone;
  {
    const auto node = t.b.node(NodeKind::kCallFunction, "flatten", "torch.flatten", {a});
    flatten = node;
    flat = t.b.op("aten::view", {{"self", y}}, {view(10, y)});
  }
  {
    const auto node = t.b.node(NodeKind::kCallMethod, "relu_", "relu_", {flatten});
    in_place = node;
    same = t.b.op("aten::relu_", {{"self", flat}}, {view(10, y)});
  }
  const auto [d, w] = t.relu("d", in_place, same, 1000);
  t.output({d}, {w});
  EXPECT_EQ(node_timeline(t.b.finish({w})), (Counts{1, 10, 10, 10, 10, 1000, 1000}));
}

// x -> part one -> y -> an op outside -> z -> part two; `y` is read again after part two.
TEST(NodeTimeline, WhatLaterCodeNeedsStaysInUse) {
  Traced t;
  const auto x = t.b.input(bytes(1));
  t.b.begin_part("one");
  const auto input = t.placeholder("x", x);
  const auto [a, y] = t.relu("a", input, x, 10);
  t.output({a}, {y});
  const auto z = relu(t.b, y, 100);
  t.b.begin_part("two");
  const auto again = t.placeholder("z", z);
  const auto [c, w] = t.relu("c", again, z, 1000);
  t.output({c}, {w});
  const auto end = t.b.op("aten::add.Tensor", {{"self", w}, {"other", y}}, {bytes(5)});
  const auto graph = t.b.finish({end});
  EXPECT_EQ(node_timeline(graph), (Counts{1, 10, 10, 10 + 100, 10 + 1000, 10 + 1000}));
  EXPECT_EQ(node_timeline(part_of(graph, 1)), (Counts{100, 1000, 1000}));
}

TEST(NodeTimeline, NoNodes) {
  GraphBuilder b;
  const auto x = b.input(bytes(1));
  EXPECT_TRUE(node_timeline(b.finish({relu(b, x, 10)})).empty());
}

}  // namespace
}  // namespace opscope
