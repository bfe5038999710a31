#include "python/session.h"

#include <pybind11/eval.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>

#include "base/error.h"
#include "base/text.h"
#include "torch/timing/timing.h"

namespace opscope::python {

namespace {

thread_local Session* active = nullptr;  // this thread's capture

// --- torch.nn.Module.__call__ while a capture runs. Guarded by the GIL. The function gets other code: to
// replace it would have Python forget what it has looked up on Module and its thousands of subclasses, which
// takes a tenth of a small capture's time and slows the forward that follows.
PyObject* plain_call = nullptr;  // what ours calls; kept, since forward may have put ours away to call later
PyObject* followed = nullptr;    // the function that has our code; null where Module.__call__ was replaced
bool only_forwards = false;      // plain_call is PyTorch's own: to _call_impl, or to what is compiled
int captures = 0;

// torch.nn.Module._call_impl, which calls forward and does nothing else where no hook is set: its frame,
// which takes as long as the rest of a module's call, is then left out.
class CallImpl {
 public:
  // Before a capture: whether it is the one that is known, and the tables of hooks for all modules.
  void look_up() {
    py::object now = py::handle(module_class()).attr("_call_impl");
    if (now.ptr() != function_) {
      // What follows the call of forward begins with a set: a patched one that does more has another name
      // there.
      const py::tuple known =
          py::make_tuple("torch", "_C", "_get_tracing_state", "_slow_forward", "forward") +
          py::tuple(py::cast(kOwn)) + py::tuple(py::cast(kShared)) + py::make_tuple("set");
      const bool is_known =
          PyFunction_Check(now.ptr()) &&
          known.equal(now.attr("__code__").attr("co_names")[py::slice(0, py::ssize_t(known.size()), 1)]);
      Py_XSETREF(function_, is_known ? now.release().ptr() : nullptr);
      std::ranges::transform(kOwn, own_.begin(), PyUnicode_InternFromString);
    }
    if (!function_) return;
    for (std::size_t i = 0; i < kShared.size(); ++i)
      Py_XSETREF(shared_[i], Py_XNewRef(PyDict_GetItemString(PyFunction_GET_GLOBALS(function_), kShared[i])));
  }

  // Whether calling this, which is self._call_impl, is to call forward.
  bool is_forward(PyObject* self, PyObject* call) const {
    if (!PyMethod_Check(call) || PyMethod_GET_FUNCTION(call) != function_ ||
        PyMethod_GET_SELF(call) != self || torch::jit::tracer::isTracing())
      return false;
    const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(self, nullptr));
    if (!attributes) {
      PyErr_Clear();
      return false;
    }
    const auto is_empty = [](PyObject* hooks) {
      return hooks && PyDict_Check(hooks) && PyDict_GET_SIZE(hooks) == 0;
    };
    return std::ranges::all_of(shared_, is_empty) && std::ranges::all_of(own_, [&](PyObject* name) {
             return is_empty(PyDict_GetItem(attributes.ptr(), name));
           });
  }

 private:
  static constexpr std::array kOwn{"_backward_hooks", "_backward_pre_hooks", "_forward_hooks",
                                   "_forward_pre_hooks"};
  static constexpr std::array kShared{"_global_backward_pre_hooks", "_global_backward_hooks",
                                      "_global_forward_hooks", "_global_forward_pre_hooks"};

  PyObject* function_ = nullptr;  // null where it is another
  std::array<PyObject*, 4> own_{}, shared_{};
};
CallImpl call_impl;

// What plain_call does, without its frame and its copies of the arguments where that is PyTorch's own.
PyObject* call_plainly(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject* const compiled_name = PyUnicode_InternFromString("_compiled_call_impl");
  static PyObject* const call_name = PyUnicode_InternFromString("_call_impl");
  static PyObject* const forward_name = PyUnicode_InternFromString("forward");
  const auto attribute = [&](PyObject* of) {
    return py::reinterpret_steal<py::object>(PyObject_GetAttr(self, of));
  };
  if (only_forwards) {
    py::object call = attribute(compiled_name);
    if (call && call.is_none()) call = attribute(call_name);
    if (call && call_impl.is_forward(self, call.ptr())) call = attribute(forward_name);
    return call ? PyObject_Call(call.ptr(), args, kwargs) : nullptr;
  }
  c10::SmallVector<PyObject*, 8> all{self};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
  return PyObject_VectorcallDict(plain_call, all.data(), all.size(), kwargs);
}

PyObject* followed_call(PyObject*, PyObject* const* items, Py_ssize_t) {  // self, args, kwargs
  const auto call = [&] { return call_plainly(items[0], items[1], items[2]); };
  return active && engine::Recording::current() ? active->call_module(items[0], call) : call();
}

PyMethodDef followed_call_def = {"followed_call",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(followed_call)),
                                 METH_FASTCALL, nullptr};

// Code that hands its call on to followed_call, one of its constants; PyTorch's own to whoever reads a
// traceback.
PyObject* following_code() {
  static PyObject* const code = [] {
    py::dict names;
    py::exec("def __call__(self, *args, **kwargs):\n  call = 0.5\n  return call(self, args, kwargs)", names);
    const py::object made = names["__call__"].attr("__code__");
    const auto ours = py::reinterpret_steal<py::object>(PyCFunction_New(&followed_call_def, nullptr));
    py::list constants;
    for (const auto& constant : made.attr("co_consts"))
      constants.append(PyFloat_Check(constant.ptr()) ? py::handle(ours) : constant);
    const auto file = py::module_::import("torch.nn.modules.module").attr("__file__");
    return py::object(made.attr("replace")(py::arg("co_consts") = py::tuple(constants),
                                           py::arg("co_filename") = file))
        .release()
        .ptr();
  }();
  return code;
}

void set_code(PyObject* function, PyObject* code) {
  check(PyObject_SetAttrString(function, "__code__", code) == 0);
}

// Whether it is torch.nn.Module's, and does no more than it is known to.
bool forwards_only(const py::object& function) {
  const py::object names = function.attr("__code__").attr("co_names");
  return py::object(function.attr("__qualname__")).equal(py::str("Module._wrapped_call_impl")) &&
         names.equal(py::make_tuple("_compiled_call_impl", "_call_impl"));
}

// A function that does what `function` does, whatever code that gets.
py::object copied(const py::object& function) {
  auto* const from = function.ptr();
  auto copy = py::reinterpret_steal<py::object>(
      PyFunction_New(PyFunction_GET_CODE(from), PyFunction_GET_GLOBALS(from)));
  copy.attr("__defaults__") = function.attr("__defaults__");
  copy.attr("__kwdefaults__") = function.attr("__kwdefaults__");
  return copy;
}

// One of the tables that every module keeps in its __dict__; looked up there first, since ScriptModules make
// theirs up on demand.
py::object table_of(py::handle module, PyObject* attributes, PyObject* name) {
  if (auto* found = PyDict_GetItem(attributes, name)) return py::reinterpret_borrow<py::object>(found);
  return py::object(module.attr(py::handle(name)));
}

// Calls visit(name, value) with the key as text; what is no string, or no UTF-8, as its repr.
template <class Visit>
void visit_item(PyObject* key, py::handle value, Visit&& visit) {
  Py_ssize_t size = 0;
  const char* name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &size) : nullptr;
  if (name) return visit(std::string_view(name, static_cast<std::size_t>(size)), value);
  PyErr_Clear();
  const py::str text(py::module_::import("builtins").attr("ascii")(py::handle(key)));
  visit(std::string_view(py::cast<std::string>(text)), value);
}

// For each item of a table, fast for the dicts that modules have.
template <class Visit>
void for_each_item(py::handle table, Visit&& visit) {
  if (PyDict_Check(table.ptr())) {
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(table.ptr(), &position, &key, &value)) visit_item(key, value, visit);
    return;
  }
  for (auto item : table.attr("items")()) {
    const auto pair = py::reinterpret_borrow<py::tuple>(item);
    visit_item(py::object(pair[0]).ptr(), py::object(pair[1]), visit);
  }
}

// A path with one more name, for as long as it lives.
class Longer {
 public:
  Longer(std::string& path, std::string_view name) : path_(path), size_(path.size()) {
    if (!path.empty()) path += '.';
    path += name;
  }
  ~Longer() { path_.resize(size_); }
  Longer(const Longer&) = delete;
  Longer& operator=(const Longer&) = delete;

 private:
  std::string& path_;
  std::size_t size_;
};

// A tensor of a lazy module, which gets its shape from the first call.
bool is_uninitialised(py::handle tensor) {
  return std::strstr(Py_TYPE(tensor.ptr())->tp_name, "Uninitialized") != nullptr;
}

// Has torch.nn.Module.__call__ follow calls, while any capture runs in any thread.
void follow_module_calls(bool on) {
  if (on && captures == 0) call_impl.look_up();
  captures += on ? 1 : -1;
  if (captures != (on ? 1 : 0)) return;
  const py::handle module(module_class());
  if (!on) {
    if (followed)
      set_code(followed, PyFunction_GET_CODE(plain_call));
    else
      module.attr("__call__") = py::handle(plain_call);
    return;
  }
  const py::object call = module.attr("__call__");
  const bool is_function = PyFunction_Check(call.ptr());
  if (is_function && PyFunction_GET_CODE(call.ptr()) == following_code()) return;  // put away, and put here
  if (followed == call.ptr() && PyFunction_GET_CODE(followed) == PyFunction_GET_CODE(plain_call) &&
      PyFunction_GET_DEFAULTS(followed) == PyFunction_GET_DEFAULTS(plain_call))
    return set_code(followed, following_code());  // as the last time
  Py_CLEAR(followed);
  only_forwards = is_function && forwards_only(call);
  if (is_function && !PyFunction_GET_CLOSURE(call.ptr())) {
    Py_XSETREF(plain_call, copied(call).release().ptr());
    set_code(followed = py::object(call).release().ptr(), following_code());
  } else {
    Py_XSETREF(plain_call, py::object(call).release().ptr());
    module.attr("__call__") =
        py::reinterpret_steal<py::object>(PyFunction_New(following_code(), py::dict().ptr()));
  }
}

void check_limit(const std::string& name, std::int64_t size) {
  const auto names = engine::limit_names();
  if (std::ranges::find(names, name) == names.end()) {
    const auto near = nearest_names(name, names);
    throw Error(
        "no limit called '" + name + "'", "limits",
        (near.empty() ? "" : "did you mean " + near.front() + "? ") + "The limits are " + join(names));
  }
  if (size < 0) throw Error("a limit cannot be negative", "limits: " + name, "give a size: " + name + "=100");
}

}  // namespace

Session::Session(const std::string& device, bool eager, const std::vector<std::string>& declared_ops,
                 const std::map<std::string, std::int64_t>& limits, const engine::Decisions& decisions,
                 std::optional<std::uint64_t> max_ops, const std::string& cuda)
    : recording_(std::make_shared<engine::Recording>(c10::Device(device), eager)), state_(eager) {
  for (const auto& [name, size] : limits) check_limit(name, size);
  recording_->ops.declared.insert(declared_ops.begin(), declared_ops.end());
  recording_->bounds.limits.insert(limits.begin(), limits.end());
  recording_->decisions = decisions;
  recording_->max_ops = max_ops.value_or(engine::kMostOps);
  if (const auto named = cuda_device_from(cuda)) recording_->set_cuda(*named);
}

Session* Session::of_thread() { return active; }
Session* Session::exchange_of_thread(Session* session) { return std::exchange(active, session); }

Session::~Session() {
  try {
    stop();
  } catch (py::error_already_set& problem) {
    problem.discard_as_unraisable("opscope: putting a model back");
  } catch (const std::exception&) {  // nowhere to report it
  }
}

void Session::start() {
  guard_ = std::make_unique<engine::CaptureGuard>(recording_);
  if (!recording_->muted) set_watching(true);
}

// Watching: the mode is on in this thread, and calls of modules are followed.
void Session::set_watching(bool on) {
  if (on == follows_) return;
  follows_ = on;
  guard_->set_watching(on);
  follow_module_calls(on);
  active = on ? this : nullptr;
}

void Session::find_lines(const std::string& torch_folder, const std::string& own_folder, bool of_ops) {
  recording_->notes_lines = of_ops;
  foreign_folders_ = {torch_folder, own_folder};
  recording_->source_line = [torch_folder, own_folder] {
    py::gil_scoped_acquire gil;
    auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    for (; frame && !frame.is_none(); frame = frame.attr("f_back")) {
      const auto file = py::cast<std::string>(frame.attr("f_code").attr("co_filename"));
      if (file.starts_with(torch_folder) || file.starts_with(own_folder) || file.starts_with("<")) continue;
      return file + ":" + std::to_string(py::cast<int>(frame.attr("f_lineno")));
    }
    return std::string();
  };
}

void Session::stop() {
  if (!guard_) return;
  if (follows_) set_watching(false);
  guard_.reset();
  if (recording_->lasting)
    state_.forget();
  else
    state_.restore();
  claim_.release();
}

std::shared_ptr<Graph> Session::take() {
  auto graph = std::make_shared<Graph>(recording_->take());
  if (!recording_->timing) return graph;
  graph->measurement = recording_->timing->take(*graph);
  graph->measurement.warmup = warmup_;
  return graph;
}

std::optional<std::tuple<std::string, std::string, std::string, std::string>> Session::failure() const {
  if (!recording_->failure) return std::nullopt;
  const auto& [op, module, limit, reason] = *recording_->failure;
  return std::tuple{op, module, limit, reason};
}

void Session::add_model(py::object model) {
  const auto name = std::string(py::str(py::type::handle_of(model).attr("__name__")));
  std::string path;
  if (is_module(model)) {
    claim_.take(model);  // before what they hold is looked at
    walk(model, kNone, "", path);
  } else {
    recording_->scopes.add_module(
        kNone, "", "", py::hasattr(model, "__name__") ? std::string(py::str(model.attr("__name__"))) : name);
  }
}

void Session::walk(py::handle module, ModuleId parent, std::string_view name, std::string& path) {
  const auto* type = Py_TYPE(module.ptr());
  const char* dot = std::strrchr(type->tp_name, '.');
  const auto id = recording_->scopes.add_module(parent, name, path, dot ? dot + 1 : type->tp_name);
  modules_.emplace(module.ptr(), id);
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(module.ptr(), nullptr));
  state_.keep_attributes(attributes.ptr());
  add_tensors(table_of(module, attributes.ptr(), module_tables().parameters), id, path, true);
  add_tensors(table_of(module, attributes.ptr(), module_tables().buffers), id, path, false);
  for_each_item(table_of(module, attributes.ptr(), module_tables().modules),
                [&](std::string_view child_name, py::handle child) {
                  if (!is_module(child) || modules_.count(child.ptr()) != 0) return;
                  const Longer inner(path, child_name);
                  walk(child, id, child_name, path);
                });
}

namespace {

std::string_view type_name(py::handle object) {
  const char* const name = Py_TYPE(object.ptr())->tp_name;
  const char* const dot = std::strrchr(name, '.');
  return dot ? dot + 1 : name;
}

void add_parts_of(py::handle value, std::vector<at::Tensor>& parts) {
  if (!py::hasattr(value, "__tensor_flatten__")) {
    const auto& tensor = THPVariable_Unpack(value.ptr());
    if (tensor.has_storage() && tensor.layout() == c10::kStrided) parts.push_back(tensor);
    return;
  }
  const py::tuple flat = value.attr("__tensor_flatten__")();
  for (const py::handle name : py::list(flat[0]))
    if (const py::object part = value.attr(name); is_tensor(part)) add_parts_of(part, parts);
}

// The tensors that a wrapper of a weight holds (a quantised one's integers and scales); none: it is a tensor
// itself. A distributed tensor stands for more than the part that is here.
std::vector<at::Tensor> parts_of(py::handle value) {
  std::vector<at::Tensor> parts;
  const auto& tensor = THPVariable_Unpack(value.ptr());
  if (!tensor.key_set().has(c10::DispatchKey::Python) || tensor.is_nested() ||
      type_name(value) == "DTensor" || !py::hasattr(value, "__tensor_flatten__"))
    return parts;
  add_parts_of(value, parts);
  return parts;
}

}  // namespace

void Session::add_tensors(py::handle table, ModuleId module, std::string& path, bool parameters) {
  for_each_item(table, [&](std::string_view name, py::handle value) {
    if (!is_tensor(value)) return;
    if (is_uninitialised(value)) {
      lazy_ = true;
      return;
    }
    const auto& tensor = THPVariable_Unpack(value.ptr());
    const Longer inner(path, name);
    recording_->add_owned(module, name, path, tensor, parameters);
    if (const auto parts = parts_of(value); !parts.empty())
      recording_->values.add_parts(tensor, parts, type_name(value), parameters && !recording_->eager);
    state_.keep_tensor(value);
    if (!parameters) buffers_.push_back(tensor);
  });
}

ModuleId Session::find_module(PyObject* module) const {
  const auto found = modules_.find(module);
  return found == modules_.end() ? kNone : found->second;
}

ModuleId Session::module_of(PyObject* module) {
  if (const auto known = find_module(module); known != kNone) return known;
  // Made inside forward, or reached by a way that the model does not list.
  kept_.push_back(py::reinterpret_borrow<py::object>(module));
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(module, nullptr));
  state_.keep_attributes(attributes.ptr());
  for_each_item(table_of(module, attributes.ptr(), module_tables().parameters),
                [&](std::string_view, py::handle value) {
                  if (is_tensor(value) && !is_uninitialised(value)) state_.keep_tensor(value);
                });
  const auto parent = recording_->scopes.module();
  auto name = std::string("<") + Py_TYPE(module)->tp_name + ">";
  if (const auto number = ++unnamed_[{parent, name}]; number > 1) name += "#" + std::to_string(number);
  const auto base = std::string(recording_->graph.path(recording_->graph.modules[parent]));
  const auto id = recording_->scopes.add_module(parent, name, base.empty() ? name : base + "." + name,
                                                Py_TYPE(module)->tp_name);
  modules_.emplace(module, id);
  return id;
}

}  // namespace opscope::python
