// Mixtures of experts: how many are reached, what is read of their weights, how many parameters are active.
#include "cost/experts/experts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "cost/cost.h"
#include "graph/builder.h"

namespace opscope {
namespace {

constexpr std::int64_t kHidden = 16, kInner = 32;
constexpr std::uint64_t kExpertBytes = kHidden * kInner * 4;

TEST(Routing, IsReadAsItIsWritten) {
  for (const std::string each : {"balanced", "worst", "1", "64"})
    EXPECT_EQ(text(routing_from_text(each, "--routing")), each);
  for (const std::string each : {"", "0", "-1", "2.5", "3x", "balance", "99999999999999999999"})
    EXPECT_THROW(routing_from_text(each, "--routing"), Error) << each;
}

TEST(Routing, IsTheExpectationOrABoundOrWhatIsSaid) {
  const Choice choice{8, 2, 4};
  EXPECT_DOUBLE_EQ(choice.reached({}), 8 * (1 - std::pow(0.75, 4)));
  EXPECT_EQ(choice.reached({.way = Routing::Way::kWorst}), 8);
  EXPECT_EQ(choice.reached({.way = Routing::Way::kGiven, .experts = 5}), 5);
  EXPECT_EQ(choice.reached({.way = Routing::Way::kGiven, .experts = 1}), 2) << "a token reaches two";
  EXPECT_EQ(choice.reached({.way = Routing::Way::kGiven, .experts = 9}), 8) << "there are eight";
}

TEST(Routing, OfOneTokenIsCertain) {
  for (const Routing& routing : {Routing{}, Routing{.way = Routing::Way::kWorst},
                                 Routing{.way = Routing::Way::kGiven, .experts = 7}}) {
    EXPECT_EQ((Choice{8, 2, 1}.reached(routing)), 2);
    EXPECT_EQ((Choice{8, 8, 5}.reached(routing)), 8);
    EXPECT_EQ((Choice{8, 2, 0}.reached(routing)), 0);
  }
}

// A router that chooses 2 of 8, and what multiplies by the experts.
struct Mixture {
  explicit Mixture(std::int64_t count) : tokens(count) {}

  void route() {
    const auto x = b.input({tokens, kHidden});
    const auto gate = b.call("gate", "Router");
    const auto logits =
        b.op("aten::linear", {{"input", x}, {"weight", b.parameter("weight", {8, kHidden})}}, {{tokens, 8}});
    const NamedArgument arguments[] = {{"self", logits}, {"k", 2}, {"dim", -1}};
    const TensorSpec results[] = {{tokens, 2}, {{tokens, 2}, DType::kInt64}};
    b.op("aten::sort", {{"self", b.op_outputs("aten::topk", arguments, results)[1]}}, {{tokens, 2}});
  }
  Tensor weights() { return b.parameter("experts", {8, kHidden, kInner}); }
  OpCost last(const Routing& routing = {}) {
    const auto costs = estimate(b.graph(), Convention::kOpscope, Experts(b.graph(), routing));
    return costs.back();
  }

  std::int64_t tokens;
  GraphBuilder b;
};

std::uint64_t expected(std::int64_t tokens) {
  return static_cast<std::uint64_t>(
      std::llround(8 * kExpertBytes * (1 - std::pow(0.75, static_cast<double>(tokens)))));
}

void grouped(Mixture& model, std::string_view name = "aten::_grouped_mm") {
  const auto block = model.b.call("mlp", "Moe");
  model.route();
  const bool is_torchs = name.starts_with("aten");
  const auto rows = model.b.input({model.tokens * 2, kHidden});
  model.b.op(name, {{is_torchs ? "self" : "input", rows}, {is_torchs ? "mat2" : "weight", model.weights()}},
             {{model.tokens * 2, kInner}});
}

TEST(Experts, GroupedProductsReadThoseThatAreReached) {
  for (const std::string name : {"aten::_grouped_mm", "transformers::grouped_mm_fallback"}) {
    for (const std::int64_t tokens : {1, 2, 5, 64}) {
      Mixture model(tokens);
      grouped(model, name);
      const OpCost cost = model.last();
      const Count rows = tokens * 2;
      EXPECT_EQ(cost.traffic.weight_bytes, Count{tokens == 1 ? 2 * kExpertBytes : expected(tokens)});
      EXPECT_EQ(cost.traffic.input_bytes, rows * Count{kHidden * 4});
      EXPECT_EQ(cost.traffic.output_bytes, rows * Count{kInner * 4});
      EXPECT_EQ(cost.work.macs, rows * Count{kHidden * kInner});
      EXPECT_EQ(cost.confidence, tokens == 1 ? Confidence::kExact : Confidence::kEstimated);
    }
  }
}

TEST(Experts, TheWorstIsABoundAndANumberIsTheUsers) {
  Mixture model(3);
  grouped(model);
  const OpCost worst = model.last({.way = Routing::Way::kWorst});
  EXPECT_EQ(worst.traffic.weight_bytes, Count{6 * kExpertBytes});
  EXPECT_EQ(worst.confidence, Confidence::kUpperBound);
  const OpCost given = model.last({.way = Routing::Way::kGiven, .experts = 3});
  EXPECT_EQ(given.traffic.weight_bytes, Count{3 * kExpertBytes});
  EXPECT_EQ(given.confidence, Confidence::kEstimated);
}

TEST(Experts, WithoutARouterEachRowIsADrawOfItsOwn) {
  GraphBuilder b;
  const auto weights = b.parameter("experts", {4, kHidden, kInner});
  b.op("aten::_grouped_mm", {{"self", b.input({3, kHidden})}, {"mat2", weights}}, {{3, kInner}});
  const Experts experts(b.graph());
  EXPECT_EQ(estimate(b.graph(), Convention::kOpscope)[0].traffic.weight_bytes,
            Count{static_cast<std::uint64_t>(std::llround(4 * kExpertBytes * (1 - std::pow(0.75, 3))))});
  EXPECT_EQ(experts.facts().layers.size(), 1u);
  EXPECT_FALSE(experts.facts().active_parameters) << "how many a token chooses is not told";
}

TEST(Experts, GathersReadThoseThatAreReachedAndWriteACopyForEachRow) {
  Mixture model(6);
  const auto block = model.b.call("mlp", "Moe");
  model.route();
  model.b.op("aten::index",
             {{"self", model.weights()}, {"indices", tensors{model.b.input({{12}, DType::kInt64})}}},
             {{12, kHidden, kInner}});
  const OpCost cost = model.last();
  EXPECT_EQ(cost.traffic.weight_bytes, Count{expected(6)});
  EXPECT_EQ(cost.traffic.output_bytes, Count{12 * kExpertBytes});
}

TEST(Experts, OneBatchedProductReadsAllOfThem) {
  Mixture model(1);
  const auto block = model.b.call("mlp", "Moe");
  model.route();
  model.b.op("aten::bmm", {{"self", model.b.input({8, 1, kHidden})}, {"mat2", model.weights()}},
             {{8, 1, kInner}});
  EXPECT_EQ(model.last().traffic.weight_bytes, Count{8 * kExpertBytes});
  const ExpertFacts facts = Experts(model.b.graph()).facts();
  ASSERT_EQ(facts.layers.size(), 1u);
  EXPECT_TRUE(facts.layers[0].is_dense);
  EXPECT_EQ(facts.active_parameters, Count{8 * kHidden + 2 * kHidden * kInner});
}

// The capture of a loop goes over as many experts as the tokens can reach.
TEST(Experts, LoopsReadThoseThatAreReached) {
  for (const std::int64_t tokens : {1, 3, 4}) {
    Mixture model(tokens);
    const std::int64_t hit = std::min<std::int64_t>(8, tokens * 2);
    {
      const auto block = model.b.call("mlp", "Moe");
      model.route();
      const auto all = model.weights();
      for (std::int64_t i = 0; i < hit; ++i) {
        const auto one = model.b.op("aten::select", {{"self", all}, {"dim", 0}, {"index", i}},
                                    {TensorSpec{kHidden, kInner}.view_of(all)});
        model.b.graph().values[one.id].offset = i * kHidden * kInner;
        model.b.graph().values[one.id].kind = ValueKind::kParameter;
        model.b.op("aten::mm", {{"self", model.b.input({1, kHidden})}, {"mat2", one}}, {{1, kInner}});
      }
    }
    Count read{};
    for (const OpCost& cost : estimate(model.b.graph(), Convention::kOpscope))
      if (cost.rule != nullptr && cost.rule->name == "aten::mm") read += cost.traffic.weight_bytes;
    const double exact = 8.0 * kExpertBytes * (1 - std::pow(0.75, static_cast<double>(tokens)));
    EXPECT_NEAR(static_cast<double>(read), exact, static_cast<double>(hit)) << tokens;
  }
}

TEST(Experts, ModulesOfAListAreExpertsToo) {
  Mixture model(4);
  {
    const auto block = model.b.call("mlp", "Moe");
    model.route();
    for (int i = 0; i < 8; ++i) {
      const auto expert = model.b.call("experts." + std::to_string(i), "Expert");
      model.b.op(
          "aten::linear",
          {{"input", model.b.input({1, kHidden})}, {"weight", model.b.parameter("w", {kInner, kHidden})}},
          {{1, kInner}});
    }
  }
  const ExpertFacts facts = Experts(model.b.graph()).facts();
  ASSERT_EQ(facts.layers.size(), 1u);
  EXPECT_EQ(facts.layers[0].choice, (Choice{8, 2, 4}));
  EXPECT_EQ(facts.parameters, Count{8 * kHidden * kInner});
  EXPECT_EQ(facts.active_parameters, Count{8 * kHidden + 2 * kHidden * kInner});
  const OpCost cost = model.last();
  EXPECT_NEAR(static_cast<double>(cost.traffic.weight_bytes), kExpertBytes * (1 - std::pow(0.75, 4)), 1);
}

TEST(Experts, ExplainHasTheFormulaWithItsValues) {
  Mixture model(4);
  grouped(model);
  const auto op = static_cast<OpId>(model.b.graph().ops.size() - 1);
  const std::string text = explain(model.b.graph(), op);
  EXPECT_NE(text.find("8*(1 - (1 - 2/8)^4) = 5.469"), std::string::npos) << text;
  EXPECT_NE(text.find("2 to 8 possible"), std::string::npos) << text;
  EXPECT_EQ(explain(model.b.graph(), 0).find("experts"), std::string::npos);
}

TEST(Experts, AModelThatOnlyChoosesHasNone) {
  GraphBuilder b;
  const auto scores = b.input({4, 8});
  b.op("aten::topk", {{"self", scores}, {"k", 2}, {"dim", -1}}, {{4, 2}});
  b.op("aten::linear", {{"input", scores}, {"weight", b.parameter("weight", {8, 8})}}, {{4, 8}});
  EXPECT_TRUE(Experts(b.graph()).facts().empty());
  EXPECT_EQ(estimate(b.graph(), Convention::kOpscope)[1].traffic.weight_bytes, Count{256});
}

// What a mask selects of the assumed picks is an estimate, and all that has its size; what comes before is
// not.
TEST(Assumed, SizesThatRestOnPicksAreEstimates) {
  GraphBuilder b;
  const auto x = b.input({8, kHidden});
  const auto picked = b.op("aten::argmax", {{"self", x}, {"dim", -1}}, {{{8}, DType::kInt64}});
  const auto mask = b.op("aten::eq", {{"self", picked}, {"other", 0}}, {{{8}, DType::kBool}});
  const auto rows = b.op("aten::index", {{"self", x}, {"indices", tensors{mask}}}, {{1, kHidden}});
  b.op("aten::relu", {{"self", rows}}, {{1, kHidden}});
  b.op("aten::relu", {{"self", x}}, {{8, kHidden}});
  const auto words = [&] {
    std::vector<Confidence> found;
    for (const OpCost& cost : estimate(b.graph(), Convention::kOpscope)) found.push_back(cost.confidence);
    return found;
  };
  constexpr auto kExact = Confidence::kExact, kEstimated = Confidence::kEstimated;
  EXPECT_EQ(words(), std::vector(5, kExact)) << "nothing was assumed";
  b.graph().diagnostics.push_back({"assumption", "aten::argmax", "", "picks by value"});
  EXPECT_EQ(words(), (std::vector{kExact, kExact, kEstimated, kEstimated, kExact}));
  EXPECT_EQ(estimate_one(b.graph(), 3, Convention::kOpscope).confidence, kEstimated);
  b.op("aten::item", {{"self", picked}}, {});
  b.op("aten::relu", {{"self", x}}, {{8, kHidden}});
  EXPECT_EQ(words().back(), kEstimated) << "Python was handed a pick";
}

}  // namespace
}  // namespace opscope
