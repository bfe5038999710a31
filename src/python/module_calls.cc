// The calls of modules during a capture, in the capture's thread and in those that the model starts: where
// they are in the model, and what they return.
#include <torch/csrc/autograd/python_variable.h>

#include "python/bindings.h"
#include "python/session.h"
#include "torch/timing/timing.h"

namespace opscope::python {

PyObject* Session::call_module(PyObject* module, c10::function_ref<PyObject*()> call) {
  auto* timing = recording_->timing.get();
  if (timing && timing->expects()) {  // all that there is to know of the call is how long it takes
    const auto entry = timing->enter(find_module(module));
    PyObject* result = call();
    timing->leave(entry);
    return result;
  }
  ScopeId scope = 0;
  std::size_t ops_before = 0, entry = 0;
  {
    const engine::Lock lock(*recording_);
    const auto id = module_of(module);
    scope = recording_->scopes.enter(id);
    ops_before = recording_->graph.ops.size();
    if (timing) entry = timing->enter(id);
  }
  PyObject* result = call();
  const engine::Lock lock(*recording_);
  if (recording_->closed) return result;  // in a thread that the model has left behind
  if (timing) timing->leave(entry);
  if (!result && !failed_module_) failed_module_ = recording_->scopes.path();
  if (result) keep_outputs(scope, ops_before, result);
  recording_->scopes.leave(scope);
  return result;
}

namespace {

// This thread's module calls are the session's.
class Followed {
 public:
  explicit Followed(Session* session) : before_(Session::exchange_of_thread(session)) {}
  ~Followed() { Session::exchange_of_thread(before_); }
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;

 private:
  Session* before_;
};

constexpr int kNestedOutputs = 4;           // containers in containers
constexpr std::size_t kMostOutputs = 1024;  // tensors

// Visits the tensors of a module's result: in tuples, lists and dicts, and in what is made of them.
template <class Visit>
void each_output(PyObject* result, Visit&& visit, int depth = 0) {
  if (THPVariable_Check(result)) return visit(THPVariable_Unpack(result));
  if (depth == kNestedOutputs) return;
  if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      each_output(PySequence_Fast_GET_ITEM(result, i), visit, depth + 1);
  } else if (PyDict_Check(result)) {
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(result, &position, &key, &value)) each_output(value, visit, depth + 1);
  }
}

}  // namespace

// Told only where it is not what its last op made: most modules return that.
void Session::keep_outputs(ScopeId scope, std::size_t ops_before, PyObject* result) {
  auto& graph = recording_->graph;
  if (recording_->muted || graph.scopes[scope].tells_outputs()) return;
  c10::SmallVector<ValueId, 4> ids;
  bool is_plain = true;
  each_output(result, [&](const at::Tensor& tensor) {
    is_plain = is_plain && tensor.defined() && !tensor.key_set().has(c10::DispatchKey::Python) &&
               (recording_->eager || !tensor.is_nested());
    if (is_plain && ids.size() < kMostOutputs) ids.push_back(recording_->values.of(tensor));
  });
  if (!is_plain) return;  // a subclass of tensors: its parts are what ops made
  if (ids.size() == 1 && graph.ops.size() > ops_before) {
    const auto last = graph.outputs_of(graph.ops.back());
    if (!last.empty() && last.front() == ids[0]) return;
  }
  graph.scopes[scope].outputs = graph.add_refs({ids.data(), ids.size()});
}

py::object Session::call_in_thread(const engine::Fork& fork, const py::object& function, const py::args& args,
                                   const py::kwargs& kwargs) {
  const engine::InCapture inside(fork);
  const Followed followed(this);
  try {
    return function(*args, **kwargs);
  } catch (py::error_already_set&) {
    failed_in_thread_ = failed_in_thread_ || recording_->failure.has_value();
    throw;
  }
}

namespace {

// What a function needs that is called in another thread as a part of this one's capture.
struct Forked {
  engine::Fork fork;
  py::object session;

  py::object call(const py::object& function, const py::args& args, const py::kwargs& kwargs) const {
    return py::cast<Session&>(session).call_in_thread(fork, function, args, kwargs);
  }
};

py::object fork_here() {
  auto fork = engine::Fork::here();
  auto* const session = Session::of_thread();
  if (!fork || !session) return py::none();
  return py::cast(Forked{std::move(*fork), py::cast(session, py::return_value_policy::reference)});
}

void wait_without_gil(std::recursive_mutex& mutex) {
  if (!PyGILState_Check()) return mutex.lock();
  const py::gil_scoped_release released;
  mutex.lock();
}

// A handler of selective checkpointing: what it runs is recorded, although PyTorch hides it from modes above.
py::object call_handler(const py::object& handler, const py::args& args, const py::kwargs& kwargs) {
  struct Seen {
    int caches = std::exchange(engine::below_caches, 0);
    bool hidden = c10::impl::tls_is_dispatch_key_excluded(engine::kModeKey);
    Seen() { c10::impl::tls_set_dispatch_key_excluded(engine::kModeKey, false); }
    ~Seen() {
      c10::impl::tls_set_dispatch_key_excluded(engine::kModeKey, hidden);
      engine::below_caches = caches;
    }
  } const seen;
  return handler(*args, **kwargs);
}

}  // namespace

void bind_module_calls(py::module_& m) {
  engine::Lock::wait = wait_without_gil;
  py::class_<Forked>(m, "Forked")
      .def("call", &Forked::call)
      .def_property_readonly(
          "failed", [](const Forked& self) { return py::cast<Session&>(self.session).failed_in_thread(); });
  m.def("fork_here", fork_here);
  m.def("add_caches", [](int count) { engine::below_caches += count; });
  m.def("call_handler", call_handler);
}

}  // namespace opscope::python
