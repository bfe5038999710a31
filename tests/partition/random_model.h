// Random graphs of ops that fuse in every way: pointwise, in place, rows, products, views, concatenations,
// unknown ones; small enough in kinds that most neighbours match.
#pragma once

#include "graph/random_graph.h"

namespace opscope::test {

class RandomModel {
 public:
  explicit RandomModel(std::uint64_t seed) : random_(seed), b_("random model", "Root") {}

  Graph make(std::size_t op_count) {
    live_.push_back({b_.input({kRows, kColumns}), kColumns});
    live_.push_back({b_.input({kRows, kColumns}), kColumns});
    while (b_.graph().ops.size() < op_count) {
      const auto call = b_.call(random_.chance(2) ? "block" : "other", "Block");
      for (auto i = 1 + random_.below(6); i-- > 0;) step();
    }
    tensors outputs;
    for (auto i = 1 + random_.below(3); i-- > 0;) outputs.push_back(any().tensor);
    return b_.finish(outputs);
  }

 private:
  static constexpr std::int64_t kRows = 8, kColumns = 16;
  struct Live {
    Tensor tensor;
    std::int64_t columns;  // of kRows; 1: one number a row
  };

  // Late ones more often, as in real models, and now and then one from far back.
  Live any() {
    const auto back = random_.chance(6) ? random_.below(live_.size())
                                        : random_.below(std::min<std::size_t>(live_.size(), 4));
    return live_[live_.size() - 1 - back];
  }
  void keep(Tensor tensor, std::int64_t columns) { live_.push_back({tensor, columns}); }

  void step() {
    const Live x = any(), y = any();
    const std::int64_t wide = std::max(x.columns, y.columns);
    switch (random_.below(12)) {
      case 0:
        return keep(b_.op("aten::relu", {{"self", x.tensor}}, {{kRows, x.columns}}), x.columns);
      case 1:
        return keep(
            b_.op("aten::relu_", {{"self", x.tensor}}, {TensorSpec{kRows, x.columns}.view_of(x.tensor)}),
            x.columns);
      case 2:
      case 3:
        return keep(b_.op("aten::add.Tensor", {{"self", x.tensor}, {"other", y.tensor}}, {{kRows, wide}}),
                    wide);
      case 4:
        return keep(b_.op("aten::sum.dim_IntList", {{"self", x.tensor}, {"dim", ints{-1}}, {"keepdim", true}},
                          {{kRows, 1}}),
                    1);
      case 5:
        return keep(b_.op("aten::softmax.int", {{"self", x.tensor}, {"dim", -1}}, {{kRows, x.columns}}),
                    x.columns);
      case 6:
        return keep(
            b_.op("aten::mm", {{"self", x.tensor}, {"mat2", b_.parameter("w", {x.columns, kColumns})}},
                  {{kRows, kColumns}}),
            kColumns);
      case 7:
        return keep(b_.op("aten::view", {{"self", x.tensor}, {"size", ints{kRows, x.columns}}},
                          {TensorSpec{kRows, x.columns}.view_of(x.tensor)}),
                    x.columns);
      case 8:
        return keep(b_.op("aten::cat", {{"tensors", tensors{x.tensor, y.tensor}}, {"dim", 1}},
                          {{kRows, x.columns + y.columns}}),
                    x.columns + y.columns);
      case 9:
        return keep(b_.op("mylib::odd", {{"self", x.tensor}}, {{kRows, kColumns}}), kColumns);
      case 10:  // a slice that is written to
        return keep(b_.op("aten::copy_", {{"self", x.tensor}, {"src", y.tensor}},
                          {TensorSpec{kRows, x.columns}.view_of(x.tensor)}),
                    x.columns);
      default:
        return keep(
            b_.op("aten::mul.Tensor", {{"self", x.tensor}, {"other", x.tensor}}, {{kRows, x.columns}}),
            x.columns);
    }
  }

  Random random_;
  GraphBuilder b_;
  std::vector<Live> live_;
};

}  // namespace opscope::test
