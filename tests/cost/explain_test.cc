// explain(): the formula, the values, the result and the bytes of one op.
#include <gtest/gtest.h>

#include "cost/cost.h"
#include "graph/builder.h"
#include "ops/op_case.h"

namespace opscope {
namespace {

TEST(Explain, Convolution) {
  GraphBuilder b;
  const auto x = b.input({1, 3, 224, 224});
  const auto y = b.op("aten::conv2d",
                      {{"input", x},
                       {"weight", b.parameter("weight", {64, 3, 7, 7})},
                       {"bias", nullptr},
                       {"stride", ints{2, 2}},
                       {"padding", ints{3, 3}},
                       {"groups", 1}},
                      {{1, 64, 112, 112}});
  EXPECT_EQ(explain(b.finish({y}), 0),
            "aten::conv2d  N*K*P*Q * (C/g)*R*S MACs + b*N*K*P*Q adds (bias)\n"
            "              = 1*64*112*112 * (3/1)*7*7 MACs + 0*1*64*112*112 adds (bias)\n"
            "              = 118,013,952 MACs\n"
            "              = 236,027,904 FLOPs, exact\n"
            "              bytes: reads 602,112 (activations) + 37,632 (weights), writes 3,211,264\n"
            "              from  1x3x224x224 float32, 64x3x7x7 float32\n"
            "              to    1x64x112x112 float32\n");
}

TEST(Explain, Elementwise) {
  GraphBuilder b;
  const auto y = b.op("aten::silu_", {{"self", b.input({4, 3})}}, {{4, 3}});
  EXPECT_EQ(explain(b.finish({y}), 0),
            "aten::silu_  4*n flops (sigmoid, multiply) + n exps\n"
            "             = 4*12 flops (sigmoid, multiply) + 12 exps\n"
            "             = 48 flops + 12 specials\n"
            "             = 60 FLOPs, exact\n"
            "             bytes: reads 48 (activations) + 0 (weights), writes 48\n"
            "             from  4x3 float32\n"
            "             to    4x3 float32\n");
}

// The "s" of "input's" is no size.
TEST(Explain, WordsOfAFormulaStay) {
  GraphBuilder b;
  const auto y = b.op("aten::convolution_backward",
                      {{"grad_output", b.input({1, 64, 112, 112})},
                       {"input", b.input({1, 3, 224, 224})},
                       {"weight", b.parameter("weight", {64, 3, 7, 7})},
                       {"output_mask", ints{0, 1, 0}}},
                      {{64, 3, 7, 7}});
  const std::string text = explain(b.finish({y}), 0);
  EXPECT_NE(text.find("MACs (input's and weight's gradient) + "), text.rfind("MACs (input's and weight's"))
      << text;
}

TEST(Explain, SaysWhatItDoesNotKnow) {
  GraphBuilder b;
  b.op("mylib::foo", {{"x", b.input({4, 3})}}, {{4, 3}});
  b.op("aten::mm", {{"self", b.input({4, 3})}, {"mat2", b.input({5, 3})}}, {{4, 3}});
  b.op("mylib::bar", {{"x", b.input({4, 3})}}, {{4, 3}});
  b.declare_cost(100, std::nullopt, std::nullopt);
  b.op("mylib::baz", {{"x", b.input({4, 3})}}, {{4, 3}});
  b.declare_cost(100, 200, std::nullopt, "torch");
  const Graph graph = b.finish({});
  EXPECT_NE(explain(graph, 3).find("register_flop_formula\n            = 100 MACs"), std::string::npos);
  EXPECT_NE(explain(graph, 0).find("not in the table"), std::string::npos);
  EXPECT_NE(explain(graph, 1).find("not with such arguments"), std::string::npos);
  EXPECT_NE(explain(graph, 2).find("declared by the user\n            = 100 MACs"), std::string::npos);
}

TEST(Explain, ViewsMoveNothing) {
  GraphBuilder b;
  const auto x = b.input({4, 3});
  b.op("aten::view", {{"self", x}}, {TensorSpec{12}.view_of(x)});
  const std::string text = explain(b.finish({}), 0);
  EXPECT_NE(text.find("no arithmetic"), std::string::npos);
  EXPECT_NE(text.find("bytes: none"), std::string::npos);
}

// Every letter of a formula has a value: what is left after substituting has no single letters between signs.
TEST(Explain, EveryCaseOfTheTableIsExplained) {
  for (const auto table : {contraction_cases(), attention_cases(), shaped_cases(), window_cases()})
    for (const OpCase& op_case : table) {
      const std::string text = explain(graph_of(op_case), 0);
      EXPECT_NE(text.find("\n"), std::string::npos);
      EXPECT_EQ(text.find("unknown and counted"), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace opscope
