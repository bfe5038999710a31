// Where in the model a node ran: from what PyTorch's exporter notes beside it, else from its name.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "readers/onnx/model.h"

namespace opscope {

class OnnxScopes {
 public:
  explicit OnnxScopes(GraphAssembler& out) : out_(out) {}
  // Ops from here on run where this node does.
  void enter(const OnnxNode& node) {
    if (!enter_noted(node)) enter_named(node.name);
  }

 private:
  // "['', 'layer1', 'layer1.0']" -> its strings. Python's repr of a list of plain names.
  static std::vector<std::string_view> listed(std::string_view text) {
    std::vector<std::string_view> items;
    for (;;) {
      const auto open = text.find_first_of("'\"");
      if (open == std::string_view::npos) return items;
      const auto close = text.find(text[open], open + 1);
      if (close == std::string_view::npos) return items;
      items.push_back(text.substr(open + 1, close - open - 1));
      text.remove_prefix(close + 1);
    }
  }

  // Paths from the root down, and the node's own name at the end; classes beside them.
  bool enter_noted(const OnnxNode& node) {
    if (node.name_scopes.empty()) return false;
    const auto paths = listed(node.name_scopes), types = listed(node.class_hierarchy);
    stack_.clear();
    for (std::size_t i = 0; i + 1 < paths.size(); ++i) {
      const auto type = i + 1 < types.size() ? types[i] : std::string_view{};
      if (paths[i].empty())
        out_.module("", type);
      else
        stack_.push_back({paths[i], paths[i], type});
    }
    if (node.rewritten_by.find("FuseBatchNorm") != std::string_view::npos) move_to_weight(node);
    out_.enter(stack_);
    return true;
  }

  // The exporter notes a convolution that a batch norm was folded into as the norm's: its weight knows
  // better.
  void move_to_weight(const OnnxNode& node) {
    if (node.inputs.size() < 2 || stack_.empty()) return;
    const auto weight = node.inputs[1];
    const auto dot = weight.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return;
    const auto path = weight.substr(0, dot);
    const auto* kernel = node.attribute("kernel_shape");
    const auto axes = kernel != nullptr ? kernel->integers.size() : 0;
    constexpr std::string_view kTypes[] = {"", "Conv1d", "Conv2d", "Conv3d"};
    stack_.back() = {path, path, node.op_type == "Conv" && axes < 4 ? kTypes[axes] : std::string_view{}};
  }

  // "/layer1/layer1.0/conv1/Conv": a container's children carry its name.
  void enter_named(std::string_view name) {
    paths_.clear();
    std::string path;
    std::string_view last;
    if (!name.starts_with('/')) name = {};
    while (!name.empty()) {
      name.remove_prefix(1);
      const auto slash = name.find('/');
      if (slash == std::string_view::npos) break;  // the node's own
      auto part = name.substr(0, slash);
      name.remove_prefix(slash);
      auto own = part;
      if (!last.empty() && part.size() > last.size() + 1 && part.starts_with(last) &&
          part[last.size()] == '.')
        own.remove_prefix(last.size() + 1);
      if (own.empty()) continue;
      if (!path.empty()) path += '.';
      path += own;
      last = part;
      paths_.push_back(path);
      if (paths_.size() > 64) break;
    }
    stack_.clear();
    for (const auto& one : paths_) stack_.push_back({one, one, {}});
    out_.enter(stack_);
  }

  GraphAssembler& out_;
  std::vector<std::string> paths_;
  std::vector<ModuleCall> stack_;
};

}  // namespace opscope
