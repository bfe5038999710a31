// Bytes of groups that change memory in place, in parts, or read it through views; each as the sum it should
// be.
#include "graph/builder.h"
#include "partition/check_partition.h"

namespace opscope::test {
namespace {

constexpr std::uint64_t kRow = 1000 * 4;

struct Made {
  explicit Made(Graph made)
      : graph(std::move(made)),
        costs(estimate(graph, Convention::kOpscope)),
        partition(make_partition(graph, costs)) {
    check_partition(graph, costs, partition);
  }
  SubgraphId of(OpId op) const { return partition.of_op[op]; }
  Traffic traffic(OpId op) const { return partition.subgraphs[of(op)].traffic; }
  Graph graph;
  std::vector<OpCost> costs;
  Partition partition;
};

// Vectors of 1000, and two of them side by side in one memory.
struct Rows {
  GraphBuilder b{"rows"};
  Tensor input() { return b.input({1000}); }
  Tensor empty() {
    return b.op("aten::empty.memory_format", {{"size", ints{2, 1000}}}, {TensorSpec{2, 1000}});
  }
  Tensor row(Tensor of, std::int64_t index) {
    TensorSpec spec{1000};
    spec.offset = index * 1000;
    return b.op("aten::select.int", {{"self", of}, {"dim", 0}, {"index", index}},
                {std::move(spec).view_of(of)});
  }
  Tensor copy(Tensor to, Tensor from, std::int64_t index) {
    TensorSpec spec{1000};
    spec.offset = index * 1000;
    return b.op("aten::copy_", {{"self", to}, {"src", from}}, {std::move(spec).view_of(to)});
  }
  Tensor twice(Tensor x) { return b.op("aten::mul.Tensor", {{"self", x}, {"other", 2.0}}, {{1000}}); }
};

TEST(InPlace, PartsOfOneMemoryAreAllWritten) {
  Rows r;
  const auto y = r.empty();            // 0
  const auto a = r.twice(r.input());   // 1
  r.copy(r.row(y, 0), a, 0);           // 2, 3
  r.copy(r.row(y, 1), r.twice(a), 1);  // 4, 5, 6
  const Made made(r.b.finish({y}));
  ASSERT_EQ(made.of(3), made.of(6));
  EXPECT_EQ(made.traffic(3).input_bytes, Count{kRow});
  EXPECT_EQ(made.traffic(3).output_bytes, Count{2 * kRow});
}

TEST(InPlace, AnotherPartIsNoResultOfTheLastWriter) {
  Rows r;
  const auto y = r.empty();                             // 0
  r.copy(r.row(y, 0), r.input(), 0);                    // 1, 2
  r.copy(r.row(y, 1), r.twice(r.input()), 1);           // 3, 4, 5
  const Made made(r.b.finish({r.twice(r.row(y, 0))}));  // 6, 7
  EXPECT_NE(made.of(7), made.of(5));
  EXPECT_EQ(made.traffic(7).input_bytes, Count{kRow});
  EXPECT_EQ(made.partition.fused_bytes, Count{6 * kRow});  // both parts, and its own: read and written
}

TEST(InPlace, WhatACopyReplacesIsNotWhatItReads) {
  Rows r;
  const auto y = r.twice(r.input());
  const auto z = r.input();
  const auto changed = r.copy(y, z, 0);
  const Made made(r.b.finish({changed}));
  ASSERT_EQ(made.of(0), made.of(1));
  EXPECT_EQ(made.traffic(0).input_bytes, Count{2 * kRow});
  EXPECT_EQ(made.traffic(0).output_bytes, Count{kRow});
}

TEST(InPlace, AViewOfWhatWasChangedRidesWithTheChange) {
  Rows r;
  const auto x = r.input();
  r.b.op("aten::relu_", {{"self", x}}, {TensorSpec{1000}.view_of(x)});  // 0
  const auto view =
      r.b.op("aten::view", {{"self", x}, {"size", ints{1000}}}, {TensorSpec{1000}.view_of(x)});  // 1
  const Made made(r.b.finish({r.twice(view)}));                                                  // 2
  ASSERT_EQ(made.partition.subgraphs.size(), 1u);
  EXPECT_EQ(made.of(1), 0u);
  EXPECT_EQ(made.traffic(0).input_bytes, Count{kRow});
  EXPECT_EQ(made.traffic(0).output_bytes, Count{2 * kRow});  // the input is changed for good
}

}  // namespace
}  // namespace opscope::test
