// The Python of the active environment, asked for what only Python can tell: one process for one request, or
// one that lives on and is told what to do next. Its stdout carries the protocol; its stderr is kept and
// shown only when something went wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trace/trace.h"
#include "app/request/fields.h"
#include "app/worker/child_process.h"
#include "graph/graph.h"

namespace opscope {

// What `python -m opscope.capture` answers: JSON objects, one a line.
struct ChildError {
  std::string what{}, where{}, hint{}, traceback{};
  std::vector<std::string> candidates{};  // names that there are, to suggest from
};

struct Answer {
  // kFinished: one of several models, captured or, with an error, not
  enum class Kind : std::uint8_t { kOther, kStatus, kProgress, kFinished, kError, kDone };
  Kind kind = Kind::kOther;           // kOther: not a line of the protocol
  std::string doing{};                // of a status or progress
  std::uint64_t done = 0, total = 0;  // of progress; total: 0 where it is not known
  ChildError error{};
  std::size_t index = 0;  // of the model that is finished
  bool cacheable = false;
};

// What `trace` leaves in its folder: one row a tracer, in the order asked for, and the files it wrote.
struct TracedRow {
  std::string tracer, capture;  // the capture's file in the folder, "" where there is an error
  double seconds = 0;
  TraceFailure failure;
};
struct TraceAnswer {
  std::vector<TracedRow> rows;
  std::vector<SavedFile> files;
};

// These throw Error for what is no such answer.
TraceAnswer parse_trace_answer(std::string_view json, const std::string& where);

struct ListedModel {
  std::string name, source, family;
};
struct ModelList {
  std::vector<ListedModel> models;
  std::vector<Dependency> dependencies;
};

ModelList parse_model_list(std::string_view json, const std::string& where);

struct PlannedInput {
  std::string name, shape, dtype, value, why;
};
struct PlannedInputs {
  std::vector<PlannedInput> inputs;
  std::vector<std::string> notes;
};

PlannedInputs parse_planned_inputs(std::string_view json, const std::string& where);

struct OtherFusion;
OtherFusion parse_kernels(std::string_view json, const std::string& where);  // what `inductor` leaves

// Who hears how the work goes: a terminal, or nobody. Nothing in src/app prints.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void status(const std::string&) {}  // what is done now; "[1/4] warming up" is a stage to follow
  virtual void progress(std::uint64_t /*done*/, std::uint64_t /*total*/, const std::string& /*doing*/) {}
  virtual void waiting() {}                       // about ten times a second
  virtual void resting() {}                       // nothing is waited for any more
  virtual void python_wrote(std::string_view) {}  // to its stderr, and tracebacks
  virtual void trouble(const std::string&) {}  // that the work goes on without: a cache that cannot be used
};

// $OPSCOPE_PYTHON, the Python beside this program, the active virtual environment's, or python3 on the PATH.
// Throws Error where there is none.
std::string find_python();

// What Python reports, in the words for its user.
[[noreturn]] void fail_reported(const ChildError& error);

class PythonWorker {
 public:
  explicit PythonWorker(Listener& listener, std::string python = find_python());

  // A file for answers, in a folder that goes with the worker.
  std::string file(const std::string& name) const { return folder_.file(name); }

  // One request to its end, which leaves its answer in output(), or in several files of the folder. Throws
  // Error for what Python reports or for its death, and Interrupted after Ctrl-C, with the process gone.
  enum class Leaves : std::uint8_t { kOutput, kFiles };
  void run(const CaptureRequest& request, std::string_view command, const WriteMore& more = {},
           Leaves leaves = Leaves::kOutput);
  std::string output() const;
  bool may_be_cached() const { return last_ && last_->cacheable; }

  // A request of several parts, telling of each as it is finished. Returns how Python died on the way, ""
  // where it came to the end.
  using OnFinished = std::function<void(const Answer&)>;
  std::string run_parts(const std::string& request, const OnFinished& on_finished);

  // A request that goes on: `request` starts it at the first call, `line` says what is next, and `count`
  // parts are waited for. Throws as run does.
  void ask(const std::string& request, const std::string& line, std::size_t count,
           const OnFinished& on_finished);

 private:
  void start(const std::string& request, ChildProcess::Stdin stdin_is);
  bool listen(const std::function<bool(const Answer&)>& enough);  // false: the process has ended
  [[noreturn]] void fail_died() const;
  std::string how_it_died() const;
  void check_error() const;

  SignalsNoted signals_;
  TemporaryFolder folder_;
  Listener& listener_;
  std::string python_;
  std::unique_ptr<ChildProcess> child_;
  std::optional<Answer> last_;  // kError or kDone; none where it ended without a word of the protocol
  std::string doing_, words_;   // its last status, and all that it wrote to stderr
  int status_ = 0;
  bool in_parts_ = false;  // how many are finished says more than what is done now
};

}  // namespace opscope
