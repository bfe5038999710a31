// What a model's forward can change without an op: the attributes and tables of its modules, what hangs off
// them, and its tensors' gradients and sizes. Kept as it was, and put back.
#pragma once

#include <c10/util/flat_hash_map.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <span>
#include <vector>

namespace opscope::python {

namespace py = pybind11;

// The names of the tables that every module keeps in its __dict__.
struct ModuleTables {
  PyObject* parameters = PyUnicode_InternFromString("_parameters");
  PyObject* buffers = PyUnicode_InternFromString("_buffers");
  PyObject* modules = PyUnicode_InternFromString("_modules");
};
const ModuleTables& module_tables();

PyObject* module_class();  // torch.nn.Module
bool is_module(py::handle object);
bool is_tensor(py::handle object);  // without asking its class to say so, which takes ten times as long

// Throws the Python error that a call of Python's API reported.
void check(bool succeeded);

class ModelState {
 public:
  // notes_tensors: those that are mere attributes are gathered too, for runs that may write to them.
  explicit ModelState(bool notes_tensors) : notes_tensors_(notes_tensors) { tensors_.reserve(256); }
  ~ModelState() { forget(); }
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;

  struct TensorState {
    py::object object;  // not the at::Tensor: a second one on a tensor of Python's takes the GIL
    at::Tensor grad;
    c10::Storage storage = {};  // none: only its gradient is kept
    at::DimVector sizes = {}, strides = {};
    std::int64_t offset = 0;
    caffe2::TypeMeta dtype = {};
    c10::DispatchKeySet keys = {};
    bool requires_grad = false;
    std::uint32_t version = 0;  // when the recorded run was over

    const at::Tensor& tensor() const { return THPVariable_Unpack(object.ptr()); }
  };

  void keep_attributes(PyObject* attributes);  // a module's __dict__, and what its values hold
  void keep_tensor(py::handle object);         // a parameter or buffer
  void restore();
  void forget();          // what forward changed stays
  void forget_modules();  // what it changed on modules stays, its tensors are put back
  bool grew() const;      // whether forward gave a module, a parameter or a buffer to the model

  std::vector<TensorState>& tensors() { return tensors_; }
  const std::vector<at::Tensor>& attribute_tensors() const { return attribute_tensors_; }

 private:
  // Something that forward can change in place, as it was.
  struct Snapshot {
    enum class Kind : std::uint8_t { kDict, kList, kSet, kDeque };
    Kind kind;
    bool is_table;  // what a module owns: _parameters, _buffers, _modules
    py::object live;
    std::uint64_t version;    // of a dict, where Python counts its changes
    std::size_t first, last;  // of items_: a dict's keys and values in turns, a list's values, or a copy
  };
  struct GeneratorState {
    at::Generator generator;
    at::Tensor state;
  };
  // Python's own copies would be objects for its garbage collector to go through.
  std::size_t keep_dict(PyObject* dict, bool is_table);
  void add(Snapshot::Kind kind, PyObject* live, bool is_table, std::size_t first);
  std::span<PyObject* const> saved(const Snapshot& snapshot) const;
  void keep_value(PyObject* value, bool is_table, int depth);
  void keep_items(PyObject* container, int depth);
  void keep_object(PyObject* object, int depth);
  void restore(const Snapshot& snapshot);
  static void restore(PyObject* empty);
  static void restore(const TensorState& state);
  static void restore(const GeneratorState& state);

  bool notes_tensors_;
  std::vector<Snapshot> snapshots_;
  std::vector<PyObject*> items_;  // of the snapshots, one after the other; owned
  std::vector<PyObject*> empty_;  // dicts and sets among them that hold nothing: most of what modules have
  ska::flat_hash_set<PyObject*> seen_;  // by the snapshots
  std::vector<TensorState> tensors_;
  std::vector<GeneratorState> generators_;  // among a module's attributes
  std::vector<at::Tensor> attribute_tensors_;
};

}  // namespace opscope::python
