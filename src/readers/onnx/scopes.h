// Where in the model a node ran: from what PyTorch's exporter notes beside it, else from its name.
#pragma once

#include <string>
#include <vector>

#include "readers/capture/graph_assembler.h"
#include "readers/onnx/call.h"

namespace opscope {

class OnnxScopes {
 public:
  explicit OnnxScopes(GraphAssembler& out) : out_(out) {}
  // Ops from here on run where this node does.
  void enter(const OnnxNode& node);

 private:
  bool enter_noted(const OnnxNode& node);
  void enter_named(std::string_view name);
  void move_to_weight(const OnnxNode& node);

  GraphAssembler& out_;
  std::vector<std::string> paths_;
  std::vector<ModuleCall> stack_;
};

// The types of the node's outputs as an inference that lives elsewhere (see OnnxInference) has them, given
// the node as a model of its own; empty where it has no answer.
std::vector<OnnxType> infer_single(const OnnxCall& call, std::string (*infer)(const std::string& model));

}  // namespace opscope
