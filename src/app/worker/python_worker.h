// The Python of the active environment, asked for what only Python can tell: one process for one request, or
// one that lives on and is told what to do next. Its stdout carries the protocol; its stderr is kept and
// shown only when something went wrong.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/request/fields.h"
#include "app/worker/child_process.h"
#include "app/worker/listener.h"
#include "app/worker/protocol.h"

namespace opscope {

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
