#include "python/model_state.h"

#include <torch/csrc/Generator.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

namespace opscope::python {

namespace {

bool same_items(PyObject* a, PyObject* b) {
  if (PyDict_Size(a) != PyDict_Size(b)) return false;
  Py_ssize_t at_a = 0, at_b = 0;
  PyObject *key_a = nullptr, *key_b = nullptr, *value_a = nullptr, *value_b = nullptr;
  while (PyDict_Next(a, &at_a, &key_a, &value_a) && PyDict_Next(b, &at_b, &key_b, &value_b))
    if (key_a != key_b || value_a != value_b) return false;
  return true;
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

void check(bool succeeded) {
  if (!succeeded) throw py::error_already_set();
}

PyObject* module_class() {
  static PyObject* const type = py::object(py::module_::import("torch.nn").attr("Module")).release().ptr();
  return type;
}

bool is_module(py::handle object) {
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(module_class()));
}

const ModuleTables& module_tables() {
  static const ModuleTables interned;
  return interned;
}

// Forward may set attributes on a module (caches, anchors), fill its tables, and change what its attributes
// hold; all of it is put back. Objects are followed by their attributes, as far down as anyone keeps a cache.
void ModelState::keep_attributes(PyObject* attributes) {
  if (!seen_.insert(attributes).second) return;
  snapshots_.push_back({Snapshot::Kind::kDict, false, py::reinterpret_borrow<py::object>(attributes),
                        py::reinterpret_steal<py::object>(PyDict_Copy(attributes))});
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(attributes, &position, &key, &value)) {
    const bool is_table =
        key == module_tables().parameters || key == module_tables().buffers || key == module_tables().modules;
    keep_value(value, is_table, is_table ? kSnapshotDepth : 0);
  }
}

void ModelState::keep_value(PyObject* value, bool is_table, int depth) {
  const auto type = Py_TYPE(value);
  const auto add = [&](Snapshot::Kind kind, PyObject* live, PyObject* saved) {
    snapshots_.push_back(
        {kind, is_table, py::reinterpret_borrow<py::object>(live), py::reinterpret_steal<py::object>(saved)});
  };
  if (PyDict_Check(value)) {
    const bool empty = PyDict_GET_SIZE(value) == 0;
    if (!empty && !seen_.insert(value).second) return;
    add(Snapshot::Kind::kDict, value, empty ? nullptr : PyDict_Copy(value));
    if (!empty) keep_items(value, depth);
    if (!PyDict_CheckExact(value) && !PyODict_CheckExact(value)) keep_object(value, depth);
  } else if (PyList_CheckExact(value) || PyTuple_Check(value)) {
    if (!seen_.insert(value).second) return;
    if (PyList_CheckExact(value))
      add(Snapshot::Kind::kList, value, PyList_GetSlice(value, 0, PyList_GET_SIZE(value)));
    keep_items(value, depth);
  } else if (PySet_Check(value)) {
    if (seen_.insert(value).second) add(Snapshot::Kind::kSet, value, PySet_New(value));
  } else if (type == deque_type()) {
    if (seen_.insert(value).second) add(Snapshot::Kind::kDeque, value, PySequence_List(value));
  } else if (is_generator(value)) {
    auto generator = reinterpret_cast<THPGenerator*>(value)->cdata;
    const std::lock_guard lock(generator.mutex());
    generators_.push_back({generator, generator.get_state()});
  } else if (THPVariable_Check(value)) {
    if (notes_tensors_ && depth <= kKeptDepth) attribute_tensors_.push_back(THPVariable_Unpack(value));
  } else {
    keep_object(value, depth);
  }
}

void ModelState::keep_object(PyObject* object, int depth) {
  if (Py_TYPE(object)->tp_dictoffset == 0 || depth >= kSnapshotDepth || !holds_state(object)) return;
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(object, nullptr));
  if (!attributes) return PyErr_Clear();
  keep_value(attributes.ptr(), false, depth + 1);
}

void ModelState::keep_items(PyObject* container, int depth) {
  if (depth >= kSnapshotDepth || snapshots_.size() > kSnapshots) return;
  const auto visit = [&](PyObject* value) { keep_value(value, false, depth + 1); };
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
void ModelState::keep_tensor(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || tensor.key_set().has(c10::DispatchKey::Python) ||
      !tensor.has_storage())
    return;
  tensors_.push_back({tensor, tensor.grad(),
                      tensor.getIntrusivePtr()->shallow_copy_and_detach(c10::VariableVersion(0), true),
                      tensor.requires_grad()});
}

void ModelState::restore(const TensorState& state) {
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

void ModelState::restore(const GeneratorState& state) {
  auto generator = state.generator;
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state.state);
}

void ModelState::restore(const Snapshot& snapshot) {
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
void ModelState::restore() {
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

void ModelState::forget() { *this = ModelState(notes_tensors_); }

void ModelState::forget_modules() { snapshots_.clear(); }

bool ModelState::grew() const {
  return std::ranges::any_of(snapshots_, [](const Snapshot& table) {
    if (!table.is_table) return false;
    const auto before = table.saved ? PyDict_GET_SIZE(table.saved.ptr()) : 0;
    return PyDict_GET_SIZE(table.live.ptr()) > before;
  });
}

}  // namespace opscope::python
