// Causes add up to the difference, and each is what the tools' rules say it is.
#include "analyse/reconcile/reconcile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "graph/builder.h"

namespace opscope::test {
namespace {

// block: linear 8 -> 4 with a bias, relu, then attention of 2 heads, 4 tokens, 2 wide; a module called twice.
Graph small_model() {
  GraphBuilder b("small", "Net");
  Tensor x = b.input({4, 8}, "x");
  for (int call = 0; call < 2; ++call) {
    const auto block = b.call("block", "Block");
    Tensor y;
    {
      const auto fc = b.call("fc", "Linear");
      const auto weight = b.parameter("weight", {4, 8}), bias = b.parameter("bias", {4});
      y = b.op("aten::linear", {{"input", x}, {"weight", weight}, {"bias", bias}}, {{4, 4}});
    }
    y = b.op("aten::relu", {{"self", y}}, {{4, 4}});
    const Tensor q = b.op("aten::view", {{"self", y}, {"size", ints{1, 2, 4, 2}}}, {{1, 2, 4, 2}});
    b.op("aten::scaled_dot_product_attention",
         {{"query", q},
          {"key", q},
          {"value", q},
          {"attn_mask", nullptr},
          {"dropout_p", 0.0},
          {"is_causal", false}},
         {{1, 2, 4, 2}});
  }
  return b.finish({x});
}

constexpr std::int64_t kLinear = 4 * 8 * 4, kAttention = 2 * 4 * 4 * (2 + 2);  // MACs of one call

std::map<CauseKind, std::int64_t> by_kind(const PeerComparison& peer) {
  std::map<CauseKind, std::int64_t> sums;
  for (const Cause& cause : peer.causes) sums[cause.kind] += cause.flops;
  return sums;
}

void expect_sums(const Reconciliation& model) {
  for (const PeerComparison& peer : model.peers) {
    std::int64_t units = 0, others = 0;
    for (const Cause& cause : peer.causes) {
      std::int64_t rows = 0;
      for (const CauseRow& row : cause.rows) rows += row.flops;
      EXPECT_EQ(rows, cause.flops) << cause.what;
      EXPECT_FALSE(cause.what.empty());
      (cause.is_unit() ? units : others) += cause.flops;
    }
    EXPECT_EQ(static_cast<std::int64_t>(peer.answer.total) + units, peer.flops);
    EXPECT_EQ(others, peer.difference);
    EXPECT_EQ(peer.flops + peer.difference, static_cast<std::int64_t>(model.flops.value()));
  }
}

PeerAnswer answer_of(const char* tool, PeerUnit unit) {
  PeerAnswer answer;
  answer.tool = tool;
  answer.unit = unit;
  return answer;
}

PeerAnswer torch_answer() {
  PeerAnswer answer = answer_of("torch", PeerUnit::kFlops);
  for (int call = 0; call < 2; ++call) {
    answer.counts.push_back({"block.fc", "aten.addmm", 2 * kLinear, 1});
    answer.counts.push_back({"block", "aten.relu", {}, 1});
    answer.counts.push_back({"block", "aten._scaled_dot_product_flash_attention_for_cpu", {}, 1});
  }
  answer.total = 2 * 2 * kLinear;
  return answer;
}

TEST(Reconcile, AttentionInAKernelWithoutAFormula) {
  const Graph graph = small_model();
  const PeerAnswer answer = torch_answer();
  const auto model = reconcile(make_profile(graph), {&answer, 1});
  expect_sums(model);
  const auto sums = by_kind(model.peers[0]);
  EXPECT_EQ(sums.at(CauseKind::kAttentionNotSeen), 2 * 2 * kAttention);
  EXPECT_EQ(sums.at(CauseKind::kBias), 2 * 4 * 4);
  EXPECT_EQ(sums.at(CauseKind::kActivation), 2 * 4 * 4);
  EXPECT_TRUE(sums.contains(CauseKind::kInsideAttention));
  EXPECT_EQ(sums.size(), 4U);
}

TEST(Reconcile, InclusiveCountsInMacs) {
  const Graph graph = small_model();
  PeerAnswer answer = answer_of("fvcore", PeerUnit::kMacs);
  answer.inclusive = true;
  answer.free_ops = {"aten::relu"};
  for (const char* const module : {"", "block", "block.fc"})
    answer.counts.push_back({module, "linear", 2 * kLinear, 1});
  for (const char* const module : {"", "block"})
    answer.counts.push_back({module, "aten::scaled_dot_product_attention", {}, 2});
  answer.total = 2 * kLinear;
  answer.params = 4 * 8 + 4;
  const auto model = reconcile(make_profile(graph), {&answer, 1});
  expect_sums(model);
  const PeerComparison& peer = model.peers[0];
  EXPECT_EQ(peer.flops, 2 * 2 * kLinear);
  EXPECT_EQ(peer.params_cause, "");
  EXPECT_EQ(by_kind(peer).at(CauseKind::kMacAsFlop), 2 * kLinear);
  const auto free = std::ranges::find(peer.causes, CauseKind::kActivation, &Cause::kind);
  EXPECT_EQ(free->what, "activations: free in fvcore by its own list");
  EXPECT_EQ(free->rows.front().ops, 2U);
}

TEST(Reconcile, WhatOnlyTheToolRan) {
  const Graph graph = small_model();
  PeerAnswer answer = torch_answer();
  answer.counts.push_back({"block.extra", "aten.bmm", 77, 1});
  answer.total += 77;
  const auto model = reconcile(make_profile(graph), {&answer, 1});
  expect_sums(model);
  EXPECT_EQ(by_kind(model.peers[0]).at(CauseKind::kOnlyThere), -77);
}

TEST(Reconcile, CountsUnderAnotherModuleCancel) {
  const Graph graph = small_model();
  PeerAnswer answer = torch_answer();
  for (PeerCount& count : answer.counts)
    if (count.module == "block.fc") count.module = "elsewhere.fc";
  const auto model = reconcile(make_profile(graph), {&answer, 1});
  expect_sums(model);
  for (const auto& [kind, flops] : by_kind(model.peers[0])) {
    EXPECT_NE(kind, CauseKind::kOnlyThere);
    EXPECT_NE(kind, CauseKind::kNotSeen);
  }
}

TEST(Reconcile, ToolsThatCountModules) {
  const Graph graph = small_model();
  PeerAnswer exact = answer_of("thop", PeerUnit::kMacs);
  exact.counts = {{"block.fc", "Linear", 2 * kLinear, 1}};
  exact.total = 2 * kLinear;
  exact.params = 4 * 8;
  PeerAnswer with_bias = exact;
  with_bias.counts[0].count = 2 * (kLinear + 16);
  with_bias.total = 2 * (kLinear + 16) + 5;  // and five that are in no module
  const std::vector<PeerAnswer> answers{exact, with_bias};
  const auto model = reconcile(make_profile(graph), answers);
  expect_sums(model);
  const auto first = by_kind(model.peers[0]), second = by_kind(model.peers[1]);
  EXPECT_EQ(first.at(CauseKind::kBias), 2 * 16);
  EXPECT_TRUE(first.contains(CauseKind::kOutsideModules));
  EXPECT_EQ(second.at(CauseKind::kBias), 2 * 16 - 2 * 2 * 16);
  EXPECT_TRUE(second.contains(CauseKind::kFunctionsOfTheModel));
  EXPECT_NE(model.peers[0].params_cause, "");
}

TEST(Reconcile, PerSampleAndTwoNames) {
  const Graph graph = small_model();
  PeerAnswer answer = answer_of("ptflops", PeerUnit::kMacs);
  answer.counts = {{"block.fc", "Linear", 2 * kLinear, 1}, {"alias.fc", "Linear", 2 * kLinear, 1}};
  answer.divided_by = 4;
  answer.total = kLinear;
  const auto model = reconcile(make_profile(graph), {&answer, 1});
  expect_sums(model);
  const auto sums = by_kind(model.peers[0]);
  EXPECT_EQ(sums.at(CauseKind::kPerSample), 3 * kLinear);
  EXPECT_EQ(sums.at(CauseKind::kModuleTwice), -2 * 2 * kLinear);
}

TEST(Reconcile, AToolThatFailed) {
  const Graph graph = small_model();
  PeerAnswer answer = answer_of("thop", PeerUnit::kMacs);
  answer.error = "thop is not installed";
  const auto model = reconcile(make_profile(graph), {&answer, 1});
  EXPECT_FALSE(model.peers[0].ran());
  EXPECT_TRUE(model.peers[0].causes.empty());
}

TEST(Reconcile, Accuracy) {
  PeerComparison peer;
  peer.flops = 200;
  EXPECT_DOUBLE_EQ(peer.accuracy(Count{210}), 95);
  EXPECT_DOUBLE_EQ(peer.accuracy(Count{190}), 95);
  EXPECT_DOUBLE_EQ(peer.off(Count{210}), 0.05);
}

}  // namespace
}  // namespace opscope::test
