// A capture as Python sees it: walks the model's modules, follows their calls, and puts back what the model's
// forward changed on them.
#pragma once

#include <c10/util/FunctionRef.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/claims.h"
#include "python/model_state.h"
#include "torch/engine/guard.h"
#include "torch/engine/threads.h"

namespace opscope::python {

class Session {
 public:
  // Throws Error for a limit whose name or number is none.
  Session(const std::string& device, bool eager, const std::vector<std::string>& declared_ops,
          const std::map<std::string, std::int64_t>& limits, const engine::Decisions& decisions,
          std::optional<std::uint64_t> max_ops, const std::string& cuda);
  ~Session();

  void add_model(py::object model);
  at::Tensor add_input(const at::Tensor& tensor, const std::string& name) {
    if (recording_->eager) inputs_.push_back({tensor});
    return recording_->add_input(tensor, name);
  }
  void add_output(const at::Tensor& tensor, const std::string& name) {
    recording_->values.add_output(tensor, name);
  }
  // A line of the model is the innermost of Python that is in neither folder; `of_ops`: each op's is noted.
  void find_lines(const std::string& torch_folder, const std::string& own_folder, bool of_ops);
  void start();
  // A recorded real run may be timed too; only its own time is kept.
  void begin_timed_run();
  void end_timed_run();
  struct Plan {
    std::uint32_t warmup, runs, most_runs;
    double seconds;  // until it has taken so long and there are `runs`, or there are `most_runs`
    std::uint32_t expected_runs(std::uint32_t done, double passed) const;
  };
  // After the recorded run: more of them, one without the clock for each with it. Each is call(prepare()),
  // and progress(runs so far, runs in all or 0) is told between them.
  void measure(const py::object& prepare, const py::object& call, const Plan& plan,
               const py::object& progress);
  void before_run();  // it finds its inputs as the first did, and under autocast casts its weights anew
  void set_lasting() { recording_->lasting = true; }  // before the start: a real run whose effects stay
  void stop();  // also puts the modules' attributes back; harmless when stopped
  // A first call that is to leave its changes: layers made, shapes found. Only for a copy of a model.
  void keep_changes() { state_.forget_modules(); }
  // Whether forward gave a module, a parameter or a buffer to the model.
  bool grew() const { return state_.grew(); }
  // Whether some of its tensors get their shape from the first call.
  bool is_lazy() const { return lazy_; }
  std::shared_ptr<Graph> take();

  // Op, module path, the name of a limit that would help, or "", and the reason where that is another than
  // missing data.
  std::optional<std::tuple<std::string, std::string, std::string, std::string>> failure() const;
  const std::optional<std::string>& failed_module() const { return failed_module_; }
  engine::Recording& recording() { return *recording_; }
  ModuleId find_module(PyObject* module) const;  // kNone: no module of this model

  // The call of a module: enters its scope, calls `call`, leaves it.
  PyObject* call_module(PyObject* module, c10::function_ref<PyObject*()> call);
  // A function called in a thread of the model's: module calls are followed there too.
  py::object call_in_thread(const engine::Fork& fork, const py::object& function, const py::args& args,
                            const py::kwargs& kwargs);
  // The one whose module calls this thread's are; the one before, where it is another's now.
  static Session* of_thread();
  static Session* exchange_of_thread(Session* session);
  bool failed_in_thread() const { return failed_in_thread_; }  // for want of data

 private:
  void keep_outputs(ScopeId scope, std::size_t ops_before, PyObject* result);
  void walk(py::handle module, ModuleId parent, std::string_view name, std::string& path);
  void add_tensors(py::handle table, ModuleId module, std::string& path, bool parameters);
  ModuleId module_of(PyObject* module);

  std::shared_ptr<engine::Recording> recording_;
  std::unique_ptr<engine::CaptureGuard> guard_;
  ModuleClaim claim_;
  ModelState state_;
  ska::flat_hash_map<PyObject*, ModuleId> modules_;
  std::vector<py::object> kept_;  // modules met only in calls: held so that addresses are not reused
  std::map<std::pair<ModuleId, std::string>, std::uint32_t> unnamed_;  // modules made in forward, by type
  void set_watching(bool on);
  void follow_lines(engine::Timing& timing, const std::function<void()>& run);
  void journal_before_runs();
  void note_changed_weights();
  struct Input {
    at::Tensor tensor;
    std::uint32_t version = 0;
    bool is_written = false;  // by the recorded run
  };
  std::vector<Input> inputs_;  // of a real run
  std::vector<at::Tensor> buffers_;
  std::uint32_t warmup_ = 0;
  std::vector<std::string> foreign_folders_;  // whose lines are not the user's
  std::optional<std::string> failed_module_;
  bool lazy_ = false, failed_in_thread_ = false;
  bool follows_ = false;  // the calls of modules
};

}  // namespace opscope::python
