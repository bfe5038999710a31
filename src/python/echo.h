#pragma once

#include <torch/csrc/utils/pybind.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "python/session.h"

namespace opscope::python {

// opscope._native.Echo: the same forward again with every op returning its earlier result. For bench/ only.
void bind_echo(pybind11::module_& m);

// One run of a tracer's graph, node by node, inside a capture: what is recorded meanwhile belongs to the
// node, in the module calls that the tracer noted for it.
class NodeRun {
 public:
  // Counts as a call of the part; its nodes run below the module call that is running now.
  NodeRun(Session& session, PartId part);
  ~NodeRun() { leave_scope(); }
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  // `calls` are (module, key) pairs, outermost first: the same key below the same call is the same call
  // again.
  void enter(NodeId node, const std::vector<std::pair<py::object, std::string>>& calls);
  // The tensors that the node gave; kept of its first run.
  void leave(const std::vector<at::Tensor>& outputs);
  // After a node that failed.
  void leave_scope();

 private:
  engine::Recording& recording() { return session_.recording(); }

  Session& session_;
  ScopeId base_;
  NodeId outer_;  // of the graph that this one runs inside, if any
  NodeId node_ = kNone;
  std::map<std::pair<ScopeId, std::string>, ScopeId> scopes_;
};

void bind_node_runs(py::module_& m);

}  // namespace opscope::python
