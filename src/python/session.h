// A capture as Python sees it: walks the model's modules, follows their calls, and puts back what the model's
// forward changed on them.
#pragma once

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch/guard.h"

namespace opscope::python {

namespace py = pybind11;

class Session {
 public:
  // Throws Error for a limit whose name or number is none.
  Session(const std::string& device, bool eager, const std::vector<std::string>& declared_ops,
          const std::map<std::string, std::int64_t>& limits, const std::vector<std::uint32_t>& flipped);
  ~Session();

  void add_model(py::object model);
  at::Tensor add_input(const at::Tensor& tensor, const std::string& name) {
    return recording_->add_input(tensor, name);
  }
  void add_output(const at::Tensor& tensor, const std::string& name) { recording_->add_output(tensor, name); }
  // Notes for each op the innermost line of Python that is in neither folder.
  void note_source_lines(const std::string& torch_folder, const std::string& own_folder);
  void start();
  void stop();  // also puts the modules' attributes back; harmless when stopped
  std::shared_ptr<Graph> take();

  // Op, module path, and the name of a limit that would help, or "".
  std::optional<std::tuple<std::string, std::string, std::string>> failure() const;
  const std::optional<std::string>& failed_module() const { return failed_module_; }
  engine::Recording& recording() { return *recording_; }

  // The call of a module: enters its scope, calls `original`, leaves it.
  PyObject* call_module(PyObject* original, PyObject* const* args, std::size_t nargsf, PyObject* kwnames);

 private:
  // A module's attributes, or one of its tables (_parameters, _buffers, _modules, hooks), as they were.
  struct Snapshot {
    py::object live;
    py::object saved;  // null: it was empty
  };
  void walk(py::handle module, ModuleId parent, const std::string& name, const std::string& path);
  void add_tensors(py::handle table, ModuleId module, const std::string& path, bool parameters);
  ModuleId module_of(PyObject* module);
  void snapshot(PyObject* attributes);
  void restore_modules();
  void keep(const at::Tensor& tensor);
  void restore_tensors();

  std::shared_ptr<engine::Recording> recording_;
  std::unique_ptr<engine::CaptureGuard> guard_;
  std::unordered_map<PyObject*, ModuleId> modules_;
  std::vector<py::object> kept_;  // modules met only in calls: held so that addresses are not reused
  std::vector<Snapshot> snapshots_;
  std::vector<Snapshot> lists_;
  struct TensorState {
    at::Tensor tensor;
    at::Tensor grad;
    c10::intrusive_ptr<c10::TensorImpl> was;
    bool requires_grad;
  };
  std::vector<TensorState> tensors_;
  std::optional<std::string> failed_module_;
};

// Replaces torch.nn.Module.__call__ by one that follows calls, while any capture runs in any thread.
void follow_module_calls(bool on);

}  // namespace opscope::python
