// What is said of a whole ONNX file: what its exporter did with the model's weights.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "readers/onnx/call.h"

namespace opscope {

// PyTorch's new exporter keeps equal tensors once: a model whose biases are all zero has few parameters then.
inline void note_shared_weights(OnnxState& state) {
  const auto shared = std::ranges::count_if(state.infos, [&](const OnnxInfo& one) {
    return one.is_shared && one.id != kNone && state.out.graph.values[one.id].kind == ValueKind::kParameter;
  });
  if (shared == 0) return;
  state.out.note(
      "assumption", "",
      fmt::format("{} of the file's weights {} read by more than one module: tied, or equal and kept "
                  "once by the exporter; parameters are the file's own",
                  shared, shared == 1 ? "is" : "are"));
}

// PyTorch's exporters fold batch norms into the convolutions before them: the new one says so beside each
// node
// (`noted` times), the old one renames the weights.
inline void note_folded_norms(OnnxState& state, const OnnxGraph& graph, std::size_t noted) {
  std::size_t renamed = 0;
  for (const auto& node : graph.nodes) {
    const bool is_conv = node.op_type == "Conv" && node.inputs.size() > 1;
    renamed += is_conv && node.inputs[1].starts_with("onnx::Conv_") ? 1 : 0;
  }
  const auto folded = std::max(noted, renamed);
  if (folded == 0) return;
  state.out.note("assumption", "",
                 folded == 1
                     ? "the exporter folded 1 batch norm into a convolution: its parameters and its work "
                       "are not in the file"
                     : fmt::format("the exporter folded {} batch norms into convolutions: their "
                                   "parameters and their work are not in the file",
                                   folded));
}

}  // namespace opscope
