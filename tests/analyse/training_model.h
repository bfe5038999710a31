// A training step small enough to work out by hand. A value of shape {n} is n bytes.
#pragma once

#include <algorithm>

#include "graph/builder.h"

namespace opscope::test {

// Two blocks of two convolutions each, 1000 bytes a result, which autograd keeps for the backward pass; then
// a loss, a gradient of 10 bytes for each result, and a step that reads the weight's gradient and writes its
// state.
inline Graph training_step() {
  const auto bytes = [](std::int64_t n) { return TensorSpec(ints{n}, DType::kUInt8); };
  GraphBuilder b("net", "Net");
  const auto x = b.input(bytes(1), "x");
  const auto weight = b.parameter("weight", bytes(50));
  tensors made;
  Tensor y = x;
  for (const char* name : {"blocks.0", "blocks.1"}) {
    const auto block = b.call(name, "Block");
    for (const char* layer : {"a", "b"}) {
      const auto call = b.call(layer, "Conv2d");
      y = b.op("aten::conv2d", {{"input", y}, {"weight", weight}}, {bytes(1000)});
      made.push_back(y);
    }
  }
  const auto loss = b.op("aten::sum", {{"self", y}}, {bytes(1)});
  Tensor gradient = loss;
  for (std::size_t i = made.size(); i-- > 0;)
    gradient = b.op("aten::mul.Tensor", {{"self", gradient}, {"other", made[i]}}, {bytes(10)});
  const auto state = b.op("aten::mul.Tensor", {{"self", gradient}, {"other", 2}}, {bytes(50)});
  auto graph = b.finish({loss});
  graph.values[gradient.id].kind = ValueKind::kGradient;
  graph.values[state.id].kind = ValueKind::kOptimizerState;
  graph.phases = {{"forward", 0}, {"backward", 5}, {"optimizer", 9}};
  graph.ops[1].workspace = 300;
  graph.lifetimes.assign(graph.storages.size(), {});
  const auto hold = [&](Tensor value, OpId from, OpId to) {
    graph.lifetimes[graph.values[value.id].storage] = {from, to};
  };
  for (OpId i = 0; i < 4; ++i) hold(made[i], i, 8 - i);
  hold(loss, 4, kNone);
  for (OpId op = 5; op < 8; ++op) hold({graph.outputs_of(graph.ops[op])[0]}, op, op + 1);
  hold(gradient, 8, kNone);
  hold(state, 9, kNone);
  graph.capture.source = "net.py";
  graph.verify();
  return graph;
}

}  // namespace opscope::test
