// What FlopCounterMode (torch 2.13, on the meta device) and fvcore 0.1.5 count for single calls. The numbers
// on the right were measured with those tools.
#include <gtest/gtest.h>

#include "cost/cost.h"
#include "ops/op_case.h"

namespace opscope {
namespace {

struct Counted {
  OpCase call;
  std::uint64_t flops;
};

OpCase call(std::string op, std::vector<CaseArgument> arguments, Shapes outputs) {
  return {std::move(op), std::move(arguments), std::move(outputs), {}};
}
OpCase matmul(ints a, ints b, ints out) {
  return call("aten::matmul", {{"self", T(a)}, {"other", T(b)}}, {T(out)});
}
OpCase linear(ints x, ints weight, ints out) {
  return call("aten::linear", {{"input", T(x)}, {"weight", T(weight)}}, {T(out)});
}
OpCase einsum(const char* equation, Shapes operands, ints out) {
  return call("aten::einsum", {{"equation", equation}, {"tensors", std::move(operands)}}, {T(out)});
}
OpCase attention(ints q, ints k, ints v, ints out) {
  return call("aten::scaled_dot_product_attention", {{"query", T(q)}, {"key", T(k)}, {"value", T(v)}},
              {T(out)});
}
OpCase conv(const char* op, ints x, ints weight, int groups, ints out) {
  return call(op, {{"input", T(x)}, {"weight", T(weight)}, {"groups", groups}}, {T(out)});
}

void expect_counts(const std::vector<Counted>& rows, Convention convention) {
  for (const Counted& row : rows) {
    const auto costs = estimate(graph_of(row.call), convention);
    EXPECT_EQ(costs[0].flops, Count{row.flops}) << row.call.op << " counts " << costs[0].flops.value();
  }
}

TEST(TorchConvention, MatmulIsCountedUnlessItRunsAsMv) {
  expect_counts(
      {
          {matmul({3}, {3}, {}), 0},
          {matmul({2, 3}, {3}, {2}), 0},
          {matmul({5, 2, 3}, {3}, {5, 2}), 0},
          {matmul({3}, {3, 4}, {4}), 24},
          {matmul({2, 3}, {3, 4}, {2, 4}), 48},
          {matmul({5, 2, 3}, {3, 4}, {5, 2, 4}), 240},
          {matmul({2, 3}, {5, 3, 4}, {5, 2, 4}), 240},
          {matmul({3}, {5, 3, 4}, {5, 4}), 120},
          {matmul({5, 2, 3}, {1, 3, 4}, {5, 2, 4}), 240},
          {matmul({6, 5, 2, 3}, {5, 3, 4}, {6, 5, 2, 4}), 1440},
          {matmul({6, 1, 2, 3}, {1, 5, 3, 4}, {6, 5, 2, 4}), 1440},
          {matmul({0, 3}, {3, 4}, {0, 4}), 0},
          {linear({5, 3}, {4, 3}, {5, 4}), 120},
          {linear({2, 5, 3}, {4, 3}, {2, 5, 4}), 240},
          {linear({3}, {4, 3}, {4}), 24},
          {linear({5, 3}, {3}, {5}), 0},
          {call("aten::mv", {{"self", T{2, 3}}, {"vec", T{3}}}, {{2}}), 0},
          {call("aten::dot", {{"self", T{3}}, {"tensor", T{3}}}, {T(ints{})}), 0},
          {call("aten::inner", {{"self", T{2, 3}}, {"other", T{4, 3}}}, {{2, 4}}), 48},
          {call("aten::addbmm", {{"self", T{2, 4}}, {"batch1", T{5, 2, 3}}, {"batch2", T{5, 3, 4}}},
                {{2, 4}}),
           0},
          {call("aten::baddbmm", {{"self", T{5, 2, 4}}, {"batch1", T{5, 2, 3}}, {"batch2", T{5, 3, 4}}},
                {{5, 2, 4}}),
           240},
          {call("aten::outer", {{"self", T{2}}, {"vec2", T{4}}}, {{2, 4}}), 0},
          {call("aten::bilinear", {{"input1", T{5, 2}}, {"input2", T{5, 3}}, {"weight", T{4, 2, 3}}},
                {{5, 4}}),
           0},
          {call("aten::_grouped_mm", {{"self", T{3, 8, 16}}, {"mat2", T{3, 16, 24}}}, {{3, 8, 24}}), 0},
          {call("aten::mm", {{"self", T({2, 3}, DType::kComplex64)}, {"mat2", T({3, 4}, DType::kComplex64)}},
                {{{2, 4}, DType::kComplex64}}),
           48},
      },
      Convention::kTorch);
}

TEST(TorchConvention, EinsumIsCountedWhereItRunsAsBmm) {
  expect_counts(
      {
          {einsum("bij,bjk->bik", {{5, 2, 3}, {5, 3, 4}}, {5, 2, 4}), 240},
          {einsum("i,j->ij", {{2}, {3}}, {2, 3}), 0},
          {einsum("ij,ij->ij", {{2, 3}, {2, 3}}, {2, 3}), 0},
          {einsum("ij,ij->", {{2, 3}, {2, 3}}, {}), 12},
          {einsum("ij->ji", {{2, 3}}, {3, 2}), 0},
          {einsum("bhid,bhjd->bhij", {{2, 4, 5, 3}, {2, 4, 6, 3}}, {2, 4, 5, 6}), 1440},
          {einsum("bij,kj->bik", {{5, 2, 3}, {4, 3}}, {5, 2, 4}), 240},
          {einsum("ij,j->i", {{2, 3}, {3}}, {2}), 12},
          {einsum("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}, {2, 5}), 128},
          {einsum("bij,bjk->ik", {{5, 2, 3}, {5, 3, 4}}, {2, 4}), 240},
          {einsum("bij,j->b", {{5, 2, 3}, {3}}, {5}), 30},
          {einsum("bij,bjk->bi", {{5, 2, 3}, {5, 3, 4}}, {5, 2}), 60},
          {einsum("ij,kl->", {{2, 3}, {4, 5}}, {}), 0},
          {einsum("aij,ajk->aik", {{1, 2, 3}, {5, 3, 4}}, {5, 2, 4}), 240},
          {einsum("ij,kj->ik", {{2, 1}, {4, 1}}, {2, 4}), 0},
      },
      Convention::kTorch);
}

TEST(TorchConvention, ConvolutionAndAttention) {
  expect_counts(
      {
          {conv("aten::conv2d", {2, 6, 8, 8}, {4, 3, 3, 3}, 2, {2, 4, 6, 6}), 15552},
          {conv("aten::conv2d", {6, 8, 8}, {4, 3, 3, 3}, 2, {4, 6, 6}), 7776},
          {conv("aten::conv1d.padding", {2, 6, 8}, {4, 3, 3}, 2, {2, 4, 8}), 1152},
          {conv("aten::conv_transpose2d", {2, 6, 8, 8}, {6, 3, 3, 3}, 2, {2, 6, 17, 17}), 41472},
          {conv("aten::conv_transpose1d", {2, 6, 8}, {6, 3, 3}, 1, {2, 3, 10}), 1728},
          {conv("aten::conv3d", {2, 6, 8, 8, 8}, {4, 6, 3, 3, 3}, 1, {2, 4, 6, 6, 6}), 559872},
          {call("aten::conv_tbc", {{"self", T{8, 2, 6}}, {"weight", T{3, 6, 4}}}, {{6, 2, 4}}), 0},
          {attention({2, 4, 5, 8}, {2, 4, 5, 8}, {2, 4, 5, 8}, {2, 4, 5, 8}), 6400},
          {attention({2, 4, 5, 8}, {2, 4, 7, 8}, {2, 4, 7, 6}, {2, 4, 5, 6}), 7840},
          {attention({2, 4, 5, 8}, {2, 2, 7, 8}, {2, 2, 7, 8}, {2, 4, 5, 8}), 8960},
          {attention({2, 4, 5, 8}, {1, 1, 5, 8}, {1, 1, 5, 8}, {2, 4, 5, 8}), 6400},
          {attention({5, 8}, {7, 8}, {7, 8}, {5, 8}), 1120},
          {call("aten::softmax.int", {{"self", T{2, 3}}, {"dim", -1}}, {{2, 3}}), 0},
      },
      Convention::kTorch);
}

TEST(TorchConvention, RecurrentLayersRunAsAddmm) {
  const Shapes params{{16, 3}, {16, 4}, {16}, {16}, {16, 4}, {16, 4}, {16}, {16}};
  const Shapes projected{{16, 3}, {16, 2}, {16}, {16}, {2, 4}};
  expect_counts(
      {
          {call("aten::lstm.input", {{"input", T{5, 2, 3}}, {"params", params}, {"num_layers", 2}},
                {{5, 2, 4}}),
           4800},
          {call("aten::lstm.input", {{"input", T{5, 2, 3}}, {"params", projected}, {"num_layers", 1}},
                {{5, 2, 2}}),
           1760},
          {call("aten::gru_cell",
                {{"input", T{2, 3}}, {"hx", T{2, 4}}, {"w_ih", T{12, 3}}, {"w_hh", T{12, 4}}}, {{2, 4}}),
           336},
      },
      Convention::kTorch);
}

TEST(FvcoreConvention, CountsAsFvcoreDoes) {
  const std::vector<CaseArgument> norm{{"input", T{2, 3, 4, 4}}, {"weight", T{3}},      {"bias", T{3}},
                                       {"running_mean", T{3}},   {"running_var", T{3}}, {"training", false}};
  expect_counts(
      {
          {conv("aten::conv2d", {2, 6, 8, 8}, {4, 6, 3, 3}, 1, {2, 4, 6, 6}), 15552},
          {conv("aten::conv2d", {6, 8, 8}, {4, 6, 3, 3}, 1, {4, 6, 6}), 7776},
          {conv("aten::conv2d.padding", {2, 6, 8, 8}, {4, 6, 3, 3}, 1, {2, 4, 8, 8}), 0},
          {conv("aten::conv_transpose2d", {2, 6, 8, 8}, {6, 4, 3, 3}, 1, {2, 4, 10, 10}), 27648},
          {linear({2, 5, 3}, {4, 3}, {2, 5, 4}), 120},
          {linear({3}, {4, 3}, {4}), 12},
          {matmul({2, 3}, {5, 3, 4}, {5, 2, 4}), 24},
          {matmul({3}, {3, 4}, {4}), 12},
          {call("aten::baddbmm", {{"self", T{5, 2, 4}}, {"batch1", T{5, 2, 3}}, {"batch2", T{5, 3, 4}}},
                {{5, 2, 4}}),
           0},
          {einsum("bij,bjk->bik", {{5, 2, 3}, {5, 3, 4}}, {5, 2, 4}), 120},
          {einsum("bhid,bhjd->bhij", {{2, 4, 57, 33}, {2, 4, 61, 33}}, {2, 4, 57, 61}), 918000},
          {einsum("i,j->ij", {{7}, {9}}, {7, 9}), 32},
          {einsum("ij->i", {{7, 9}}, {7}), 63},
          {einsum("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}, {2, 5}), 64},
          {einsum("xyz,xyw->xzw", {{7, 9, 11}, {7, 9, 13}}, {7, 11, 13}), 9009},
          {attention({2, 4, 5, 8}, {2, 4, 5, 8}, {2, 4, 5, 8}, {2, 4, 5, 8}), 0},
          {call("aten::batch_norm", norm, {{2, 3, 4, 4}}), 192},
          {call("aten::layer_norm", {{"input", T{2, 3, 4}}, {"normalized_shape", ints{4}}, {"weight", T{4}}},
                {{2, 3, 4}}),
           120},
          {call("aten::instance_norm", {{"input", T{2, 4, 4}}, {"use_input_stats", true}}, {{2, 4, 4}}), 128},
          {call("aten::upsample_nearest2d.vec", {{"input", T{1, 2, 3, 3}}}, {{1, 2, 6, 6}}), 72},
          {call("aten::upsample_bilinear2d.vec", {{"input", T{1, 2, 3, 3}}}, {{1, 2, 6, 6}}), 288},
          {call("aten::upsample_bicubic2d.vec", {{"input", T{1, 2, 3, 3}}}, {{1, 2, 6, 6}}), 0},
          {call("aten::adaptive_avg_pool2d", {{"self", T{1, 2, 3, 3}}}, {{1, 2, 1, 1}}), 18},
          {call("aten::adaptive_avg_pool1d", {{"self", T{1, 2, 3}}}, {{1, 2, 1}}), 0},
          {call("aten::grid_sampler", {{"input", T{1, 2, 3, 3}}, {"grid", T{1, 4, 4, 2}}}, {{1, 2, 4, 4}}),
           128},
          {call("aten::lstm_cell",
                {{"input", T{2, 3}}, {"hx", Shapes{{2, 4}, {2, 4}}}, {"w_ih", T{16, 3}}, {"w_hh", T{16, 4}}},
                {{2, 4}}),
           224},
      },
      Convention::kFvcore);
}

}  // namespace
}  // namespace opscope
