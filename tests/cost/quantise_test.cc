// Quantised weights: the bytes of each scheme by its formula, and what the edit does to a graph.
#include "cost/quantise/quantise.h"

#include <gtest/gtest.h>

#include "cost/cost.h"
#include "cost/liveness.h"
#include "graph/builder.h"

namespace opscope {
namespace {

StorageChoice choice(std::string_view text) { return storage_choice(text, "--quantize"); }
std::uint64_t bytes(std::string_view text, const WeightSize& size) {
  return stored_bytes(choice(text), size).value();
}

TEST(StorageSchemes, TakeTheBytesOfTheirFormulas) {
  const WeightSize one{.matrices = 1, .in = 256, .out = 96};
  EXPECT_EQ(bytes("int8", one), 256U * 96 + 96 * 4);
  EXPECT_EQ(bytes("int8:group=tensor", one), 256U * 96 + 4);
  EXPECT_EQ(bytes("int8:group=64", one), 256U * 96 + 96 * 4 * 4);
  EXPECT_EQ(bytes("int4", one), 256U * 96 / 2 + 96 * 2 * (2 + 2));
  EXPECT_EQ(bytes("int4:group=64", one), 256U * 96 / 2 + 96 * 4 * (2 + 2));
  EXPECT_EQ(bytes("int4:zero=false", one), 256U * 96 / 2 + 96 * 2 * 2);
  EXPECT_EQ(bytes("fp8", one), 256U * 96 + 96 * 4);
  EXPECT_EQ(bytes("fp8:tile=128", one), 256U * 96 + 2 * 1 * 4);
  EXPECT_EQ(bytes("mxfp4", one), 256U * 96 / 2 + 96 * 8);
  EXPECT_EQ(bytes("nf4", one), 256U * 96 / 2 + 384 + 2 * 4 + 17 * 4);
  EXPECT_EQ(bytes("nf4:double=false", one), 256U * 96 / 2 + 384 * 4 + 17 * 4);
  EXPECT_EQ(bytes("gptq", one), 256U * 96 / 2 + 96 * 2 * 2 + 96 * 2 / 2 + 256 * 4);
  EXPECT_EQ(bytes("gptq:bits=8", one), 256U * 96 + 96 * 2 * 2 + 96 * 2 + 256 * 4);
  EXPECT_EQ(bytes("awq", one), 256U * 96 / 2 + 96 * 2 * 2 + 96 * 2 / 2);
}

TEST(StorageSchemes, CountEachMatrixOfAStack) {
  const WeightSize stack{.matrices = 8, .in = 576, .out = 200};
  EXPECT_EQ(bytes("int4:group=64", stack), 8U * (576 * 200 / 2 + 200 * 9 * 4));
  EXPECT_EQ(bytes("fp8:tile=128", stack), 8U * (576 * 200 + 5 * 2 * 4));  // the last tiles are not full
}

TEST(StorageSchemes, SayOnlyWhatWasChosen) {
  EXPECT_EQ(choice("int4").text(), "int4");
  EXPECT_EQ(choice("int4:group=128").text(), "int4");
  EXPECT_EQ(choice("int4:group=64:zero=false").text(), "int4:group=64:zero=false");
  EXPECT_EQ(choice("int8:group=tensor").text(), "int8:group=tensor");
  EXPECT_EQ(choice("gptq:bits=3:group=channel").text(), "gptq:bits=3:group=channel");
  for (const StorageScheme& scheme : storage_schemes()) EXPECT_EQ(choice(scheme.name).text(), scheme.name);
}

std::string problem(std::string_view text) {
  try {
    storage_choice(text, "--quantize");
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return "";
}

TEST(StorageSchemes, RefuseWhatTheyAreNot) {
  EXPECT_EQ(problem("int5"), "no quantisation called 'int5' | did you mean int4, int8?");
  EXPECT_EQ(problem("int4:groups=64"),
            "no option of a quantisation is called 'groups' | did you mean group?");
  EXPECT_EQ(
      problem("mxfp4:group=64"),
      "mxfp4 has no group to choose | leave it out: 4 bits, and an 8-bit exponent for 32 input features");
  EXPECT_EQ(problem("nf4:group=100"), "nf4 has no groups of 100 | they are a power of two from 32 to 4096");
  EXPECT_EQ(problem("gptq:bits=5"), "gptq has no 5 bits | it has 2, 3, 4 or 8");
  EXPECT_NE(problem("int4:group=-3"), "");
  EXPECT_NE(problem("int4:group"), "");
}

TEST(NamesModule, ByItsPathOrAPartOfIt) {
  EXPECT_TRUE(names_module("lm_head", "lm_head"));
  EXPECT_TRUE(names_module("mlp", "model.layers.0.mlp.up_proj"));
  EXPECT_TRUE(names_module("layers.*.mlp", "model.layers.10.mlp.up_proj"));
  EXPECT_TRUE(names_module("*_proj", "model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(names_module("ml", "model.layers.0.mlp"));
  EXPECT_FALSE(names_module("layers.1", "model.layers.11.mlp"));
}

// An embedding, a linear, a linear through a transposed view, a router of its own class, a stack of experts
// and a head onto the vocabulary.
struct Small {
  Graph graph;
  ValueId linear, viewed, view, router, experts, head, embedding;
};

Small small(bool tie = false) {
  GraphBuilder b;
  Small made;
  const auto ids = b.input({{4}, DType::kInt64}, "ids");
  Tensor table, x;
  {
    const auto call = b.call("embed", "Embedding");
    table = b.parameter("weight", {{1000, 64}, DType::kBFloat16});
    x = b.op("aten::embedding", {{"weight", table}, {"indices", ids}}, {{{4, 64}, DType::kBFloat16}});
  }
  {
    const auto call = b.call("up", "Linear");
    const auto weight = b.parameter("weight", {{128, 64}, DType::kBFloat16});
    made.linear = weight.id;
    x = b.op("aten::linear", {{"input", x}, {"weight", weight}}, {{{4, 128}, DType::kBFloat16}});
  }
  {
    const auto call = b.call("down", "Linear");
    const auto weight = b.parameter("weight", {{64, 128}, DType::kBFloat16});
    TensorSpec turned({128, 64}, DType::kBFloat16);
    turned.strides = ints{1, 128}, turned.alias = weight;
    const auto view = b.op("aten::t", {{"self", weight}}, {turned});
    made.viewed = weight.id, made.view = view.id;
    x = b.op("aten::mm", {{"self", x}, {"mat2", view}}, {{{4, 64}, DType::kBFloat16}});
  }
  {
    const auto call = b.call("gate", "TopKRouter");
    const auto weight = b.parameter("weight", {{8, 64}, DType::kBFloat16});
    made.router = weight.id;
    b.op("aten::linear", {{"input", x}, {"weight", weight}}, {{{4, 8}, DType::kBFloat16}});
  }
  {
    const auto call = b.call("experts", "Experts");
    const auto weight = b.parameter("down_proj", {{8, 64, 64}, DType::kBFloat16});
    made.experts = weight.id;
    x = b.op("aten::_grouped_mm", {{"self", x}, {"mat2", weight}}, {{{4, 64}, DType::kBFloat16}});
  }
  {
    const auto call = b.call("lm_head", "Linear");
    if (tie) b.tie("weight", table);
    const auto weight = tie ? table : b.parameter("weight", {{1000, 64}, DType::kBFloat16});
    made.head = weight.id;
    x = b.op("aten::linear", {{"input", x}, {"weight", weight}}, {{{4, 1000}, DType::kBFloat16}});
  }
  made.embedding = table.id;
  made.graph = b.finish({x});
  return made;
}

Quantisation asked(std::string_view scheme, std::vector<std::string> only = {}) {
  return {.choice = choice(scheme), .only = std::move(only)};
}

TEST(Quantise, StoresLinearsAndExperts) {
  auto [graph, linear, viewed, view, router, experts, head, embedding] = small();
  const Count before = memory_timeline(graph).weights;
  quantise(graph, asked("int8"));
  graph.verify();
  const auto held = [&](ValueId id) { return bytes_of(graph, graph.values[id]).value(); };
  EXPECT_EQ(held(linear), 128U * 64 + 128 * 4);
  EXPECT_EQ(held(viewed), 64U * 128 + 64 * 4);
  EXPECT_EQ(held(view), held(viewed));
  EXPECT_EQ(held(experts), 8U * (64 * 64 + 64 * 4));
  EXPECT_EQ(held(router), 8U * 64 * 2) << "a class that libraries do not know";
  EXPECT_EQ(held(head), 1000U * 64 * 2) << "the vocabulary's scores";
  EXPECT_EQ(held(embedding), 1000U * 64 * 2);
  EXPECT_EQ(memory_timeline(graph).weights, before - Count{2 * (128 * 64 * 2 + 8 * 64 * 64)} +
                                                Count{2 * 128 * 64 + 8 * 64 * 64} +
                                                Count{(128 + 64 + 8 * 64) * 4});
  ASSERT_EQ(graph.diagnostics.size(), 1U);
  EXPECT_EQ(
      graph.diagnostics[0].message,
      "priced as if quantised: 3 weights are stored as int8 (8 bits, and a float32 scale for each output "
      "channel), 52.0KB in place of 98.3KB. Assumed: each product dequantises what it reads (1 flop an "
      "element), keeps no copy of it and computes in bfloat16. As before: lm_head (the head onto the "
      "vocabulary), 1 other weight of a product");
}

TEST(Quantise, ReadsTheStoredBytesAndDequantises) {
  auto made = small();
  const auto plain = estimate(made.graph, Convention::kOpscope);
  quantise(made.graph, asked("int8"));
  const auto costs = estimate(made.graph, Convention::kOpscope);
  const auto torch = estimate(made.graph, Convention::kTorch);
  const auto& ops = made.graph.ops;
  for (OpId op = 0; op < ops.size(); ++op) {
    const auto name = made.graph.op_name(ops[op]);
    const auto first = [&](std::string_view wanted) {
      for (OpId at = 0; at < op; ++at)
        if (made.graph.op_name(ops[at]) == wanted) return false;
      return name == wanted;
    };
    if (first("aten::linear")) {
      EXPECT_EQ(costs[op].traffic.weight_bytes, Count{128 * 64 + 128 * 4});
      EXPECT_EQ(costs[op].work.other_flops, Count{128 * 64});
      EXPECT_EQ(costs[op].confidence, Confidence::kEstimated);
      EXPECT_EQ(torch[op].flops, Count{2 * 4 * 128 * 64})
          << "other tools' conventions know no dequantisation";
    }
    if (name == "aten::mm") {
      EXPECT_EQ(costs[op].work.other_flops, Count{64 * 128});
    }
    if (name == "aten::t" || name == "aten::embedding") {
      EXPECT_EQ(costs[op].work, plain[op].work);
      EXPECT_EQ(costs[op].confidence, Confidence::kExact);
    }
    EXPECT_EQ(costs[op].work.macs, plain[op].work.macs);
  }
}

TEST(Quantise, OnlyWhatIsNamed) {
  auto made = small();
  quantise(made.graph, asked("int8", {"gate", "lm_head"}));
  const auto is_stored = [&](ValueId id) { return made.graph.values[id].stored != kNone; };
  EXPECT_TRUE(is_stored(made.router) && is_stored(made.head));
  EXPECT_FALSE(is_stored(made.linear) || is_stored(made.experts));
}

std::string problem(Graph graph, const Quantisation& what) {
  try {
    quantise(graph, what);
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.where() + " | " + error.hint();
  }
  return "";
}

TEST(Quantise, RefusesWhatCannotBe) {
  const Graph graph = small().graph;
  EXPECT_EQ(
      problem(graph, asked("int4")),
      "groups of 128 do not divide the 64 input features of up | --quantize | --quantize int4:group=64, or "
      "name others with --quantize-only");
  EXPECT_EQ(problem(graph, asked("int8", {"upp"})),
            "no linear is called 'upp' | --quantize-only | did you mean up?");
  const Graph tied = small(true).graph;
  EXPECT_EQ(problem(tied, asked("int8", {"lm_head"})),
            "its linears share their weights with an embedding, which is read row by row | --quantize-only | "
            "such a weight is not quantised");
  GraphBuilder b;
  const Graph none = b.finish({b.op("aten::relu", {{"self", b.input({4})}}, {{4}})});
  EXPECT_EQ(problem(none, asked("int8")),
            "there is no linear to quantise | --quantize | linears are products of float weights with 2 or 3 "
            "dimensions");
}

TEST(Quantise, SaysThatProductsTakeCasts) {
  GraphBuilder b;
  const auto weight = b.parameter("weight", {128, 64});
  const auto cast = b.op("aten::to", {{"self", weight}}, {{{128, 64}, DType::kBFloat16}});
  const auto x = b.input({{4, 64}, DType::kBFloat16});
  const auto y = b.op("aten::linear", {{"input", x}, {"weight", cast}}, {{{4, 128}, DType::kBFloat16}});
  EXPECT_EQ(problem(b.finish({y}), asked("int8")),
            "its linears multiply by casts of their weights, as under autocast | --quantize | have the whole "
            "model in that dtype: --dtype bfloat16, dtype='bfloat16'");
}

TEST(Quantise, LeavesATiedHeadAndSaysSo) {
  auto made = small(true);
  quantise(made.graph, asked("int8"));
  EXPECT_EQ(made.graph.values[made.head].stored, kNone);
  EXPECT_NE(made.graph.diagnostics[0].message.find("As before: lm_head (tied to an embedding)"),
            std::string::npos);
}

TEST(Quantise, TrainsOnlyWhatIsNotQuantised) {
  auto made = small();
  made.graph.phases = {{"forward", 0}};
  EXPECT_EQ(problem(made.graph, asked("int8")),
            "quantised weights are not trained | --quantize | freeze them (requires_grad_(False)) and train "
            "adapters, or leave out training");
  made.graph.values[made.linear].trainable = false;
  quantise(made.graph, asked("int8"));
  EXPECT_NE(made.graph.values[made.linear].stored, kNone);
  EXPECT_EQ(made.graph.values[made.viewed].stored, kNone);
}

TEST(Quantise, IsUndoneWhole) {
  auto made = small();
  const std::string before = write_json(made.graph);
  quantise(made.graph, asked("int8"));
  EXPECT_TRUE(is_quantised(made.graph));
  EXPECT_NE(write_json(made.graph).find("\"stored\":"), std::string::npos);
  quantise(made.graph, asked("nf4"));  // in place of the first
  EXPECT_EQ(made.graph.diagnostics.size(), 1U);
  undo_quantise(made.graph);
  EXPECT_FALSE(is_quantised(made.graph));
  EXPECT_EQ(write_json(made.graph), before);
}

}  // namespace
}  // namespace opscope
