#include "graph/either_way.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace opscope {
namespace {

Graph chain(const std::vector<std::string>& ops) {
  GraphBuilder b;
  auto x = b.input({4});
  for (const std::string& op : ops) x = b.op(op, {{"self", x}}, {{4}});
  return b.finish({});
}

std::vector<bool> bounded(const Graph& graph) {
  std::vector<bool> found;
  for (const Op& op : graph.ops) found.push_back(op.bounded);
  return found;
}

TEST(EitherWay, WhatOneWayAloneRunsIsBounded) {
  auto graph = chain({"aten::neg", "aten::relu", "aten::sigmoid", "aten::abs"});
  bound_by(graph, chain({"aten::neg", "aten::abs"}));
  EXPECT_EQ(bounded(graph), (std::vector<bool>{false, true, true, false}));
}

TEST(EitherWay, TheSameOpsAreNot) {
  auto graph = chain({"aten::neg", "aten::relu"});
  bound_by(graph, chain({"aten::neg", "aten::relu"}));
  EXPECT_EQ(bounded(graph), (std::vector<bool>{false, false}));
  bound_by(graph, chain({"aten::neg", "aten::relu", "aten::relu"}));
  EXPECT_EQ(bounded(graph), (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace opscope
