// Every op of a graph is in a group, does no work, or is listed with a reason.
#include "ops/replay_plan.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

TEST(ReplayPlan, EqualOpsAreOneGroupAndViewsAreIdle) {
  GraphBuilder b;
  auto x = b.input({4, 4});
  for (int i = 0; i < 3; ++i) x = b.op("aten::relu", {{"self", x}}, {{4, 4}});
  const auto seen = b.op("aten::view", {{"self", x}, {"size", ints{16}}}, {TensorSpec{16}.view_of(x)});
  b.op("aten::relu", {{"self", seen}}, {{16}});
  const auto plan = make_replay_plan(b.finish({}));
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[0].ops, (std::vector<OpId>{0, 1, 2}));
  EXPECT_EQ(plan.groups[1].signature, "aten::relu(self: float32[16]) on cpu");
  EXPECT_EQ(plan.idle, 1u);
  EXPECT_TRUE(plan.skipped.empty());
}

TEST(ReplayPlan, OpsThatNeedTheirDataAreListed) {
  GraphBuilder b;
  const auto x = b.input({4, 4});
  const auto mask = b.input({{4, 4}, DType::kBool}, "mask");
  b.op("aten::nonzero", {{"self", x}}, {{{16, 2}, DType::kInt64}});
  b.op("aten::nonzero", {{"self", x}}, {{{9, 2}, DType::kInt64}});
  b.op("aten::index.Tensor", {{"self", x}, {"indices", tensors{mask}}}, {{7}});
  b.op("aten::_local_scalar_dense", {{"self", x}}, {});
  b.op("mine::op", {{"x", x}}, {{4, 4}});
  const auto plan = make_replay_plan(b.finish({}));
  EXPECT_TRUE(plan.groups.empty());
  ASSERT_EQ(plan.skipped.size(), 4u);
  EXPECT_EQ(plan.skipped[0].op, "aten::nonzero");
  EXPECT_EQ(plan.skipped[0].calls, 2u);
  EXPECT_EQ(plan.skipped[0].reason, "its size depends on data");
  EXPECT_EQ(plan.skipped[1].op, "aten::index");
  EXPECT_NE(plan.skipped[2].reason.find("Python"), std::string::npos);
  EXPECT_NE(plan.skipped[3].reason.find("custom op"), std::string::npos);
}

TEST(ReplayPlan, SparseAndQuantisedTensorsAreListed) {
  GraphBuilder b;
  TensorSpec sparse{4, 4};
  sparse.strides = ints{};
  const auto x = b.input(sparse);
  const auto q = b.input({{4, 4}, DType::kQInt8}, "q");
  b.op("aten::relu", {{"self", x}}, {{4, 4}});
  b.op("aten::relu", {{"self", q}}, {{{4, 4}, DType::kQInt8}});
  const auto plan = make_replay_plan(b.finish({}));
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_EQ(plan.skipped.size(), 2u);
}

TEST(ReplayPlan, FunctionalNames) {
  EXPECT_EQ(functional_name("aten::add_"), "aten::add");
  EXPECT_EQ(functional_name("aten::add"), "aten::add");
  EXPECT_EQ(functional_name("aten::__and__"), "aten::__and__");
}

}  // namespace
}  // namespace opscope
