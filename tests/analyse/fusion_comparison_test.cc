// Two groupings of the same ops: what is counted as the same, what became of ops that no kernel names, and
// the words for what differs.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/fusion/comparison.h"
#include "graph/builder.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

// Ops one after the other, each under a tracer's node of its own; node i is op i.
class Traced {
 public:
  Traced() : b_("net") {
    b_.begin_part("forward");
    x_ = b_.input({1, 8, 16, 16}, "x");
  }

  Tensor x() const { return x_; }
  Tensor unary(const char* name, Tensor of) { return op(name, {{"self", of}}); }
  Tensor add(Tensor a, Tensor b) { return op("aten::add.Tensor", {{"self", a}, {"other", b}}); }
  Tensor conv(Tensor of) {
    const auto weight = b_.parameter("weight" + std::to_string(count_ + weights_), {8, 8, 1, 1});
    return op("aten::conv2d", {{"input", of}, {"weight", weight}, {"bias", nullptr}, {"stride", ints{1, 1}}});
  }
  Tensor batch_norm(Tensor of) {
    const auto own = [&](const char* name) { return b_.buffer(name + std::to_string(count_), {8}); };
    return op("aten::batch_norm", {{"input", of},
                                   {"weight", own("w")},
                                   {"bias", own("b")},
                                   {"running_mean", own("m")},
                                   {"running_var", own("v")},
                                   {"training", false},
                                   {"momentum", 0.1},
                                   {"eps", 1e-5},
                                   {"cudnn_enabled", true}});
  }
  Tensor arange() {
    const auto node = begin();
    return b_.op("aten::arange", {{"end", 16}}, {{16}});
  }
  Tensor view(Tensor of) {
    const auto node = begin();
    return b_.op("aten::view", {{"self", of}, {"size", ints{1, 8, 256}}},
                 {TensorSpec{1, 8, 256}.view_of(of)});
  }
  // Under one node all that `make` does.
  template <class Make>
  void several(Make make) {
    const auto node = begin();
    inside_ = true;
    last_ = make();
    inside_ = false;
  }
  Tensor last() const { return last_; }
  void again() { b_.begin_part("forward"), count_ = 0; }
  Graph finish(Tensor result) { return b_.finish({result}); }

 private:
  GraphBuilder::Running begin() {
    const std::string name = "n" + std::to_string(count_++);
    return b_.node(NodeKind::kCallFunction, name, "torch." + name);
  }
  Tensor op(const char* name, std::initializer_list<NamedArgument> arguments) {
    if (inside_) return ++weights_, b_.op(name, arguments, {{1, 8, 16, 16}});
    const auto node = begin();
    return b_.op(name, arguments, {{1, 8, 16, 16}});
  }

  GraphBuilder b_;
  Tensor x_;
  Tensor last_;
  int count_ = 0, weights_ = 0;
  bool inside_ = false;
};

// Each op's group.
Partition grouped(const Graph& graph, std::vector<SubgraphId> of_op) {
  Partition result;
  for (SubgraphId id = 0; id < graph.ops.size(); ++id) {
    const auto begin = static_cast<std::uint32_t>(result.ops.size());
    for (OpId op = 0; op < of_op.size(); ++op)
      if (of_op[op] == id) result.ops.push_back(op);
    const auto size = static_cast<std::uint32_t>(result.ops.size()) - begin;
    if (size == 0) continue;
    result.subgraphs.push_back({.ops = {begin, size}, .type = "ours", .ends = Border::kFork});
  }
  result.of_op = std::move(of_op);
  return result;
}

OtherKernel fused(std::vector<NodeId> nodes) {
  return {"loop", "", KernelKind::kFused, std::move(nodes), {}};
}
OtherKernel library(std::vector<NodeId> nodes) {
  return {"call", "lib", KernelKind::kExtern, std::move(nodes), {}};
}

OtherFusion theirs(std::vector<OtherKernel> kernels, bool frozen = false) {
  return {"Inductor", "inductor", "2.13", frozen, std::move(kernels), {}};
}

FusionComparison compare(const Graph& graph, std::vector<SubgraphId> ours, const OtherFusion& other) {
  return compare_fusion(graph, estimate(graph, Convention::kOpscope), grouped(graph, std::move(ours)), other);
}

TEST(FusionComparison, TheSameGroupsAgree) {
  Traced t;
  const Graph graph = t.finish(t.unary("aten::exp", t.unary("aten::relu", t.unary("aten::tanh", t.x()))));
  const OtherFusion other = theirs({fused({0, 1, 2})});
  const FusionComparison found = compare(graph, {0, 0, 0}, other);
  EXPECT_EQ(found.pairs.both, 2U);
  EXPECT_EQ(found.pairs.precision(), 1.0);
  EXPECT_EQ(found.pairs.recall(), 1.0);
  EXPECT_EQ(found.equal_groups, 1U);
  EXPECT_TRUE(found.differences.empty());
  EXPECT_TRUE(found.group_differences.empty());
}

TEST(FusionComparison, ALibraryCallTakesNothingWithIt) {
  Traced t;
  const Graph graph = t.finish(t.unary("aten::relu_", t.batch_norm(t.conv(t.x()))));
  const OtherFusion other = theirs({library({0}), fused({1, 2}), fused({})});
  const FusionComparison found = compare(graph, {0, 0, 0}, other);
  EXPECT_EQ(found.pairs.both, 1U);
  EXPECT_EQ(found.pairs.ours_only, 1U);
  EXPECT_EQ(found.pairs.precision(), 0.5);
  EXPECT_EQ(found.pairs.recall(), 1.0);
  EXPECT_EQ(found.kernels, 2U);
  EXPECT_EQ(found.layout_kernels, 1U);
  EXPECT_EQ(found.equal_groups, 0U);
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_EQ(found.differences[0].from, "conv2d");
  EXPECT_EQ(found.differences[0].to, "batch_norm");
  EXPECT_NE(found.differences[0].why.find("frozen"), std::string::npos);
  EXPECT_EQ(found.differences[0].bytes, Count{8 * 16 * 16 * 4});
  ASSERT_EQ(found.group_differences.size(), 1U);
  EXPECT_EQ(found.group_differences[0].pieces, "conv2d (extern) | batch_norm + relu");
}

TEST(FusionComparison, WhatLeftNoTraceWasFoldedIntoTheCall) {
  Traced t;
  const Graph graph = t.finish(t.unary("aten::relu", t.batch_norm(t.conv(t.x()))));
  const OtherFusion other = theirs({library({2})}, true);
  const FusionComparison found = compare(graph, {0, 0, 0}, other);
  EXPECT_EQ(found.folded, 2U);
  EXPECT_EQ(found.pairs.both, 2U);
  EXPECT_EQ(found.equal_groups, 1U);
}

// conv2 -> bn2 -> add <- bn1 <- conv1: conv1 has a kernel of its own name, the others are one call.
TEST(FusionComparison, AFrozenBatchNormGoesIntoItsOwnConvolution) {
  Traced t;
  const auto shortcut = t.batch_norm(t.conv(t.x()));
  const auto main = t.batch_norm(t.conv(t.x()));
  const Graph graph = t.finish(t.unary("aten::relu", t.add(main, shortcut)));
  const OtherFusion other = theirs({library({0}), library({5})}, true);
  const FusionComparison found = compare(graph, {0, 0, 1, 1, 1, 1}, other);
  EXPECT_EQ(found.folded, 4U);
  EXPECT_EQ(found.equal_groups, 2U);
  EXPECT_EQ(found.pairs.neither, 1U);
  EXPECT_EQ(found.pairs.precision(), 1.0);
  EXPECT_EQ(found.pairs.recall(), 1.0);
}

TEST(FusionComparison, AnOpThatIsWorkedOutTwiceIsInBothKernels) {
  Traced t;
  const auto a = t.unary("aten::relu", t.x());
  const auto through = t.conv(t.unary("aten::exp", a));
  const auto beside = t.unary("aten::tanh", a);
  const Graph graph = t.finish(t.add(through, beside));
  const OtherFusion other = theirs({fused({0, 1}), library({2}), fused({0, 3, 4})});
  const FusionComparison found = compare(graph, {0, 0, 1, 2, 2}, other);
  EXPECT_EQ(found.split, 1U);
  EXPECT_EQ(found.pairs.both, 2U);         // relu -> exp, tanh -> add
  EXPECT_EQ(found.pairs.theirs_only, 1U);  // relu -> tanh
  EXPECT_EQ(found.pairs.neither, 2U);
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_FALSE(found.differences[0].is_ours);
  EXPECT_EQ(found.differences[0].why, explanation(Border::kFork));
}

TEST(FusionComparison, TheReasonThatTheyGiveIsShown) {
  Traced t;
  const Graph graph = t.finish(t.unary("aten::exp", t.unary("aten::relu", t.x())));
  OtherFusion other = theirs({fused({0}), fused({1})});
  other.cuts = {{0, 1, "intermediate nodes"}};
  const FusionComparison found = compare(graph, {0, 0}, other);
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_EQ(found.differences[0].why, "Inductor says: intermediate nodes");
}

TEST(FusionComparison, EachRunOfAGraphHasItsOwnKernels) {
  Traced t;
  auto x = t.unary("aten::exp", t.unary("aten::relu", t.x()));
  t.again();
  x = t.unary("aten::exp", t.unary("aten::relu", x));
  const Graph graph = t.finish(x);
  const OtherFusion other = theirs({fused({0, 1})});
  const FusionComparison found = compare(graph, {0, 0, 1, 1}, other);
  EXPECT_EQ(found.kernels, 2U);
  EXPECT_EQ(found.equal_groups, 2U);
  EXPECT_EQ(found.pairs.both, 2U);
  EXPECT_EQ(found.pairs.neither, 1U);
}

// One node for conv, relu, conv: the two calls are for the two convolutions, the loop for what is between.
TEST(FusionComparison, CallsOfANodeOfSeveralOpsAreForItsAnchors) {
  Traced t;
  t.several([&] { return t.conv(t.unary("aten::relu", t.conv(t.x()))); });
  const Graph graph = t.finish(t.unary("aten::exp", t.last()));
  OtherFusion other = theirs({library({0}), fused({}), library({0}), fused({1})});
  other.kernels[1].rest = {0};
  const FusionComparison found = compare(graph, {0, 0, 1, 2}, other);
  EXPECT_EQ(found.pairs.unjudged, 0U);
  EXPECT_EQ(found.pairs.ours_only, 1U);
  EXPECT_EQ(found.pairs.neither, 2U);
  EXPECT_EQ(found.kernels, 4U);
  EXPECT_EQ(found.split, 0U);
}

TEST(FusionComparison, ConstantsAndWhatIsLeftOutAreNotCompared) {
  Traced t;
  const auto positions = t.unary("aten::exp", t.arange());
  const auto kept = t.unary("aten::relu", t.x());
  const Graph graph = t.finish(t.add(t.unary("aten::tanh", kept), positions));
  const FusionComparison found = compare(graph, {0, 0, 1, 1, 1}, theirs({fused({2}), fused({4})}));
  EXPECT_EQ(found.constant, 2U);
  EXPECT_EQ(found.removed, 1U);
  EXPECT_EQ(found.pairs.unjudged, 4U);
}

TEST(FusionComparison, ViewsAreSeenThrough) {
  Traced t;
  const auto a = t.unary("aten::relu", t.x());
  const Graph graph = t.finish(t.unary("aten::exp", t.view(a)));
  const FusionComparison found = compare(graph, {0, 0, 0}, theirs({fused({0, 2})}));
  EXPECT_EQ(found.ops, 2U);
  EXPECT_EQ(found.pairs.both, 1U);
  EXPECT_EQ(found.equal_groups, 1U);
}

TEST(FusionComparison, KernelsOfAnotherCaptureAreRefused) {
  Traced t;
  const Graph graph = t.finish(t.unary("aten::relu", t.x()));
  EXPECT_THROW(compare(graph, {0}, theirs({fused({7})})), Error);
  OtherFusion other = theirs({fused({0})});
  other.cuts = {{0, 3, "?"}};
  EXPECT_THROW(compare(graph, {0}, other), Error);
  EXPECT_THROW(kernel_kind_from_name("triton"), Error);
}

// A kernel for each of our groups: where a node has one op, both sides are the same by construction.
TEST(FusionComparison, AgainstOurselvesAllIsTheSame) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = test::RandomGraph(seed).make_traced(150);
    if (std::ranges::any_of(graph.parts, [](const Part& part) { return part.calls > 1; })) continue;
    const auto costs = estimate(graph, Convention::kOpscope);
    const Partition ours = make_partition(graph, costs);
    OtherFusion other = theirs({});
    for (const Subgraph& group : ours.subgraphs) {
      OtherKernel& kernel = other.kernels.emplace_back(fused({}));
      for (const OpId op : ours.ops_of(group))
        if (graph.ops[op].node != kNone &&
            std::ranges::find(kernel.nodes, graph.ops[op].node) == kernel.nodes.end())
          kernel.nodes.push_back(graph.ops[op].node);
    }
    const FusionComparison found = compare_fusion(graph, costs, ours, other);
    EXPECT_EQ(found.pairs.ours_only, 0U) << "seed " << seed;
    EXPECT_EQ(found.folded + found.removed + found.constant, 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace opscope
