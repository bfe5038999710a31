// Bytes: the default, and where rows differ from it.
#include <gtest/gtest.h>

#include "cost/cost.h"
#include "graph/builder.h"

namespace opscope {
namespace {

constexpr std::uint64_t kFloat = 4, kLong = 8;

Traffic bytes(std::uint64_t input, std::uint64_t output, std::uint64_t weight = 0) {
  return {.input_bytes = input, .output_bytes = output, .weight_bytes = weight};
}

// The traffic of the last op.
Traffic traffic(GraphBuilder& b) {
  const Graph graph = b.finish({});
  return estimate(graph, Convention::kOpscope).back().traffic;
}

TEST(Traffic, ReadsInputsOnceAndWritesOutputs) {
  GraphBuilder b;
  const auto x = b.input({4, 3});
  b.op("aten::add.Tensor", {{"self", x}, {"other", x}}, {{4, 3}});
  EXPECT_EQ(traffic(b), bytes(12 * kFloat, 12 * kFloat));
}

TEST(Traffic, WeightsAreApart) {
  GraphBuilder b;
  const auto x = b.input({5, 8});
  b.op("aten::linear",
       {{"input", x}, {"weight", b.parameter("weight", {4, 8})}, {"bias", b.buffer("bias", {4})}}, {{5, 4}});
  EXPECT_EQ(traffic(b), bytes(40 * kFloat, 20 * kFloat, 36 * kFloat));
}

TEST(Traffic, DtypesHaveTheirOwnWidth) {
  GraphBuilder b;
  const auto x = b.input({{4, 3}, DType::kFloat16});
  b.op("aten::to.dtype", {{"self", x}, {"dtype", DType::kFloat64}}, {{{4, 3}, DType::kFloat64}});
  EXPECT_EQ(traffic(b), bytes(12 * 2, 12 * 8));
}

TEST(Traffic, ExpandedInputsAreReadOnce) {
  GraphBuilder b;
  TensorSpec expanded{5, 4, 3};
  expanded.strides = ints{0, 3, 1};
  const auto x = b.input(expanded);
  b.op("aten::relu", {{"self", x}}, {{5, 4, 3}});
  EXPECT_EQ(traffic(b), bytes(12 * kFloat, 60 * kFloat));
}

TEST(Traffic, OverlappingWindowsAreReadOnce) {
  GraphBuilder b;
  TensorSpec windows{8, 3};
  windows.strides = ints{1, 1};
  const auto x = b.input(windows);
  b.op("aten::relu", {{"self", x}}, {{8, 3}});
  EXPECT_EQ(traffic(b), bytes(10 * kFloat, 24 * kFloat));
}

TEST(Traffic, ViewsAreFree) {
  GraphBuilder b;
  const auto x = b.input({4, 3});
  b.op("aten::transpose.int", {{"self", x}, {"dim0", 0}, {"dim1", 1}}, {TensorSpec{3, 4}.view_of(x)});
  EXPECT_EQ(traffic(b), bytes(0, 0));
}

TEST(Traffic, ReshapeIsFreeUnlessItCopies) {
  GraphBuilder viewed;
  const auto x = viewed.input({4, 3});
  viewed.op("aten::reshape", {{"self", x}}, {TensorSpec{12}.view_of(x)});
  EXPECT_EQ(traffic(viewed), bytes(0, 0));
  GraphBuilder copied;
  copied.op("aten::reshape", {{"self", copied.input({4, 3})}}, {{12}});
  EXPECT_EQ(traffic(copied), bytes(12 * kFloat, 12 * kFloat));
}

TEST(Traffic, DropoutInEvalIsFree) {
  GraphBuilder b;
  const auto x = b.input({4, 3});
  b.op("aten::dropout", {{"input", x}, {"p", 0.5}, {"train", false}}, {TensorSpec{4, 3}.view_of(x)});
  EXPECT_EQ(traffic(b), bytes(0, 0));
}

TEST(Traffic, InPlaceWritesWhatItRead) {
  GraphBuilder b;
  const auto x = b.input({4, 3});
  b.op("aten::relu_", {{"self", x}}, {TensorSpec{4, 3}.view_of(x)});
  EXPECT_EQ(traffic(b), bytes(12 * kFloat, 12 * kFloat));
}

TEST(Traffic, CopyDoesNotReadItsTarget) {
  GraphBuilder b;
  const auto x = b.input({4, 3});
  const auto from = b.input({{3}, DType::kInt64});
  b.op("aten::copy_", {{"self", x}, {"src", from}}, {TensorSpec{4, 3}.view_of(x)});
  EXPECT_EQ(traffic(b), bytes(3 * kLong, 12 * kFloat));
}

TEST(Traffic, OutArgumentsAreNotRead) {
  GraphBuilder b;
  const auto x = b.input({4, 3});
  const auto out = b.input({4, 3});
  b.op("aten::relu.out", {{"self", x}, {"out", out}}, {TensorSpec{4, 3}.view_of(out)});
  EXPECT_EQ(traffic(b), bytes(12 * kFloat, 12 * kFloat));
}

TEST(Traffic, CreationOnlyWrites) {
  GraphBuilder filled;
  filled.op("aten::zeros_like", {{"self", filled.input({4, 3})}}, {{4, 3}});
  EXPECT_EQ(traffic(filled), bytes(0, 12 * kFloat));
  GraphBuilder empty;
  empty.op("aten::empty", {{"size", ints{4, 3}}}, {{4, 3}});
  EXPECT_EQ(traffic(empty), bytes(0, 0));
}

TEST(Traffic, EmbeddingReadsRows) {
  GraphBuilder b;
  const auto table = b.parameter("weight", {1000, 8});
  b.op("aten::embedding", {{"weight", table}, {"indices", b.input({{2, 5}, DType::kInt64})}}, {{2, 5, 8}});
  EXPECT_EQ(traffic(b), bytes(10 * kLong, 80 * kFloat, 80 * kFloat));
}

TEST(Traffic, GatherReadsWhatItSelects) {
  GraphBuilder b;
  const auto x = b.input({1000, 8});
  b.op("aten::index_select", {{"self", x}, {"dim", 0}, {"index", b.input({{5}, DType::kInt64})}}, {{5, 8}});
  EXPECT_EQ(traffic(b), bytes(40 * kFloat + 5 * kLong, 40 * kFloat));
}

TEST(Traffic, ScatterInPlaceTouchesWhatItWrites) {
  GraphBuilder b;
  const auto x = b.input({1000, 8});
  b.op("aten::index_add_",
       {{"self", x}, {"dim", 0}, {"index", b.input({{5}, DType::kInt64})}, {"source", b.input({5, 8})}},
       {TensorSpec{1000, 8}.view_of(x)});
  EXPECT_EQ(traffic(b), bytes(5 * kLong + 40 * kFloat + 40 * kFloat, 40 * kFloat));
}

Traffic index_put_in_place(const TensorSpec& values, bool accumulate) {
  GraphBuilder b;
  const auto x = b.input({1000, 8, 2});
  const auto index = b.input({{5}, DType::kInt64});
  b.op("aten::index_put_",
       {{"self", x},
        {"indices", tensors{Tensor{}, index}},
        {"values", b.input(values)},
        {"accumulate", accumulate}},
       {TensorSpec{1000, 8, 2}.view_of(x)});
  return traffic(b);
}

// x[:, index] = values: 1000 * 5 * 2 elements, however few values there are.
TEST(Traffic, IndexPutInPlaceWritesWhatIsIndexed) {
  constexpr std::uint64_t kTouched = 1000 * 5 * 2 * kFloat;
  EXPECT_EQ(index_put_in_place({1000, 5, 2}, false), bytes(5 * kLong + kTouched, kTouched));
  EXPECT_EQ(index_put_in_place(TensorSpec(ints{}), false), bytes(5 * kLong + kFloat, kTouched));
  EXPECT_EQ(index_put_in_place(TensorSpec(ints{}), true), bytes(5 * kLong + kFloat + kTouched, kTouched));
}

TEST(Traffic, IndexFillInPlaceWritesSlices) {
  GraphBuilder b;
  const auto x = b.input({1000, 8});
  b.op("aten::index_fill_",
       {{"self", x}, {"dim", 0}, {"index", b.input({{5}, DType::kInt64})}, {"value", 0.0}},
       {TensorSpec{1000, 8}.view_of(x)});
  EXPECT_EQ(traffic(b), bytes(5 * kLong, 40 * kFloat));
}

TEST(Traffic, AttentionDoesNotWriteItsScores) {
  GraphBuilder b;
  const auto q = b.input({1, 2, 64, 8});
  b.op("aten::scaled_dot_product_attention", {{"query", q}, {"key", q}, {"value", q}}, {{1, 2, 64, 8}});
  EXPECT_EQ(traffic(b), bytes(1024 * kFloat, 1024 * kFloat));
}

TEST(Traffic, CatReadsAllAndWritesAll) {
  GraphBuilder b;
  b.op("aten::cat", {{"tensors", tensors{b.input({2, 3}), Tensor{}, b.input({4, 3})}}, {"dim", 0}}, {{6, 3}});
  EXPECT_EQ(traffic(b), bytes(18 * kFloat, 18 * kFloat));
}

}  // namespace
}  // namespace opscope
