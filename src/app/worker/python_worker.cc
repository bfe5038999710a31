// Runs requests in Python, and turns whatever goes wrong there into one Error.
#include "app/worker/python_worker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/files.h"

namespace opscope {
namespace {

namespace fs = std::filesystem;

std::string read_or_empty(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return "";
  }
}

std::string last_lines(std::string_view text, int count) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::size_t at = text.size();
  for (; count > 0 && at != std::string_view::npos && at > 0; --count) at = text.rfind('\n', at - 1);
  return std::string(at == std::string_view::npos || text.empty() ? text
                                                                  : text.substr(at + (text[at] == '\n')));
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + ", " + ::strsignal(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

std::string near_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i)
    text += (i == 0 ? "did you mean " : ", ") + names[i];
  return text.empty() ? text : text + "?";
}

bool is_program(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string on_path(const std::string& name) {
  std::istringstream folders(environment_variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string path = (folder.empty() ? "." : folder) + "/" + name; is_program(path)) return path;
  return "";
}

std::string beside_this_program() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return "";
  for (const char* name : {"python3", "python"})
    if (const std::string path = self.parent_path() / name; is_program(path)) return path;
  return "";
}

std::string chosen_python(const std::string& chosen) {
  const std::string path = chosen.find('/') == std::string::npos ? on_path(chosen) : chosen;
  if (!path.empty() && is_program(path)) return path;
  throw Error("no such program", chosen,
              "it is named by $OPSCOPE_PYTHON: set it to a Python that has torch and opscope");
}

}  // namespace

void fail_reported(const ChildError& error) {
  std::string hint = error.hint;
  if (const std::string near = near_names(error.candidates); !near.empty())
    hint = hint.empty() ? near : near + "   " + hint;
  if (hint.empty() && !error.traceback.empty()) hint = "--debug shows where, with Python's traceback";
  throw Error(error.what.empty() ? "the capture failed" : error.what, error.where, hint);
}

PythonWorker::PythonWorker(Listener& listener, std::string python)
    : listener_(listener), python_(std::move(python)) {}

void PythonWorker::start(const std::string& request, ChildProcess::Stdin stdin_is) {
  // Python 3.11's: a folder that one stands in may hold a numpy.py, and naming a model does not trust it.
  ::setenv("PYTHONSAFEPATH", "1", 1);
  last_.reset();
  doing_.clear();
  child_ = std::make_unique<ChildProcess>(std::vector<std::string>{python_, "-m", "opscope.capture", request},
                                          folder_.file("stderr"), stdin_is);
}

bool PythonWorker::listen(const std::function<bool(const Answer&)>& enough) {
  const auto on_line = [&](std::string_view line) {
    Answer answer = parse_answer(line);
    using enum Answer::Kind;
    if (answer.kind == kFinished) {
      listener_.python_wrote(answer.error.traceback);
      return enough(answer);
    }
    if (answer.kind == kStatus) {
      doing_ = answer.status;
      if (!in_parts_) listener_.status(doing_);
    } else if (answer.kind == kProgress) {
      doing_ = answer.progress.doing;
      listener_.progress(answer.progress.done, answer.progress.total, doing_);
    } else if (answer.kind != kOther) {
      last_ = std::move(answer);
    }
    return false;
  };
  const bool all = child_->read_until(on_line, [&] {
    signals_.check();
    listener_.waiting();
  });
  if (!all) status_ = child_->wait();
  listener_.resting();
  if (all) return true;
  signals_.check();
  listener_.python_wrote(words_ = read_or_empty(folder_.file("stderr")));
  return false;
}

std::string PythonWorker::how_it_died() const {
  const std::string what = "Python ended without an answer (" + how_it_ended(status_) + ")";
  return doing_.empty() ? what : what + " while " + doing_;
}

// It ended without a word of the protocol: say how, and the last that it wrote.
void PythonWorker::fail_died() const {
  if (words_.find("No module named opscope") != std::string::npos ||
      words_.find("No module named 'opscope'") != std::string::npos)
    throw Error("the opscope package is not installed for this Python", python_,
                "install it there, or set OPSCOPE_PYTHON to a Python that has it");
  const std::string last = last_lines(words_, 3);
  throw Error(how_it_died(), python_, last.empty() ? "--debug shows all that it wrote" : last);
}

void PythonWorker::check_error() const {
  if (!last_ || last_->kind != Answer::Kind::kError) return;
  listener_.python_wrote(last_->error.traceback);
  fail_reported(last_->error);
}

void PythonWorker::run(const CaptureRequest& request, std::string_view command, const WriteMore& more,
                       Leaves leaves) {
  listener_.status("starting Python");
  const std::string asked = to_json(request, command, [&](JsonWriter& json) {
    if (more) more(json);
    leaves == Leaves::kOutput ? json.field("output", file("answer.json")) : json.field("folder", file(""));
  });
  start(asked, ChildProcess::Stdin::kNothing);
  listen([](const Answer&) { return false; });
  check_error();
  if (!last_) fail_died();
}

std::string PythonWorker::output() const { return read_file(file("answer.json")); }

std::string PythonWorker::run_parts(const std::string& request, const OnFinished& on_finished) {
  start(request, ChildProcess::Stdin::kNothing);
  in_parts_ = true;
  bool any = false;
  listen([&](const Answer& answer) {
    on_finished(answer);
    any = true;
    return false;
  });
  check_error();
  if (last_) return "";
  if (!any && doing_.empty()) fail_died();
  return how_it_died();
}

void PythonWorker::ask(const std::string& request, const std::string& line, std::size_t count,
                       const OnFinished& on_finished) {
  if (count == 0) return;
  if (!child_) {
    listener_.status("starting Python");
    start(request, ChildProcess::Stdin::kPipe);
  }
  child_->write(line);
  const bool all = listen([&](const Answer& answer) {
    on_finished(answer);
    return --count == 0;
  });
  if (all) return;
  check_error();
  last_ ? fail_reported(last_->error) : fail_died();
}

std::string find_python() {
  if (const std::string chosen = environment_variable("OPSCOPE_PYTHON"); !chosen.empty())
    return chosen_python(chosen);
  if (const std::string path = beside_this_program(); !path.empty()) return path;
  if (const std::string environment = environment_variable("VIRTUAL_ENV"); !environment.empty())
    if (const std::string path = environment + "/bin/python"; is_program(path)) return path;
  if (const std::string path = on_path("python3"); !path.empty()) return path;
  throw Error("no Python found, and a Python model needs one", "",
              "set OPSCOPE_PYTHON, or profile a saved capture: that needs no Python");
}

}  // namespace opscope
