// Runs inside a capture: of a tracer's graph, node by node, and the echo of a forward; and the methods of
// tensors that are answered meanwhile.
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "analyse/trace/trace.h"
#include "base/error.h"
#include "python/bindings.h"
#include "python/session.h"
#include "torch/engine/guard.h"
#include "torch/recording/recording.h"

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
      : session_(session),
        base_(session.recording().scopes.place().now),
        outer_(session.recording().scopes.place().node) {
    ++recording().graph.parts.at(part).calls;
  }
  ~NodeRun() { leave_scope(); }
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  // `calls` are (module, key) pairs, outermost first: the same key below the same call is the same call
  // again.
  void enter(NodeId node, const std::vector<std::pair<py::object, std::string>>& calls) {
    auto& graph = recording().graph;
    const engine::Lock lock(recording());
    auto& scopes = recording().scopes;
    auto& state = scopes.place();
    node_ = state.node = node;
    for (const auto& [module, key] : calls) {
      const auto id = session_.find_module(module.ptr());
      // The root, or the module whose own function this part is, is running already.
      if (id == kNone || (state.now == base_ && graph.scopes[base_].module == id)) continue;
      const auto [found, is_new] = scopes_.try_emplace({state.now, key}, kNone);
      if (is_new) found->second = scopes.enter(id);
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
    recording().scopes.place().now = base_;
    recording().scopes.place().node = outer_;
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
  const auto found = std::ranges::find(kNodeKinds, text, [](NodeKind kind) { return name(kind); });
  if (found == kNodeKinds.end()) throw Error("no kind of node called '" + text + "'");
  return *found;
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

// Methods of torch.Tensor whose bindings read memory or a device, which abstract tensors do not have: during
// a capture functions in Python answer for them. A method's table entry gets another C function, once and for
// all. To set an attribute of torch.Tensor for each capture would have Python forget all that it has looked
// up on the class, which takes a tenth of a small capture's time.
struct Replaced {
  PyCFunction plain = nullptr;
  PyObject* answer = nullptr;
};
std::array<Replaced, 4> replaced;  // by row of kMethods

// The capture that a method is called in, for an abstract tensor.
const engine::Recording* capture_of(PyObject* self) {
  const auto* recording = engine::Recording::current();
  return recording && engine::as_abstract(THPVariable_Unpack(self)) ? recording : nullptr;
}

template <std::size_t I>
PyObject* without_data(PyObject* self, PyObject* none) {
  const auto* recording = capture_of(self);
  if (!recording || !recording->storages.is_unknown(THPVariable_Unpack(self)))
    return replaced[I].plain(self, none);
  return PyObject_CallOneArg(replaced[I].answer, self);
}

template <std::size_t I>
PyObject* without_address(PyObject* self, PyObject* none) {
  return capture_of(self) ? PyObject_CallOneArg(replaced[I].answer, self) : replaced[I].plain(self, none);
}

template <std::size_t I>
PyObject* without_device(PyObject* self, PyObject* args, PyObject* kwargs) {
  const auto plain =
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(replaced[I].plain));
  if (!capture_of(self)) return plain(self, args, kwargs);
  const auto bound = py::reinterpret_steal<py::object>(PyMethod_New(replaced[I].answer, self));
  return bound ? PyObject_Call(bound.ptr(), args, kwargs) : nullptr;
}

struct Method {
  std::string_view name;
  int flags;
  void* ours;
};
const std::array<Method, 4> kMethods{{
    {"new", METH_VARARGS | METH_KEYWORDS, reinterpret_cast<void*>(&without_device<0>)},
    {"new_tensor", METH_VARARGS | METH_KEYWORDS, reinterpret_cast<void*>(&without_device<1>)},
    {"tolist", METH_NOARGS, reinterpret_cast<void*>(&without_data<2>)},
    {"data_ptr", METH_NOARGS, reinterpret_cast<void*>(&without_address<3>)},
}};

void answer_abstract(const std::string& name, py::object function) {
  const auto found = std::ranges::find(kMethods, name, &Method::name);
  OPSCOPE_CHECK(found != kMethods.end());
  auto& [plain, answer] = replaced[static_cast<std::size_t>(found - kMethods.begin())];
  if (!plain) {
    const py::object method = py::handle(THPVariableClass).attr(name.c_str());
    OPSCOPE_CHECK(Py_IS_TYPE(method.ptr(), &PyMethodDescr_Type));
    auto* const entry = reinterpret_cast<PyMethodDescrObject*>(method.ptr())->d_method;
    OPSCOPE_CHECK(entry->ml_flags == found->flags);
    plain = std::exchange(entry->ml_meth, reinterpret_cast<PyCFunction>(found->ours));
  }
  Py_XSETREF(answer, function.release().ptr());
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
  m.def("answer_abstract", answer_abstract);
  m.def("add_part", add_part);
  m.def("add_node", add_node);
  m.def("add_break", [](Session& session, const std::string& reason, const std::string& detail,
                        const std::string& source, std::optional<PartId> after) {
    session.recording().graph.breaks.push_back({reason, detail, source, after.value_or(kNone)});
  });
}

}  // namespace opscope::python
