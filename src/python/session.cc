#include "python/session.h"

#include <torch/csrc/Generator.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "torch/bounds.h"
#include "torch/timing.h"

namespace opscope::python {

namespace {

thread_local Session* active = nullptr;  // this thread's capture

// --- torch.nn.Module.__call__ while a capture runs. Guarded by the GIL.
PyObject* original_call = nullptr;  // kept: forward may have put ours away to call it later
PyObject* module_class = nullptr;
int captures = 0;

PyObject* followed_call(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const auto total =
      static_cast<std::size_t>(nargs) + (kwnames ? static_cast<std::size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  c10::SmallVector<PyObject*, 8> all{self};
  all.append(args, args + total);
  const auto count = static_cast<std::size_t>(nargs) + 1;
  if (!active) return PyObject_Vectorcall(original_call, all.data(), count, kwnames);
  return active->call_module(original_call, all.data(), count, kwnames);
}

PyMethodDef followed_call_def = {"__call__",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(followed_call)),
                                 METH_FASTCALL | METH_KEYWORDS, nullptr};

bool is_followed_call(PyObject* method) {
  return Py_IS_TYPE(method, &PyMethodDescr_Type) &&
         reinterpret_cast<PyMethodDescrObject*>(method)->d_method == &followed_call_def;
}

// One of the tables that every module keeps in its __dict__; looked up there first, since ScriptModules make
// theirs up on demand.
py::object table_of(py::handle module, PyObject* attributes, PyObject* name) {
  if (auto* found = PyDict_GetItem(attributes, name)) return py::reinterpret_borrow<py::object>(found);
  return py::object(module.attr(py::handle(name)));
}

struct Names {
  PyObject* parameters = PyUnicode_InternFromString("_parameters");
  PyObject* buffers = PyUnicode_InternFromString("_buffers");
  PyObject* modules = PyUnicode_InternFromString("_modules");
};

const Names& names() {
  static const Names interned;
  return interned;
}

// A name as text; what is no string, or no UTF-8, as its repr.
std::string text(PyObject* key) {
  if (PyUnicode_Check(key))
    if (const char* name = PyUnicode_AsUTF8(key)) return name;
  PyErr_Clear();
  return py::cast<std::string>(py::str(py::module_::import("builtins").attr("ascii")(py::handle(key))));
}

// Calls visit(name, value) for each item, fast for the dicts that modules have.
template <class Visit>
void for_each_item(py::handle table, Visit&& visit) {
  if (PyDict_Check(table.ptr())) {
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(table.ptr(), &position, &key, &value)) visit(text(key).c_str(), py::handle(value));
    return;
  }
  for (auto item : table.attr("items")()) {
    const auto pair = py::reinterpret_borrow<py::tuple>(item);
    visit(text(py::object(pair[0]).ptr()).c_str(), py::object(pair[1]));
  }
}

std::string joined(const std::string& path, const char* name) {
  return path.empty() ? name : path + "." + name;
}

bool same_items(PyObject* a, PyObject* b) {
  if (PyDict_Size(a) != PyDict_Size(b)) return false;
  Py_ssize_t at_a = 0, at_b = 0;
  PyObject *key_a = nullptr, *key_b = nullptr, *value_a = nullptr, *value_b = nullptr;
  while (PyDict_Next(a, &at_a, &key_a, &value_a) && PyDict_Next(b, &at_b, &key_b, &value_b))
    if (key_a != key_b || value_a != value_b) return false;
  return true;
}

// Throws the Python error that a call of Python's API reported.
void check(bool succeeded) {
  if (!succeeded) throw py::error_already_set();
}

// The methods of the built-in type: those of a subclass may refuse, or do more.
template <class... Arguments>
py::object call(PyTypeObject* type, const char* method, const Arguments&... arguments) {
  return py::handle(reinterpret_cast<PyObject*>(type)).attr(method)(arguments...);
}

void put_back_dict(const py::object& live, const py::object& saved) {
  if (!PyODict_Check(live.ptr())) {
    PyDict_Clear(live.ptr());
    if (saved) check(PyDict_Update(live.ptr(), saved.ptr()) == 0);
    return;
  }
  call(&PyODict_Type, "clear", live);
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (saved && PyDict_Next(saved.ptr(), &position, &key, &value))
    check(PyODict_SetItem(live.ptr(), key, value) == 0);
}

void put_back_set(const py::object& live, const py::object& saved) {
  if (call(&PySet_Type, "__eq__", live, saved).is(py::handle(Py_True))) return;
  call(&PySet_Type, "clear", live);
  call(&PySet_Type, "update", live, saved);
}

void put_back_deque(const py::object& live, const py::object& saved) {
  live.attr("clear")();
  live.attr("extend")(saved);
}

constexpr int kSnapshotDepth = 6;
constexpr int kKeptDepth =
    1;  // of tensors that runs may write to: further down there are trainers and datasets
constexpr Py_ssize_t kSnapshotItems = 256;
constexpr std::size_t kSnapshots = 50'000;  // of what hangs off a model's attributes

PyTypeObject* deque_type() {
  static PyObject* const type = py::object(py::module_::import("collections").attr("deque")).release().ptr();
  return reinterpret_cast<PyTypeObject*>(type);
}

bool is_module(py::handle object) {
  static PyObject* const type = py::object(py::module_::import("torch.nn").attr("Module")).release().ptr();
  module_class = type;
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(type));
}

bool is_generator(PyObject* object) {
  return THPGeneratorClass && Py_IS_TYPE(object, reinterpret_cast<PyTypeObject*>(THPGeneratorClass));
}

// An object whose attributes forward may change: no module (walked for itself), tensor, class or function.
bool holds_state(PyObject* object) {
  return !PyType_Check(object) && !PyModule_Check(object) && !PyFunction_Check(object) &&
         !PyCFunction_Check(object) && !PyMethod_Check(object) && !THPVariable_Check(object) &&
         !is_module(object);
}

}  // namespace

void follow_module_calls(bool on) {
  if (on && captures++ == 0) {
    is_module(Py_None);
    auto now = py::reinterpret_steal<py::object>(PyObject_GetAttrString(module_class, "__call__"));
    check(static_cast<bool>(now));
    if (!is_followed_call(now.ptr())) Py_XSETREF(original_call, now.release().ptr());
    // A method descriptor: read from the class it is itself, so that code which replaces Module.__call__ for
    // a while (torch.fx does) puts it back whole.
    const auto method = py::reinterpret_steal<py::object>(
        PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(module_class), &followed_call_def));
    if (PyObject_SetAttrString(module_class, "__call__", method.ptr()) != 0) throw py::error_already_set();
  }
  if (!on && --captures == 0) {
    PyObject_SetAttrString(module_class, "__call__", original_call);
  }
}

namespace {

void check_limit(const std::string& name, std::int64_t size) {
  const auto names = engine::limit_names();
  std::string list;
  for (const auto known : names) list.append(list.empty() ? "" : ", ").append(known);
  if (std::ranges::find(names, name) == names.end()) {
    const auto near = nearest_names(name, names);
    throw Error("no limit called '" + name + "'", "limits",
                (near.empty() ? "" : "did you mean " + near.front() + "? ") + "The limits are " + list);
  }
  if (size < 0) throw Error("a limit cannot be negative", "limits: " + name, "give a size: " + name + "=100");
}

}  // namespace

Session::Session(const std::string& device, bool eager, const std::vector<std::string>& declared_ops,
                 const std::map<std::string, std::int64_t>& limits, const std::vector<std::uint32_t>& flipped)
    : recording_(std::make_shared<engine::Recording>(c10::Device(device), eager)) {
  for (const auto& [name, size] : limits) check_limit(name, size);
  recording_->declared_ops.insert(declared_ops.begin(), declared_ops.end());
  recording_->limits.insert(limits.begin(), limits.end());
  recording_->flipped.insert(flipped.begin(), flipped.end());
}

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

void Session::note_source_lines(const std::string& torch_folder, const std::string& own_folder) {
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
  if (recording_->lasting) {
    tensors_.clear(), snapshots_.clear(), generators_.clear(), seen_.clear();
    return;
  }
  restore_modules();
}

std::shared_ptr<Graph> Session::take() {
  auto graph = std::make_shared<Graph>(recording_->take());
  if (!recording_->timing) return graph;
  graph->measurement = recording_->timing->take(*graph);
  graph->measurement.warmup = warmup_;
  return graph;
}

std::optional<std::tuple<std::string, std::string, std::string>> Session::failure() const {
  if (!recording_->failure) return std::nullopt;
  const auto& [op, module, limit] = *recording_->failure;
  return std::tuple{op, module, limit};
}

void Session::add_model(py::object model) {
  const auto name = std::string(py::str(py::type::handle_of(model).attr("__name__")));
  if (is_module(model))
    walk(model, kNone, "", "");
  else
    recording_->add_module(
        kNone, "", "", py::hasattr(model, "__name__") ? std::string(py::str(model.attr("__name__"))) : name);
}

void Session::walk(py::handle module, ModuleId parent, const std::string& name, const std::string& path) {
  const auto* type = Py_TYPE(module.ptr());
  const char* dot = std::strrchr(type->tp_name, '.');
  const auto id = recording_->add_module(parent, name, path, dot ? dot + 1 : type->tp_name);
  modules_.emplace(module.ptr(), id);
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(module.ptr(), nullptr));
  snapshot(attributes.ptr());
  add_tensors(table_of(module, attributes.ptr(), names().parameters), id, path, true);
  add_tensors(table_of(module, attributes.ptr(), names().buffers), id, path, false);
  for_each_item(table_of(module, attributes.ptr(), names().modules),
                [&](const char* child_name, py::handle child) {
                  if (!is_module(child) || modules_.contains(child.ptr())) return;
                  walk(child, id, child_name, joined(path, child_name));
                });
}

void Session::add_tensors(py::handle table, ModuleId module, const std::string& path, bool parameters) {
  for_each_item(table, [&](const char* name, py::handle value) {
    if (!THPVariable_Check(value.ptr())) return;
    if (std::strstr(Py_TYPE(value.ptr())->tp_name, "Uninitialized")) {
      lazy_ = true;
      return;
    }
    const auto& tensor = THPVariable_Unpack(value.ptr());
    recording_->add_owned(module, name, joined(path, name), tensor, parameters);
    keep(tensor);
    if (!parameters) buffers_.push_back(tensor);
  });
}

// Forward may set attributes on a module (caches, anchors), fill its tables, and change what its attributes
// hold; all of it is put back. Objects are followed by their attributes, as far down as anyone keeps a cache.
void Session::snapshot(PyObject* attributes) {
  if (!seen_.insert(attributes).second) return;
  snapshots_.push_back({Snapshot::Kind::kDict, false, py::reinterpret_borrow<py::object>(attributes),
                        py::reinterpret_steal<py::object>(PyDict_Copy(attributes))});
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(attributes, &position, &key, &value)) {
    const bool is_table = key == names().parameters || key == names().buffers || key == names().modules;
    snapshot_value(value, is_table, is_table ? kSnapshotDepth : 0);
  }
}

void Session::snapshot_value(PyObject* value, bool is_table, int depth) {
  const auto type = Py_TYPE(value);
  const auto add = [&](Snapshot::Kind kind, PyObject* live, PyObject* saved) {
    snapshots_.push_back(
        {kind, is_table, py::reinterpret_borrow<py::object>(live), py::reinterpret_steal<py::object>(saved)});
  };
  if (PyDict_Check(value)) {
    const bool empty = PyDict_GET_SIZE(value) == 0;
    if (!empty && !seen_.insert(value).second) return;
    add(Snapshot::Kind::kDict, value, empty ? nullptr : PyDict_Copy(value));
    if (!empty) snapshot_items(value, depth);
    if (!PyDict_CheckExact(value) && !PyODict_CheckExact(value)) snapshot_attributes(value, depth);
  } else if (PyList_CheckExact(value) || PyTuple_Check(value)) {
    if (!seen_.insert(value).second) return;
    if (PyList_CheckExact(value))
      add(Snapshot::Kind::kList, value, PyList_GetSlice(value, 0, PyList_GET_SIZE(value)));
    snapshot_items(value, depth);
  } else if (PySet_Check(value)) {
    if (seen_.insert(value).second) add(Snapshot::Kind::kSet, value, PySet_New(value));
  } else if (type == deque_type()) {
    if (seen_.insert(value).second) add(Snapshot::Kind::kDeque, value, PySequence_List(value));
  } else if (is_generator(value)) {
    auto generator = reinterpret_cast<THPGenerator*>(value)->cdata;
    const std::lock_guard lock(generator.mutex());
    generators_.push_back({generator, generator.get_state()});
  } else if (THPVariable_Check(value)) {
    if (recording_->eager && depth <= kKeptDepth) buffers_.push_back(THPVariable_Unpack(value));
  } else {
    snapshot_attributes(value, depth);
  }
}

void Session::snapshot_attributes(PyObject* object, int depth) {
  if (Py_TYPE(object)->tp_dictoffset == 0 || depth >= kSnapshotDepth || !holds_state(object)) return;
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(object, nullptr));
  if (!attributes) return PyErr_Clear();
  snapshot_value(attributes.ptr(), false, depth + 1);
}

void Session::snapshot_items(PyObject* container, int depth) {
  if (depth >= kSnapshotDepth || snapshots_.size() > kSnapshots) return;
  const auto visit = [&](PyObject* value) { snapshot_value(value, false, depth + 1); };
  if (PyDict_Check(container)) {
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(container, &position, &key, &value)) visit(value);
    return;
  }
  const auto size = std::min<Py_ssize_t>(PySequence_Fast_GET_SIZE(container), kSnapshotItems);
  for (Py_ssize_t i = 0; i < size; ++i) visit(PySequence_Fast_GET_ITEM(container, i));
}

// Forward may also give a tensor a gradient, other sizes or other data, none of which an op writes.
void Session::keep(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || tensor.key_set().has(c10::DispatchKey::Python) ||
      !tensor.has_storage())
    return;
  tensors_.push_back({tensor, tensor.grad(),
                      tensor.getIntrusivePtr()->shallow_copy_and_detach(c10::VariableVersion(0), true),
                      tensor.requires_grad()});
}

void Session::restore(const TensorState& state) {
  const auto& [tensor, grad, was, requires_grad, version] = state;
  auto* now = tensor.unsafeGetTensorImpl();
  const bool same =
      now->unsafe_storage().unsafeGetStorageImpl() == was->unsafe_storage().unsafeGetStorageImpl() &&
      now->sizes() == was->sizes() && now->strides() == was->strides() &&
      now->storage_offset() == was->storage_offset() && now->dtype() == was->dtype();
  if (!same) now->shallow_copy_from(was);
  if (!tensor.grad().is_same(grad)) tensor.mutable_grad() = grad;
  if (tensor.is_leaf() && tensor.requires_grad() != requires_grad) tensor.set_requires_grad(requires_grad);
}

void Session::restore(const GeneratorState& state) {
  auto generator = state.generator;
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state.state);
}

void Session::restore(const Snapshot& snapshot) {
  const auto& [kind, is_table, live, saved] = snapshot;
  switch (kind) {
    case Snapshot::Kind::kDict:
      if (saved ? !same_items(live.ptr(), saved.ptr()) : PyDict_GET_SIZE(live.ptr()) != 0)
        put_back_dict(live, saved);
      break;
    case Snapshot::Kind::kList:
      check(PyList_SetSlice(live.ptr(), 0, PyList_GET_SIZE(live.ptr()), saved.ptr()) == 0);
      break;
    case Snapshot::Kind::kSet:
      put_back_set(live, saved);
      break;
    case Snapshot::Kind::kDeque:
      put_back_deque(live, saved);
  }
}

// All of it, whatever fails on the way; throws the first failure in the end.
void Session::restore_modules() {
  std::exception_ptr failure;
  const auto restore_each = [&](auto& kept) {
    for (const auto& one : std::exchange(kept, {})) {
      try {
        restore(one);
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
  };
  restore_each(tensors_);
  restore_each(snapshots_);
  restore_each(generators_);
  seen_.clear();
  if (failure) std::rethrow_exception(failure);
}

bool Session::grew() const {
  return std::ranges::any_of(snapshots_, [](const Snapshot& table) {
    if (!table.is_table) return false;
    const auto before = table.saved ? PyDict_GET_SIZE(table.saved.ptr()) : 0;
    return PyDict_GET_SIZE(table.live.ptr()) > before;
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
  snapshot(attributes.ptr());
  const auto parent = recording_->graph.scopes[recording_->scope].module;
  auto name = std::string("<") + Py_TYPE(module)->tp_name + ">";
  if (const auto number = ++unnamed_[{parent, name}]; number > 1) name += "#" + std::to_string(number);
  const auto base = std::string(recording_->graph.path(recording_->graph.modules[parent]));
  const auto id =
      recording_->add_module(parent, name, base.empty() ? name : base + "." + name, Py_TYPE(module)->tp_name);
  modules_.emplace(module, id);
  return id;
}

PyObject* Session::call_module(PyObject* original, PyObject* const* args, std::size_t nargsf,
                               PyObject* kwnames) {
  auto* timing = recording_->timing.get();
  if (timing && timing->expects()) {  // all that there is to know of the call is how long it takes
    const auto entry = timing->enter(find_module(args[0]));
    PyObject* result = PyObject_Vectorcall(original, args, nargsf, kwnames);
    timing->leave(entry);
    return result;
  }
  const auto scope = recording_->enter(module_of(args[0]));
  const auto entry = timing ? timing->enter(recording_->graph.scopes[scope].module) : 0;
  PyObject* result = PyObject_Vectorcall(original, args, nargsf, kwnames);
  if (timing) timing->leave(entry);
  if (!result && !failed_module_) failed_module_ = recording_->scope_path();
  recording_->leave(scope);
  return result;
}

}  // namespace opscope::python
