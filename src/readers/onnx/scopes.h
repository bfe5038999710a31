// Where in the model a node ran: from what PyTorch's exporter notes beside it, else from its name.
#pragma once

#include <string>
#include <vector>

#include "readers/capture/graph_assembler.h"
#include "readers/onnx/model.h"

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

}  // namespace opscope
