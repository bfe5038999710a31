// The estimator: conventions, confidence, declared costs, unknown ops.
#include "cost/cost.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace opscope {
namespace {

Graph linear_graph() {
  GraphBuilder b;
  const auto x = b.input({5, 8});
  const auto y =
      b.op("aten::linear",
           {{"input", x}, {"weight", b.parameter("weight", {4, 8})}, {"bias", b.parameter("bias", {4})}},
           {{5, 4}});
  const auto z = b.op("aten::tanh", {{"self", y}}, {{5, 4}});
  return b.finish({z});
}

TEST(Estimate, AppliesTheConvention) {
  const Graph graph = linear_graph();
  const auto flops = [&](Convention convention, std::size_t op) {
    return estimate(graph, convention)[op].flops;
  };
  EXPECT_EQ(flops(Convention::kOpscope, 0), Count{2 * 160 + 20});
  EXPECT_EQ(flops(Convention::kMacs, 0), Count{160});
  EXPECT_EQ(flops(Convention::kTorch, 0), Count{2 * 160});
  EXPECT_EQ(flops(Convention::kFvcore, 0), Count{160});
  EXPECT_EQ(flops(Convention::kOpscope, 1), Count{20});
  EXPECT_EQ(flops(Convention::kTorch, 1), Count{0});
}

TEST(Estimate, OneAtATimeIsTheSame) {
  const Graph graph = linear_graph();
  const auto costs = estimate(graph, Convention::kOpscope);
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const OpCost cost = estimate_one(graph, op, Convention::kOpscope);
    EXPECT_EQ(cost.work, costs[op].work);
    EXPECT_EQ(cost.traffic, costs[op].traffic);
    EXPECT_EQ(cost.rule, costs[op].rule);
  }
}

TEST(Estimate, UnknownOpsAreFlaggedAndStillMoveBytes) {
  GraphBuilder b;
  b.op("mylib::foo", {{"x", b.input({4, 3})}}, {{4, 3}});
  b.op("aten::mm", {{"self", b.input({4, 3})}, {"mat2", b.input({5, 3})}}, {{4, 3}});
  const auto costs = estimate(b.finish({}), Convention::kOpscope);
  for (const OpCost& cost : costs) {
    EXPECT_EQ(cost.confidence, Confidence::kUnknown);
    EXPECT_EQ(cost.rule, nullptr);
    EXPECT_EQ(cost.work, Work{});
  }
  EXPECT_EQ(costs[0].traffic.total(), Count{2 * 12 * 4});
}

TEST(Estimate, ConfidenceIsTheRows) {
  GraphBuilder b;
  b.op("torchvision::nms", {{"dets", b.input({10, 4})}, {"scores", b.input({10})}}, {{10}});
  b.op("aten::sort", {{"self", b.input({10})}}, {{10}});
  b.op("aten::relu", {{"self", b.input({10})}}, {{10}});
  const auto costs = estimate(b.finish({}), Convention::kOpscope);
  EXPECT_EQ(costs[0].confidence, Confidence::kUpperBound);
  EXPECT_EQ(costs[1].confidence, Confidence::kEstimated);
  EXPECT_EQ(costs[2].confidence, Confidence::kExact);
}

TEST(Estimate, SizesThatDependOnDataAreUpperBounds) {
  GraphBuilder b;
  const auto bounded_op = [&](std::string_view name) {
    b.op(name, {{"self", b.input({10})}}, {{10}});
    b.graph().ops.back().bounded = true;
  };
  bounded_op("aten::relu");
  bounded_op("aten::sort");
  bounded_op("mylib::foo");
  bounded_op("mylib::foo");
  b.declare_cost(1, std::nullopt, std::nullopt);
  const Graph graph = b.finish({});
  const auto costs = estimate(graph, Convention::kOpscope);
  EXPECT_EQ(costs[0].confidence, Confidence::kUpperBound);
  EXPECT_EQ(costs[1].confidence, Confidence::kUpperBound);
  EXPECT_EQ(costs[2].confidence, Confidence::kUnknown);
  EXPECT_EQ(costs[3].confidence, Confidence::kUpperBound);
  EXPECT_EQ(estimate_one(graph, 0, Convention::kOpscope).confidence, Confidence::kUpperBound);
}

TEST(Estimate, AnOpThatRunsSeveralTimesCostsAsManyTimes) {
  GraphBuilder b;
  const auto run = [&](std::uint64_t times) {
    b.op("aten::relu", {{"self", b.input({10})}}, {{10}});
    b.graph().ops.back().repeats = times;
  };
  run(3);
  run(Count::kMax);
  run(3);
  b.declare_cost(5, std::nullopt, 100);
  b.graph().ops.back().estimated = true;
  const Graph graph = b.finish({});
  const auto costs = estimate(graph, Convention::kOpscope);
  EXPECT_EQ(costs[0].flops, Count{30});
  EXPECT_EQ(costs[0].traffic.total(), Count{3 * 80});
  EXPECT_TRUE(costs[1].flops.saturated());
  EXPECT_EQ(costs[2].work.macs, Count{15});
  EXPECT_EQ(costs[2].traffic.total(), Count{300});
  EXPECT_EQ(costs[2].confidence, Confidence::kEstimated);
  for (OpId op = 0; op < 3; ++op)
    EXPECT_EQ(estimate_one(graph, op, Convention::kOpscope).traffic, costs[op].traffic);
  EXPECT_NE(explain(graph, 0).find("runs 3 times"), std::string::npos);
}

OpCost declared(std::optional<std::uint64_t> macs, std::optional<std::uint64_t> flops,
                std::optional<std::uint64_t> total_bytes, Convention convention = Convention::kOpscope) {
  GraphBuilder b;
  b.op("mylib::foo", {{"x", b.input({4, 3})}, {"w", b.parameter("w", {3})}}, {{4, 3}});
  b.declare_cost(macs, flops, total_bytes);
  return estimate(b.finish({}), convention)[0];
}

TEST(DeclaredCost, Wins) {
  const OpCost cost = declared(100, 230, std::nullopt);
  EXPECT_EQ(cost.work, (Work{.macs = 100, .other_flops = 30}));
  EXPECT_EQ(cost.flops, Count{230});
  EXPECT_EQ(cost.confidence, Confidence::kExact);
  EXPECT_EQ(cost.traffic, (Traffic{.input_bytes = 48, .output_bytes = 48, .weight_bytes = 12}));
}

TEST(DeclaredCost, OneNumberIsEnough) {
  EXPECT_EQ(declared(100, std::nullopt, std::nullopt).work, Work{.macs = 100});
  EXPECT_EQ(declared(std::nullopt, 50, std::nullopt).work, Work{.other_flops = 50});
  // Flops that cannot hold the MACs say nothing more.
  EXPECT_EQ(declared(100, 50, std::nullopt).work, Work{.macs = 100});
}

TEST(DeclaredCost, BytesAddUp) {
  const OpCost cost = declared(1, std::nullopt, 1000);
  EXPECT_EQ(cost.traffic, (Traffic{.input_bytes = 1000 - 48 - 12, .output_bytes = 48, .weight_bytes = 12}));
  EXPECT_EQ(declared(1, std::nullopt, 20).traffic.total(), Count{20});
  // Bytes alone leave the work unknown.
  EXPECT_EQ(declared(std::nullopt, std::nullopt, 20).confidence, Confidence::kUnknown);
}

TEST(DeclaredCost, EveryConventionCountsIt) {
  EXPECT_EQ(declared(100, std::nullopt, std::nullopt, Convention::kTorch).flops, Count{200});
  EXPECT_EQ(declared(100, std::nullopt, std::nullopt, Convention::kFvcore).flops, Count{100});
  EXPECT_EQ(declared(100, std::nullopt, std::nullopt, Convention::kMacs).flops, Count{100});
  EXPECT_EQ(declared(100, 230, std::nullopt, Convention::kTorch).flops, Count{230});
  EXPECT_EQ(declared(100, 230, std::nullopt, Convention::kFvcore).flops, Count{130});
  EXPECT_EQ(declared(std::nullopt, 50, std::nullopt, Convention::kTorch).flops, Count{50});
  EXPECT_EQ(declared(std::nullopt, 50, std::nullopt, Convention::kFvcore).flops, Count{50});
}

// 2x3 by 3x4 with a bias: 24 MACs and 8 adds.
OpCost declared_linear(std::optional<std::uint64_t> macs, std::optional<std::uint64_t> flops,
                       std::optional<std::uint64_t> total_bytes,
                       Convention convention = Convention::kOpscope) {
  GraphBuilder b;
  b.op("aten::linear",
       {{"input", b.input({2, 3})}, {"weight", b.parameter("w", {4, 3})}, {"bias", b.parameter("b", {4})}},
       {{2, 4}});
  b.declare_cost(macs, flops, total_bytes);
  return estimate(b.finish({}), convention)[0];
}

TEST(DeclaredCost, WhatIsNotDeclaredStaysAsTheTableHasIt) {
  EXPECT_EQ(declared_linear({}, 100, {}).work, (Work{.macs = 24, .other_flops = 100 - 48}));
  EXPECT_EQ(declared_linear(10, {}, {}).work, (Work{.macs = 10, .other_flops = 8}));
  EXPECT_EQ(declared_linear({}, {}, 7).work, (Work{.macs = 24, .other_flops = 8}));
  EXPECT_EQ(declared_linear({}, {}, 7).flops, Count{2 * 24 + 8});
  EXPECT_EQ(declared_linear({}, {}, 7, Convention::kTorch).flops, Count{48});
  EXPECT_EQ(declared_linear(10, {}, {}, Convention::kTorch).flops, Count{20});
  EXPECT_EQ(declared_linear({}, 100, {}, Convention::kMacs).flops, Count{24});
  EXPECT_EQ(declared_linear({}, 100, {}).rule->category, Category::kMatmul);
}

TEST(DeclaredCost, ToolsKnowTheirOwnFormulas) {
  GraphBuilder b;
  for (const char* source : {"", "torch", "fvcore"}) {
    b.op("mylib::foo", {{"x", b.input({4, 3})}}, {{4, 3}});
    b.declare_cost(100, std::nullopt, std::nullopt, source);
  }
  const Graph graph = b.finish({});
  const auto flops_of = [](const std::vector<OpCost>& costs) {
    std::vector<std::uint64_t> flops;
    for (const OpCost& cost : costs) flops.push_back(cost.flops.value());
    return flops;
  };
  EXPECT_EQ(flops_of(estimate(graph, Convention::kTorch)), (std::vector<std::uint64_t>{200, 200, 200}));
  EXPECT_EQ(flops_of(estimate_as_tool(graph, Convention::kTorch)), (std::vector<std::uint64_t>{0, 200, 0}));
  EXPECT_EQ(flops_of(estimate_as_tool(graph, Convention::kFvcore)), (std::vector<std::uint64_t>{0, 0, 100}));
  // A handle does not say whether it counts MACs.
  EXPECT_EQ(estimate(graph, Convention::kOpscope)[2].confidence, Confidence::kEstimated);
}

TEST(Estimate, HugeShapesSaturate) {
  GraphBuilder b;
  const std::int64_t huge = std::int64_t{1} << 31;
  b.op("aten::bmm", {{"self", b.input({huge, huge, huge})}, {"mat2", b.input({huge, huge, huge})}},
       {{huge, huge, huge}});
  const auto cost = estimate(b.finish({}), Convention::kOpscope)[0];
  EXPECT_TRUE(cost.work.macs.saturated());
  EXPECT_TRUE(cost.flops.saturated());
  EXPECT_TRUE(cost.traffic.total().saturated());
}

TEST(Convention, NamesRoundTrip) {
  for (const auto convention :
       {Convention::kOpscope, Convention::kMacs, Convention::kTorch, Convention::kFvcore})
    EXPECT_EQ(convention_from_name(name(convention)), convention);
}

TEST(Convention, WrongNamesHaveAHint) {
  try {
    convention_from_name("trch");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no convention called 'trch'");
    EXPECT_NE(error.hint().find("torch"), std::string::npos);
  }
}

}  // namespace
}  // namespace opscope
