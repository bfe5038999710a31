// What two calls of an op have to share to be one signature, and what does not matter.
#include "graph/signature.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "graph/builder.h"

namespace opscope {
namespace {

std::string only_signature(const std::function<void(GraphBuilder&)>& build) {
  GraphBuilder b;
  build(b);
  const auto graph = b.finish({});
  return signature_of(graph, graph.ops.front());
}

TEST(Signature, IsReadable) {
  const auto text = only_signature([](GraphBuilder& b) {
    const auto x = b.input({1, 3, 8, 8});
    const auto weight = b.parameter("weight", {4, 3, 3, 3});
    b.op("aten::conv2d",
         {{"input", x}, {"weight", weight}, {"bias", nullptr}, {"stride", ints{2, 2}}, {"groups", 1}},
         {{1, 4, 3, 3}});
  });
  EXPECT_EQ(
      text,
      "aten::conv2d(input: float32[1,3,8,8], weight: weight float32[4,3,3,3], bias: none, stride: [2,2], "
      "groups: 1) on cpu");
}

TEST(Signature, OverloadNumbersTypesAndLists) {
  const auto text = only_signature([](GraphBuilder& b) {
    const auto x = b.input({{2, 3}, DType::kBFloat16});
    b.op("aten::thing.overload",
         {{"self", x},
          {"p", 0.1},
          {"on", true},
          {"dtype", DType::kInt64},
          {"mode", "it's"},
          {"list", tensors{x, Tensor{}}}},
         {{2, 3}});
  });
  EXPECT_EQ(text,
            "aten::thing.overload(self: bfloat16[2,3], p: 0.1, on: true, dtype: int64, mode: 'it\\'s', "
            "list: [same as self, none]) on cpu");
}

// What is written reads back as the same text, so as the same call.
TEST(Signature, CallsAreReadBack) {
  GraphBuilder b;
  const auto x = b.input({{2, 3, 8, 8}, DType::kBFloat16});
  const auto weight = b.parameter("weight", {{4, 3, 3, 3}, DType::kBFloat16});
  b.op("aten::conv2d",
       {{"input", x}, {"weight", weight}, {"bias", nullptr}, {"stride", ints{2, 2}}, {"groups", 1}},
       {TensorSpec({2, 4, 3, 3}, DType::kBFloat16)});
  b.op("aten::thing.overload",
       {{"self", x},
        {"p", 1.0},
        {"on", true},
        {"dtype", DType::kInt64},
        {"mode", "it's a \\ (text), [so]"},
        {"mask", bools{true, false}},
        {"scales", floats{1.0, 0.5}},
        {"nothing", ints{}},
        {"list", tensors{x, Tensor{}, weight}}},
       {TensorSpec({2, 3}), TensorSpec({2, 3, 64}, DType::kBFloat16).view_of(x)});
  const auto graph = b.finish({});
  std::vector<std::string> texts;
  for (const Op& op : graph.ops) texts.push_back(call_text(graph, op));
  EXPECT_TRUE(texts[0].ends_with(" on cpu -> bfloat16[2,4,3,3]")) << texts[0];
  EXPECT_TRUE(texts[1].ends_with(" -> float32[2,3], bfloat16[2,3,64] in self")) << texts[1];
  const auto again = graph_of_calls(texts);
  ASSERT_EQ(again.ops.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(call_text(again, again.ops[i]), texts[i]);
    EXPECT_EQ(signature_of(again, again.ops[i]), signature_of(graph, graph.ops[i]));
  }
}

TEST(Signature, TextsThatAreNoCalls) {
  for (const std::string text :
       {"", "aten::relu", "aten::relu(self: float32[2) on cpu", "aten::relu(self: float32[2])",
        "aten::relu(self: same as x) on cpu", "aten::relu(self: float99[2]) on cpu -> float32[2]",
        "aten::relu(self: float32[2]) on cpu -> float32[2] and more",
        "aten::values(self: float32[8] sparse_coo of 3) on cpu"})
    EXPECT_THROW(graph_of_calls(std::vector{text}), Error) << text;
}

TEST(Signature, SameTensorTwiceIsNotTwoTensors) {
  const auto twice = only_signature([](GraphBuilder& b) {
    const auto x = b.input({4});
    b.op("aten::mul.Tensor", {{"self", x}, {"other", x}}, {{4}});
  });
  const auto two = only_signature([](GraphBuilder& b) {
    const auto x = b.input({4}), y = b.input({4}, "y");
    b.op("aten::mul.Tensor", {{"self", x}, {"other", y}}, {{4}});
  });
  EXPECT_NE(twice, two);
}

std::string relu_of(TensorSpec spec) {
  return only_signature([&](GraphBuilder& b) {
    const auto x = b.input(spec);
    b.op("aten::relu", {{"self", x}}, {spec});
  });
}

TEST(Signature, LayoutAndAlignmentMatter) {
  TensorSpec plain{4, 8}, transposed{4, 8}, shifted{4, 8}, far{4, 8};
  transposed.strides = ints{1, 4};
  shifted.offset = 1;
  far.offset = 16;  // 64 bytes: as good as none
  EXPECT_EQ(relu_of(plain), "aten::relu(self: float32[4,8]) on cpu");
  EXPECT_EQ(relu_of(transposed), "aten::relu(self: float32[4,8] strides [1,4]) on cpu");
  EXPECT_EQ(relu_of(shifted), "aten::relu(self: float32[4,8] offset 4) on cpu");
  EXPECT_EQ(relu_of(far), relu_of(plain));
}

TEST(Signature, NamesOfModulesAndValuesDoNotMatter) {
  std::set<std::string> found;
  for (const auto* name : {"a", "b"})
    found.insert(only_signature([&](GraphBuilder& b) {
      const auto x = b.input({4, 4}, name);
      const auto layer = b.call(name, "Linear");
      b.op("aten::linear", {{"input", x}, {"weight", b.parameter(name, {4, 4})}}, {{4, 4}});
    }));
  EXPECT_EQ(found.size(), 1u);
}

TEST(Signature, DevicesByType) {
  GraphBuilder b;
  const auto x = b.input({4}), y = b.input({4}, "y");
  b.op("aten::copy_", {{"self", x}, {"src", y}}, {{4}});
  auto graph = b.finish({});
  for (auto& value : graph.values) value.device = graph.intern("cuda:1");
  graph.values[y.id].device = graph.intern("cpu");
  EXPECT_EQ(signature_of(graph, graph.ops[0]),
            "aten::copy_(self: float32[4], src: float32[4] on cpu) on cuda");
  EXPECT_EQ(device_of(graph, graph.ops[0]), "cuda:1");
}

TEST(Signature, HashIsFixed) {
  EXPECT_EQ(signature_hash("aten::relu(self: float32[4,8]) on cpu").size(), 32u);
  EXPECT_EQ(signature_hash("a"), signature_hash("a"));
  EXPECT_NE(signature_hash("a"), signature_hash("b"));
}

}  // namespace
}  // namespace opscope
