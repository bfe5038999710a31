// Runs a request in Python: shows what it waits for, and turns whatever goes wrong there into one Error.
#include "app/worker/python_child.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "app/worker/signals.h"
#include "app/worker/temporary_folder.h"
#include "base/error.h"
#include "base/files.h"

namespace opscope {
namespace {

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

using Run = ChildRun;

Run run_child(const std::string& python, const std::string& request_json, const TalkFlags& talk,
              const std::function<void(Answer)>& on_answer, Spinner& spinner) {
  const SignalsNoted signals;
  const TemporaryFolder folder;
  const std::string stderr_path = folder.file("stderr");
  Run run;
  ChildProcess child = start_python(python, request_json, stderr_path);
  const auto on_line = [&](std::string_view line) {
    Answer answer = parse_answer(line);
    if (answer.kind == Answer::Kind::kStatus) run.doing = answer.status;
    if (answer.kind == Answer::Kind::kProgress) run.doing = answer.progress.doing;
    if (answer.kind == Answer::Kind::kError || answer.kind == Answer::Kind::kDone)
      run.last = std::move(answer);
    else
      on_answer(std::move(answer));
  };
  child.read_lines(on_line, [&] {
    signals.check();
    spinner.turn();
  });
  run.status = child.wait();
  spinner.clear();
  signals.check();
  run.words = read_or_empty(stderr_path);
  if (talk.debug) std::fwrite(run.words.data(), 1, run.words.size(), stderr);
  return run;
}

std::string how_it_died(const Run& run) {
  std::string what = "Python ended without an answer (" + how_it_ended(run.status) + ")";
  return run.doing.empty() ? what : what + " while " + run.doing;
}

std::string near_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i)
    text += (i == 0 ? "did you mean " : ", ") + names[i];
  return text.empty() ? text : text + "?";
}

// "[1/4] warming up": a stage of work that people want to follow, on a terminal or not.
bool is_stage(std::string_view status) {
  return status.size() > 1 && status[0] == '[' && status[1] >= '0' && status[1] <= '9' &&
         status.find("] ") != std::string_view::npos;
}

void show_status(const std::string& status, const TalkFlags& talk, Spinner& spinner) {
  if (!is_stage(status)) return spinner.say(status);
  spinner.clear();
  if (!talk.quiet) write_stderr(status + "\n");
  spinner.say(status.substr(status.find("] ") + 2));
}

std::string line_of(const Progress& progress) {
  if (progress.total > 0) return progress_line(progress.done, progress.total, progress.doing);
  return progress.done == 0 ? progress.doing : progress.doing + "  " + std::to_string(progress.done);
}

}  // namespace

ChildProcess start_python(const std::string& python, const std::string& request_json,
                          const std::string& stderr_path, ChildProcess::Stdin stdin_is) {
  // Python 3.11's: a folder that one stands in may hold a numpy.py, and naming a model does not trust it.
  ::setenv("PYTHONSAFEPATH", "1", 1);
  return ChildProcess({python, "-m", "opscope.capture", request_json}, stderr_path, stdin_is);
}

// It ended without a word of the protocol: say how, and the last that it wrote.
void fail_died(const std::string& python, const Run& run) {
  if (run.words.find("No module named opscope") != std::string::npos ||
      run.words.find("No module named 'opscope'") != std::string::npos)
    throw Error("the opscope package is not installed for this Python", python,
                "install it there, or set OPSCOPE_PYTHON to a Python that has it");
  const std::string last = last_lines(run.words, 3);
  throw Error(how_it_died(run), python, last.empty() ? "--debug shows all that it wrote" : last);
}

void fail_reported(const ChildError& error) {
  std::string hint = error.hint;
  if (const std::string near = near_names(error.candidates); !near.empty())
    hint = hint.empty() ? near : near + "   " + hint;
  if (hint.empty() && !error.traceback.empty()) hint = "--debug shows where, with Python's traceback";
  throw Error(error.what.empty() ? "the capture failed" : error.what, error.where, hint);
}

bool run_python(const std::string& python, const std::string& request_json, const TalkFlags& talk) {
  Spinner spinner(!talk.quiet);
  spinner.say("starting Python");
  const auto on_answer = [&](Answer answer) {
    if (answer.kind == Answer::Kind::kStatus) show_status(answer.status, talk, spinner);
    if (answer.kind == Answer::Kind::kProgress) spinner.say(line_of(answer.progress));
  };
  const Run run = run_child(python, request_json, talk, on_answer, spinner);
  if (!run.last) fail_died(python, run);
  if (run.last->kind == Answer::Kind::kError) {
    if (talk.debug) std::fputs(run.last->error.traceback.c_str(), stderr);
    fail_reported(run.last->error);
  }
  return run.last->cacheable;
}

std::string run_python_for_many(const std::string& python, const std::string& request_json,
                                const std::function<void(const Answer&)>& on_finished, Spinner& spinner,
                                const TalkFlags& talk) {
  bool any = false;
  const auto on_answer = [&](Answer answer) {
    if (answer.kind != Answer::Kind::kFinished) return;
    any = true;
    on_finished(answer);
  };
  const Run run = run_child(python, request_json, talk, on_answer, spinner);
  if (run.last && run.last->kind == Answer::Kind::kError) fail_reported(run.last->error);
  if (run.last) return "";
  if (!any && run.doing.empty()) fail_died(python, run);
  return how_it_died(run);
}

}  // namespace opscope
