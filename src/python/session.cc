#include "python/session.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "torch/recording/bounds.h"
#include "torch/timing/timing.h"

namespace opscope::python {

namespace {

thread_local Session* active = nullptr;  // this thread's capture

// --- torch.nn.Module.__call__ while a capture runs. Guarded by the GIL.
PyObject* original_call = nullptr;  // kept: forward may have put ours away to call it later
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

}  // namespace

void follow_module_calls(bool on) {
  if (on && captures++ == 0) {
    auto now = py::reinterpret_steal<py::object>(PyObject_GetAttrString(module_class(), "__call__"));
    check(static_cast<bool>(now));
    if (!is_followed_call(now.ptr())) Py_XSETREF(original_call, now.release().ptr());
    // A method descriptor: read from the class it is itself, so that code which replaces Module.__call__ for
    // a while (torch.fx does) puts it back whole.
    const auto method = py::reinterpret_steal<py::object>(
        PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(module_class()), &followed_call_def));
    if (PyObject_SetAttrString(module_class(), "__call__", method.ptr()) != 0) throw py::error_already_set();
  }
  if (!on && --captures == 0) {
    PyObject_SetAttrString(module_class(), "__call__", original_call);
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
    : recording_(std::make_shared<engine::Recording>(c10::Device(device), eager)), state_(eager) {
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
    state_.forget();
    return;
  }
  state_.restore();
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
  state_.keep_attributes(attributes.ptr());
  add_tensors(table_of(module, attributes.ptr(), module_tables().parameters), id, path, true);
  add_tensors(table_of(module, attributes.ptr(), module_tables().buffers), id, path, false);
  for_each_item(table_of(module, attributes.ptr(), module_tables().modules),
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
    state_.keep_tensor(tensor);
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
