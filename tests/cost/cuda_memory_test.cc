// What a CUDA device needs beside the tensors: cuBLAS's pools, cuDNN's workspaces, the blocks of PyTorch's
// allocator.
#include <gtest/gtest.h>

#include "cost/liveness.h"
#include "graph/builder.h"

namespace opscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Graph on_cuda(Graph graph) {
  const StringId device = graph.intern("cuda:0");
  for (Value& value : graph.values) value.device = device;
  return graph;
}

TensorSpec floats32(ints shape) { return TensorSpec(std::move(shape), DType::kFloat32); }

// x (n floats) -> relu -> relu
Graph pointwise(std::int64_t n) {
  GraphBuilder b;
  const auto x = b.input(floats32({n}));
  const auto y = b.op("aten::relu", {{"self", x}}, {floats32({n})});
  return on_cuda(b.finish({b.op("aten::relu", {{"self", y}}, {floats32({n})})}));
}

Graph convolution(ints input, ints weight, ints output) {
  GraphBuilder b;
  const auto x = b.input(floats32(std::move(input)));
  const auto w = b.parameter("weight", floats32(std::move(weight)));
  return b.finish({b.op("aten::conv2d", {{"input", x}, {"weight", w}}, {floats32(std::move(output))})});
}

Graph linear(bool with_bias) {
  GraphBuilder b;
  const auto x = b.input(floats32({4, 8}));
  const auto w = b.parameter("weight", floats32({8, 8}));
  if (!with_bias)
    return on_cuda(b.finish({b.op("aten::linear", {{"input", x}, {"weight", w}}, {floats32({4, 8})})}));
  const auto bias = b.parameter("bias", floats32({8}));
  return on_cuda(
      b.finish({b.op("aten::linear", {{"input", x}, {"weight", w}, {"bias", bias}}, {floats32({4, 8})})}));
}

TEST(LibraryWorkspace, OtherDevicesHaveNone) {
  const auto timeline = memory_timeline(convolution({1, 64, 8, 8}, {64, 64, 3, 3}, {1, 64, 8, 8}));
  EXPECT_EQ(timeline.library.most, Count{0});
  EXPECT_EQ(timeline.allocator.reserved, Count{0});
  EXPECT_EQ(timeline.needed_bytes(), timeline.peak_memory_bytes());
}

TEST(LibraryWorkspace, CublasHasAPoolAndAnotherForABias) {
  EXPECT_EQ(memory_timeline(pointwise(100)).library.most, Count{0});
  EXPECT_EQ(memory_timeline(linear(false)).library.pools, Count{32 * kMiB});
  const auto biased = memory_timeline(linear(true)).library;
  EXPECT_EQ(biased.pools, Count{33 * kMiB});
  EXPECT_TRUE(biased.is_exact());
}

TEST(LibraryWorkspace, ANamedDeviceHasItsOwnPool) {
  auto graph = linear(true);
  graph.cuda = {{8, 0, 108}, 8 * kMiB};
  EXPECT_EQ(memory_timeline(graph).library.pools, Count{9 * kMiB});
}

TEST(LibraryWorkspace, EachThreadThatMultipliesHasAPool) {
  auto graph = linear(false);
  const Op again = graph.ops[0];
  graph.ops.push_back(again);
  graph.phases = {{"forward", 0}, {"backward", 1}};
  EXPECT_EQ(memory_timeline(graph).library.pools, Count{64 * kMiB});
}

TEST(LibraryWorkspace, AConvolutionWithChannelsFirstIsCopied) {
  const auto graph = on_cuda(convolution({1, 64, 8, 8}, {64, 64, 3, 3}, {1, 64, 8, 8}));
  const std::uint64_t copied = 4 * (64 * 64 + 64 * 64 + 64 * 64 * 9);
  const auto library = memory_timeline(graph).library;
  EXPECT_FALSE(library.is_exact());
  EXPECT_LT(library.least.value(), copied);
  EXPECT_GT(library.most.value(), copied);
  EXPECT_LT(library.most.value(), copied * 5 / 4);
}

TEST(LibraryWorkspace, NoCopiesWithChannelsLastOrForEachChannelAlone) {
  auto last = on_cuda(convolution({1, 64, 8, 8}, {64, 64, 3, 3}, {1, 64, 8, 8}));
  last.values[last.inputs[0]].strides = last.add_dims(ints{64 * 64, 1, 8 * 64, 64});
  EXPECT_EQ(memory_timeline(last).library.most, Count{0});
  const auto depthwise = on_cuda(convolution({1, 64, 8, 8}, {64, 1, 3, 3}, {1, 64, 8, 8}));
  EXPECT_EQ(memory_timeline(depthwise).library.most, Count{0});
}

TEST(CudaAllocator, ABlockIsAMultipleOf512Bytes) {
  const auto timeline = memory_timeline(pointwise(1));  // two blocks at a time
  EXPECT_EQ(timeline.allocator.allocated_most, Count{2 * 512});
  EXPECT_EQ(timeline.allocator.reserved, Count{2 * kMiB});
}

TEST(CudaAllocator, LargeBlocksShareASegmentOf20MiB) {
  // Two of 4 MiB at a time; what is left is split off, since it is more than 1 MiB.
  const auto timeline = memory_timeline(pointwise(kMiB));
  EXPECT_EQ(timeline.allocator.allocated_most, Count{8 * kMiB});
  EXPECT_EQ(timeline.allocator.reserved, Count{20 * kMiB});
}

TEST(CudaAllocator, WhatWouldLeaveLittleIsNotSplit) {
  // 10.5 MiB has a segment of 12 MiB, of which more than 1 MiB is left; 11.5 MiB takes all of one.
  const auto split = memory_timeline(pointwise(21 * kMiB / 8));
  EXPECT_EQ(split.allocator.allocated_most, Count{21 * kMiB});
  const auto whole = memory_timeline(pointwise(23 * kMiB / 8));
  EXPECT_EQ(whole.allocator.allocated_most, Count{2 * 12 * kMiB});
  EXPECT_EQ(whole.allocator.reserved, Count{24 * kMiB});
}

TEST(CudaAllocator, FreedBlocksAreUsedAgain) {
  auto graph = pointwise(4 * kMiB);
  graph.lifetimes = {{kNone, 0}, {0, 1}, {1, kNone}};  // the input goes before the second result is made
  const auto timeline = memory_timeline(graph);
  EXPECT_EQ(timeline.allocator.reserved, Count{32 * kMiB});
  EXPECT_EQ(timeline.allocator.allocated_most, Count{32 * kMiB});
}

TEST(CudaAllocator, WhatIsNeededIsMoreThanTheTensorsAndLessThanAllThatIsReserved) {
  const auto timeline = memory_timeline(pointwise(23 * kMiB / 8));
  EXPECT_GT(timeline.needed_bytes(), timeline.peak_memory_bytes());
  EXPECT_LE(timeline.needed_bytes().value(), timeline.allocator.reserved.value() * 103 / 100);
}

}  // namespace
}  // namespace opscope
