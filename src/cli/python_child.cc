// Runs a request in Python: shows what it waits for, and turns whatever goes wrong there into one Error.
#include "cli/python_child.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/child_process.h"
#include "cli/protocol.h"
#include "cli/signals.h"
#include "cli/temporary_folder.h"
#include "cli/terminal.h"

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

// It ended without a word of the protocol: say how, and the last that it wrote.
[[noreturn]] void fail_died(const std::string& python, int status, const std::string& doing,
                            const std::string& words) {
  if (words.find("No module named opscope") != std::string::npos ||
      words.find("No module named 'opscope'") != std::string::npos)
    throw Error("the opscope package is not installed for this Python", python,
                "install it there, or set OPSCOPE_PYTHON to a Python that has it");
  std::string what = "Python ended without an answer (" + how_it_ended(status) + ")";
  if (!doing.empty()) what += " while " + doing;
  const std::string last = last_lines(words, 3);
  throw Error(what, python, last.empty() ? "--debug shows all that it wrote" : last);
}

[[noreturn]] void fail_reported(const ChildError& error, const std::string& model) {
  std::string hint = error.hint;
  if (const std::string near = did_you_mean(model, error.candidates); !near.empty())
    hint = hint.empty() ? near : near + "   " + hint;
  if (hint.empty() && !error.traceback.empty()) hint = "--debug shows where, with Python's traceback";
  throw Error(error.what.empty() ? "the capture failed" : error.what, error.where, hint);
}

}  // namespace

bool run_python(const std::string& python, const std::string& request_json, const std::string& model,
                const TalkFlags& talk) {
  const SignalsNoted signals;
  const TemporaryFolder folder;
  const std::string stderr_path = folder.file("stderr");
  Spinner spinner(!talk.quiet);
  spinner.say("starting Python");
  std::string doing;
  std::optional<Answer> last;
  ChildProcess child({python, "-m", "opscope.capture", request_json}, stderr_path);
  child.read_lines(
      [&](std::string_view line) {
        Answer answer = parse_answer(line);
        if (answer.kind == Answer::Kind::kStatus) spinner.say(doing = answer.status);
        if (answer.kind == Answer::Kind::kError || answer.kind == Answer::Kind::kDone)
          last = std::move(answer);
      },
      [&] {
        signals.check();
        spinner.turn();
      });
  const int status = child.wait();
  spinner.clear();
  signals.check();
  const std::string words = read_or_empty(stderr_path);
  if (talk.debug) std::fwrite(words.data(), 1, words.size(), stderr);
  if (!last) fail_died(python, status, doing, words);
  if (last->kind == Answer::Kind::kError) {
    if (talk.debug) std::fputs(last->error.traceback.c_str(), stderr);
    fail_reported(last->error, model);
  }
  return last->cacheable;
}

}  // namespace opscope
