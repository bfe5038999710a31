// Runs inside a capture: of a tracer's graph, node by node, and the echo of a forward.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "python/bindings.h"
#include "python/session.h"
#include "torch/engine/guard.h"

namespace opscope::python {
namespace {

// The same forward again with every op returning its earlier result, for bench/ only. The run from the first
// start to its stop is recorded, those after it only answer.
class EchoRuns {
 public:
  explicit EchoRuns(const std::string& device)
      : recording_(std::make_shared<engine::Recording>(c10::Device(device), false)) {
    recording_->scopes.add_module(kNone, "", "", "");
    recording_->echo = std::make_unique<engine::Echo>();
  }
  at::Tensor add_input(const at::Tensor& tensor) { return recording_->add_input(tensor, "x"); }
  void start() { guard_.emplace(recording_); }
  void stop() {
    guard_.reset();
    recording_->echo->rewind();
  }

 private:
  std::shared_ptr<engine::Recording> recording_;
  std::optional<engine::CaptureGuard> guard_;
};

// One run of a tracer's graph, node by node, inside a capture: what is recorded meanwhile belongs to the
// node, in the module calls that the tracer noted for it.
class NodeRun {
 public:
  // Counts as a call of the part; its nodes run below the module call that is running now.
  NodeRun(Session& session, PartId part)
      : session_(session), base_(session.recording().scopes.now), outer_(session.recording().scopes.node) {
    ++recording().graph.parts.at(part).calls;
  }
  ~NodeRun() { leave_scope(); }
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  // `calls` are (module, key) pairs, outermost first: the same key below the same call is the same call
  // again.
  void enter(NodeId node, const std::vector<std::pair<py::object, std::string>>& calls) {
    auto& graph = recording().graph;
    auto& state = recording().scopes;
    node_ = state.node = node;
    for (const auto& [module, key] : calls) {
      const auto id = session_.find_module(module.ptr());
      // The root, or the module whose own function this part is, is running already.
      if (id == kNone || (state.now == base_ && graph.scopes[base_].module == id)) continue;
      const auto [found, is_new] = scopes_.try_emplace({state.now, key}, kNone);
      if (is_new) found->second = state.enter(id);
      state.now = found->second;
    }
  }

  // The tensors that the node gave; kept of its first run.
  void leave(const std::vector<at::Tensor>& outputs) {
    auto& graph = recording().graph;
    if (node_ != kNone && graph.nodes[node_].outputs.size == 0 && !outputs.empty()) {
      std::vector<ValueId> ids;
      for (const auto& tensor : outputs)
        if (tensor.defined()) ids.push_back(recording().values.of(tensor));
      graph.nodes[node_].outputs = graph.add_refs(ids);
    }
    leave_scope();
  }

  // After a node that failed.
  void leave_scope() {
    recording().scopes.now = base_;
    recording().scopes.node = outer_;
  }

 private:
  engine::Recording& recording() { return session_.recording(); }

  Session& session_;
  ScopeId base_;
  NodeId outer_;  // of the graph that this one runs inside, if any
  NodeId node_ = kNone;
  std::map<std::pair<ScopeId, std::string>, ScopeId> scopes_;
};

NodeKind kind_from_name(const std::string& text) {
  for (auto kind = NodeKind::kPlaceholder;; kind = static_cast<NodeKind>(static_cast<int>(kind) + 1)) {
    if (name(kind) == text) return kind;
    if (kind == NodeKind::kOutput) throw Error("no kind of node called '" + text + "'");
  }
}

PartId add_part(Session& session, const std::string& part_name) {
  auto& parts = session.recording().graph.parts;
  parts.push_back({part_name, 0});
  return static_cast<PartId>(parts.size() - 1);
}

NodeId add_node(Session& session, const std::string& kind, const std::string& node_name,
                const std::string& target, const std::string& source, const py::object& module,
                const std::vector<NodeId>& inputs) {
  auto& graph = session.recording().graph;
  const auto owner = module.is_none() ? ModuleId{0} : session.find_module(module.ptr());
  graph.nodes.push_back({.kind = kind_from_name(kind),
                         .name = graph.intern(node_name),
                         .target = graph.intern(target),
                         .source = graph.intern(source),
                         .part = static_cast<PartId>(graph.parts.size() - 1),
                         .module = owner == kNone ? 0 : owner,
                         .inputs = graph.add_node_refs(inputs)});
  return static_cast<NodeId>(graph.nodes.size() - 1);
}

}  // namespace

void bind_runs(py::module_& m) {
  py::class_<EchoRuns>(m, "Echo")
      .def(py::init<const std::string&>())
      .def("add_input", &EchoRuns::add_input)
      .def("start", &EchoRuns::start)
      .def("stop", &EchoRuns::stop);
  py::class_<NodeRun>(m, "NodeRun")
      .def(py::init<Session&, PartId>(), py::keep_alive<1, 2>())
      .def("enter", &NodeRun::enter)
      .def("leave", &NodeRun::leave)
      .def("leave_scope", &NodeRun::leave_scope);
  m.def("add_part", add_part);
  m.def("add_node", add_node);
  m.def("add_break", [](Session& session, const std::string& reason, const std::string& detail,
                        const std::string& source, std::optional<PartId> after) {
    session.recording().graph.breaks.push_back({reason, detail, source, after.value_or(kNone)});
  });
}

}  // namespace opscope::python
