// Attention and squeeze-excite as models write them out.
#include <string>

#include "graph/builder.h"
#include "partition/check_partition.h"

namespace opscope::test {
namespace {

constexpr std::int64_t kHeads = 4, kTokens = 32, kSize = 16;
constexpr std::uint64_t kValueBytes = kHeads * kTokens * kSize * 4,
                        kScoreBytes = kHeads * kTokens * kTokens * 4;

class Attention {
 public:
  GraphBuilder b{"attention"};

  static TensorSpec values() { return {1, kHeads, kTokens, kSize}; }
  static TensorSpec scores() { return {1, kHeads, kTokens, kTokens}; }

  // From a layer, as models do.
  Tensor projected(const char* name) {
    const auto call = b.call(name, "Linear");
    const auto x = b.op("aten::linear",
                        {{"input", b.input({1, kTokens, kHeads * kSize})},
                         {"weight", b.parameter("weight", {kHeads * kSize, kHeads * kSize})}},
                        {{1, kTokens, kHeads * kSize}});
    const auto split = b.op("aten::view", {{"self", x}, {"size", ints{1, kTokens, kHeads, kSize}}},
                            {TensorSpec{1, kTokens, kHeads, kSize}.view_of(x)});
    return b.op("aten::transpose.int", {{"self", split}, {"dim0", 1}, {"dim1", 2}}, {values().view_of(x)});
  }
  Tensor turned(Tensor x) {
    return b.op("aten::transpose.int", {{"self", x}, {"dim0", 2}, {"dim1", 3}},
                {TensorSpec{1, kHeads, kSize, kTokens}.view_of(x)});
  }
  Tensor product(Tensor a, Tensor c, const TensorSpec& out) {
    return b.op("aten::matmul", {{"self", a}, {"other", c}}, {out});
  }
  Tensor scaled(Tensor x, const TensorSpec& spec) {
    return b.op("aten::mul.Scalar", {{"self", x}, {"other", 0.25}}, {spec});
  }
  Tensor added(Tensor x, const TensorSpec& mask) {
    return b.op("aten::add.Tensor", {{"self", x}, {"other", b.input(mask)}}, {scores()});
  }
  Tensor softmax(Tensor x) { return b.op("aten::softmax.int", {{"self", x}, {"dim", -1}}, {scores()}); }
  Tensor cast(Tensor x) {
    return b.op("aten::to.dtype", {{"self", x}, {"dtype", DType::kFloat32}}, {scores().view_of(x)});
  }

  const Subgraph* found(const tensors& outputs) {
    graph = b.finish(outputs);
    costs = estimate(graph, Convention::kOpscope);
    partition = make_partition(graph, costs);
    check_partition(graph, costs, partition);
    const auto at = std::ranges::find(partition.subgraphs, "attention", &Subgraph::type);
    return at == partition.subgraphs.end() ? nullptr : &*at;
  }
  Graph graph;
  std::vector<OpCost> costs;
  Partition partition;
};

// matmul, scale, mask, softmax, cast, matmul: eager attention of transformers.
TEST(Forms, EagerAttention) {
  Attention a;
  const auto q = a.projected("q"), k = a.projected("k"), v = a.projected("v");
  auto scores = a.scaled(a.product(q, a.turned(k), a.scores()), a.scores());
  scores = a.cast(a.softmax(a.added(scores, {1, 1, kTokens, kTokens})));
  const Subgraph* s = a.found({a.product(scores, v, a.values())});
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->category, Category::kAttention);
  EXPECT_EQ(a.partition.subgraphs.size(), 4u);  // three layers and this
  // Queries, keys, values and the mask; no scores.
  EXPECT_EQ(s->traffic.input_bytes, Count{3 * kValueBytes + kScoreBytes / kHeads});
  EXPECT_EQ(s->traffic.output_bytes, Count{kValueBytes});
}

// T5: no scale, a bias a head, softmax in place of the scores' type.
TEST(Forms, AttentionWithBias) {
  Attention a;
  const auto q = a.projected("q"), k = a.projected("k"), v = a.projected("v");
  const auto weights = a.softmax(a.added(a.product(q, a.turned(k), a.scores()), a.scores()));
  const auto dropped =
      a.b.op("aten::dropout", {{"input", weights}, {"p", 0.1}, {"train", true}}, {a.scores()});
  EXPECT_NE(a.found({a.product(dropped, v, a.values())}), nullptr);
}

// Swin: the query is scaled first, the mask is added on a view of the scores.
TEST(Forms, AttentionOfWindows) {
  Attention a;
  const auto q = a.scaled(a.projected("q"), a.values());
  const auto k = a.projected("k"), v = a.projected("v");
  auto scores = a.added(a.product(q, a.turned(k), a.scores()), {1, kHeads, kTokens, kTokens});
  const auto windows =
      a.b.op("aten::view", {{"self", scores}, {"size", ints{1, 1, kHeads, kTokens, kTokens}}},
             {TensorSpec{1, 1, kHeads, kTokens, kTokens}.view_of(scores)});
  const auto masked =
      a.b.op("aten::add.Tensor", {{"self", windows}, {"other", a.b.input({1, 1, 1, kTokens, kTokens})}},
             {{1, 1, kHeads, kTokens, kTokens}});
  scores = a.b.op("aten::view", {{"self", masked}, {"size", ints{1, kHeads, kTokens, kTokens}}},
                  {a.scores().view_of(masked)});
  const Subgraph* s = a.found({a.product(a.softmax(scores), v, a.values())});
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->traffic.output_bytes, Count{kValueBytes});
  EXPECT_EQ(a.partition.subgraphs.size(), 4u);  // the scale went with it
}

TEST(Forms, WeightsThatAreReturnedAreWritten) {
  Attention a;
  const auto q = a.projected("q"), k = a.projected("k"), v = a.projected("v");
  const auto weights = a.softmax(a.product(q, a.turned(k), a.scores()));
  const Subgraph* s = a.found({a.product(weights, v, a.values()), weights});
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->traffic.output_bytes, Count{kValueBytes + kScoreBytes});
}

// A choice of experts is a softmax between products, too; the first is a layer.
TEST(Forms, RoutersAreNoAttention) {
  Attention a;
  const auto call = a.b.call("router", "Linear");
  const auto logits = a.b.op(
      "aten::linear", {{"input", a.b.input({8, 16})}, {"weight", a.b.parameter("w", {4, 16})}}, {{8, 4}});
  const auto chosen = a.b.op("aten::softmax.int", {{"self", logits}, {"dim", -1}}, {{8, 4}});
  EXPECT_EQ(a.found({a.b.op("aten::mm", {{"self", chosen}, {"mat2", a.b.input({4, 16})}}, {{8, 16}})}),
            nullptr);
}

TEST(Forms, SqueezeExcite) {
  GraphBuilder b("gate");
  const auto conv = [&](const char* name, Tensor x, std::int64_t in, std::int64_t out, std::int64_t size) {
    return b.op("aten::conv2d",
                {{"input", x},
                 {"weight", b.parameter(name, {out, in, 1, 1})},
                 {"bias", nullptr},
                 {"stride", ints{1, 1}},
                 {"padding", ints{0, 0}},
                 {"dilation", ints{1, 1}},
                 {"groups", 1}},
                {{2, out, size, size}});
  };
  const auto x = conv("before", b.input({2, 16, 14, 14}), 16, 32, 14);
  const auto mean =
      b.op("aten::adaptive_avg_pool2d", {{"self", x}, {"output_size", ints{1, 1}}}, {{2, 32, 1, 1}});
  const auto small = b.op("aten::relu", {{"self", conv("down", mean, 32, 8, 1)}}, {{2, 8, 1, 1}});
  const auto gate = b.op("aten::sigmoid", {{"self", conv("up", small, 8, 32, 1)}}, {{2, 32, 1, 1}});
  const auto y = b.op("aten::mul.Tensor", {{"self", x}, {"other", gate}}, {{2, 32, 14, 14}});
  const Graph graph = b.finish({conv("after", y, 32, 16, 14)});
  const auto costs = estimate(graph, Convention::kOpscope);
  const Partition partition = make_partition(graph, costs);
  check_partition(graph, costs, partition);
  ASSERT_EQ(partition.subgraphs.size(), 3u);
  EXPECT_EQ(partition.subgraphs[1].type, "squeeze_excite");
  // Its argument twice: the gate waits for the mean of all of it.
  EXPECT_EQ(partition.subgraphs[1].traffic.input_bytes, Count{2 * 2 * 32 * 14 * 14 * 4});
  EXPECT_EQ(partition.subgraphs[1].traffic.output_bytes, Count{2 * 32 * 14 * 14 * 4});
}

}  // namespace
}  // namespace opscope::test
