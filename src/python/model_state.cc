#include "python/model_state.h"

#include <torch/csrc/Generator.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

namespace opscope::python {

namespace {

// Keys and values in turns, as a dict has them now.
bool same_items(PyObject* dict, std::span<PyObject* const> saved) {
  if (static_cast<std::size_t>(PyDict_GET_SIZE(dict)) * 2 != saved.size()) return false;
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  for (std::size_t i = 0; PyDict_Next(dict, &position, &key, &value); i += 2)
    if (key != saved[i] || value != saved[i + 1]) return false;
  return true;
}

// Another one after each change to the dict; 0 where Python does not say.
std::uint64_t version_of(PyObject* value) {
#if PY_VERSION_HEX < 0x030C0000
  if (PyDict_Check(value)) return reinterpret_cast<PyDictObject*>(value)->ma_version_tag;
#endif
  static_cast<void>(value);
  return 0;
}

std::span<PyObject* const> items_of(PyObject* sequence) {
  return {PySequence_Fast_ITEMS(sequence), static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence))};
}

// The methods of the built-in type: those of a subclass may refuse, or do more.
template <class... Arguments>
py::object call(PyTypeObject* type, const char* method, const Arguments&... arguments) {
  return py::handle(reinterpret_cast<PyObject*>(type)).attr(method)(arguments...);
}

void put_back_dict(py::handle live, std::span<PyObject* const> saved) {
  const bool ordered = PyODict_Check(live.ptr());
  if (ordered)
    call(&PyODict_Type, "clear", live);
  else
    PyDict_Clear(live.ptr());
  const auto set = ordered ? PyODict_SetItem : PyDict_SetItem;
  for (std::size_t i = 0; i < saved.size(); i += 2) check(set(live.ptr(), saved[i], saved[i + 1]) == 0);
}

void put_back_list(py::handle live, std::span<PyObject* const> saved) {
  const auto count = static_cast<Py_ssize_t>(saved.size());
  if (std::ranges::equal(saved, items_of(live.ptr()))) return;
  const auto list = py::reinterpret_steal<py::object>(PyList_New(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    PyList_SET_ITEM(list.ptr(), i, Py_NewRef(saved[static_cast<std::size_t>(i)]));
  check(PyList_SetSlice(live.ptr(), 0, PyList_GET_SIZE(live.ptr()), list.ptr()) == 0);
}

void put_back_set(py::handle live, py::handle saved) {
  if (call(&PySet_Type, "__eq__", live, saved).is(py::handle(Py_True))) return;
  call(&PySet_Type, "clear", live);
  call(&PySet_Type, "update", live, saved);
}

constexpr int kSnapshotDepth = 6;
// Of tensors that runs may write to: further down there are trainers and datasets.
constexpr int kKeptDepth = 1;
constexpr Py_ssize_t kSnapshotItems = 256;
constexpr std::size_t kSnapshots = 50'000;  // of what hangs off a model's attributes

PyTypeObject* deque_type() {
  static PyObject* const type = py::object(py::module_::import("collections").attr("deque")).release().ptr();
  return reinterpret_cast<PyTypeObject*>(type);
}

// Most of what modules keep, and nothing that could be changed in place.
bool is_plain(PyObject* value) {
  const auto* type = Py_TYPE(value);
  return value == Py_None || type == &PyBool_Type || type == &PyLong_Type || type == &PyUnicode_Type ||
         type == &PyFloat_Type;
}

bool is_generator(PyObject* object) {
  return THPGeneratorClass && Py_IS_TYPE(object, reinterpret_cast<PyTypeObject*>(THPGeneratorClass));
}

// An object whose attributes forward may change: no module (walked for itself), tensor, class or function.
bool holds_state(PyObject* object) {
  return !PyType_Check(object) && !PyModule_Check(object) && !PyFunction_Check(object) &&
         !PyCFunction_Check(object) && !PyMethod_Check(object) && !is_tensor(object) && !is_module(object);
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

bool is_tensor(py::handle object) {
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(THPVariableClass));
}

const ModuleTables& module_tables() {
  static const ModuleTables interned;
  return interned;
}

// Forward may set attributes on a module (caches, anchors), fill its tables, and change what its attributes
// hold; all of it is put back. Objects are followed by their attributes, as far down as anyone keeps a cache.
void ModelState::keep_attributes(PyObject* attributes) {
  if (!seen_.insert(attributes).second) return;
  const auto first = keep_dict(attributes, false);
  const auto last = items_.size();  // what the values hold comes behind
  for (auto i = first; i < last; i += 2) {
    const auto* key = items_[i];
    const bool is_table =
        key == module_tables().parameters || key == module_tables().buffers || key == module_tables().modules;
    keep_value(items_[i + 1], is_table, is_table ? kSnapshotDepth : 0);
  }
}

std::size_t ModelState::keep_dict(PyObject* dict, bool is_table) {
  const auto first = items_.size();
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &position, &key, &value)) {
    items_.push_back(Py_NewRef(key));
    items_.push_back(Py_NewRef(value));
  }
  add(Snapshot::Kind::kDict, dict, is_table, first);
  return first;
}

void ModelState::add(Snapshot::Kind kind, PyObject* live, bool is_table, std::size_t first) {
  snapshots_.push_back(
      {kind, is_table, py::reinterpret_borrow<py::object>(live), version_of(live), first, items_.size()});
}

void ModelState::keep_value(PyObject* value, bool is_table, int depth) {
  if (is_plain(value)) return;
  const auto first = items_.size();
  if (PyDict_Check(value)) {
    const bool is_empty = PyDict_GET_SIZE(value) == 0;
    const bool has_attributes = !PyDict_CheckExact(value) && !PyODict_CheckExact(value);
    if (is_empty && !is_table && !has_attributes) return empty_.push_back(value);
    if (!is_empty && !is_table && !seen_.insert(value).second) return;
    keep_dict(value, is_table);
    keep_items(value, depth);
    if (has_attributes) keep_object(value, depth);
  } else if (PyList_CheckExact(value) || PyTuple_Check(value)) {
    if (!seen_.insert(value).second) return;
    if (PyList_CheckExact(value)) {
      for (auto* item : items_of(value)) items_.push_back(Py_NewRef(item));
      add(Snapshot::Kind::kList, value, is_table, first);
    }
    keep_items(value, depth);
  } else if (PySet_Check(value) || Py_IS_TYPE(value, deque_type())) {
    const bool is_set = PySet_Check(value);
    if (is_set && PySet_GET_SIZE(value) == 0) return empty_.push_back(value);
    if (!seen_.insert(value).second) return;
    items_.push_back(is_set ? PySet_New(value) : PySequence_List(value));
    check(items_.back() != nullptr);
    add(is_set ? Snapshot::Kind::kSet : Snapshot::Kind::kDeque, value, is_table, first);
  } else if (is_generator(value)) {
    auto generator = reinterpret_cast<THPGenerator*>(value)->cdata;
    const std::lock_guard lock(generator.mutex());
    generators_.push_back({generator, generator.get_state()});
  } else if (is_tensor(value)) {
    if (notes_tensors_ && depth <= kKeptDepth) attribute_tensors_.push_back(THPVariable_Unpack(value));
  } else {
    keep_object(value, depth);
  }
}

void ModelState::keep_object(PyObject* object, int depth) {
  if (Py_TYPE(object)->tp_dictoffset == 0 || depth >= kSnapshotDepth || !holds_state(object)) return;
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(object, nullptr));
  if (!attributes) return PyErr_Clear();
  if (PyDict_GET_SIZE(attributes.ptr()) == 0)
    keep_dict(attributes.ptr(), false);
  else
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

// Forward may also give a tensor a gradient, other sizes or other data, none of which an op writes. Of one
// that is no plain tensor only the gradient is kept.
void ModelState::keep_tensor(py::handle object) {
  const auto& tensor = THPVariable_Unpack(object.ptr());
  auto& kept = tensors_.emplace_back();  // and filled in place: to move a row takes as long as to fill one
  kept.object = py::reinterpret_borrow<py::object>(object);
  kept.grad = tensor.grad();
  kept.requires_grad = tensor.requires_grad();
  if (tensor.layout() != c10::kStrided || tensor.key_set().has(c10::DispatchKey::Python) ||
      !tensor.has_storage())
    return;
  const auto& impl = *tensor.unsafeGetTensorImpl();
  kept.storage = impl.unsafe_storage();
  kept.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  kept.strides.assign(tensor.strides().begin(), tensor.strides().end());
  kept.offset = tensor.storage_offset();
  kept.dtype = impl.dtype();
  kept.keys = impl.key_set();
}

void ModelState::restore(const TensorState& was) {
  const auto& tensor = was.tensor();
  auto* now = tensor.unsafeGetTensorImpl();
  const bool same =
      !was.storage || (now->unsafe_storage().unsafeGetStorageImpl() == was.storage.unsafeGetStorageImpl() &&
                       now->sizes().equals(was.sizes) && now->strides().equals(was.strides) &&
                       now->storage_offset() == was.offset && now->dtype() == was.dtype);
  if (!same) {
    auto before = c10::make_intrusive<c10::TensorImpl>(c10::Storage(was.storage), was.keys, was.dtype);
    before->set_sizes_and_strides(was.sizes, was.strides, was.offset);
    now->shallow_copy_from(before);
  }
  if (!tensor.grad().is_same(was.grad)) tensor.mutable_grad() = was.grad;
  if (tensor.is_leaf() && tensor.requires_grad() != was.requires_grad)
    tensor.set_requires_grad(was.requires_grad);
}

void ModelState::restore(const GeneratorState& state) {
  auto generator = state.generator;
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state.state);
}

std::span<PyObject* const> ModelState::saved(const Snapshot& snapshot) const {
  return std::span(items_).subspan(snapshot.first, snapshot.last - snapshot.first);
}

void ModelState::restore(const Snapshot& snapshot) {
  const auto& live = snapshot.live;
  if (snapshot.version != 0 && snapshot.version == version_of(live.ptr())) return;
  switch (snapshot.kind) {
    case Snapshot::Kind::kDict:
      if (!same_items(live.ptr(), saved(snapshot))) put_back_dict(live, saved(snapshot));
      break;
    case Snapshot::Kind::kList:
      put_back_list(live, saved(snapshot));
      break;
    case Snapshot::Kind::kSet:
      put_back_set(live, saved(snapshot)[0]);
      break;
    case Snapshot::Kind::kDeque:
      live.attr("clear")();
      live.attr("extend")(py::handle(saved(snapshot)[0]));
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
  restore_each(empty_);
  restore_each(generators_);
  forget();
  if (failure) std::rethrow_exception(failure);
}

void ModelState::restore(PyObject* empty) {
  if (PyDict_Check(empty)) {
    if (PyDict_GET_SIZE(empty) != 0) put_back_dict(empty, {});
  } else if (PySet_GET_SIZE(empty) != 0) {
    call(&PySet_Type, "clear", py::handle(empty));
  }
}

void ModelState::forget() {
  forget_modules();
  tensors_.clear();
  generators_.clear();
  attribute_tensors_.clear();
  seen_.clear();
  for (auto* item : std::exchange(items_, {})) Py_XDECREF(item);
}

void ModelState::forget_modules() {
  snapshots_.clear();
  empty_.clear();
}

bool ModelState::grew() const {
  return std::ranges::any_of(snapshots_, [&](const Snapshot& table) {
    return table.is_table &&
           static_cast<std::size_t>(PyDict_GET_SIZE(table.live.ptr())) * 2 > saved(table).size();
  });
}

}  // namespace opscope::python
