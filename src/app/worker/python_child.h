// The Python of the active environment, run when a Python model has to be captured or listed. Its stdout
// carries the protocol; its stderr is kept and shown only when something went wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/worker/child_process.h"
#include "app/worker/protocol.h"
#include "app/worker/talk.h"
#include "app/worker/terminal.h"

namespace opscope {

// What a child reports, in the words for its user.
[[noreturn]] void fail_reported(const ChildError& error);

// $OPSCOPE_PYTHON, the Python beside this program, the active virtual environment's, or python3 on the PATH.
// Throws Error where there is none.
std::string find_python();

// Runs one request to its end. Returns whether the result may be cached; throws Error for what the child
// reports or for its death, and Interrupted after Ctrl-C, with the child gone.
bool run_python(const std::string& python, const std::string& request_json, const TalkFlags& talk);

// Runs a request for many models, telling of each as it is finished. Returns how the child ended where it
// died on the way, "" where it came to the end.
std::string run_python_for_many(const std::string& python, const std::string& request_json,
                                const std::function<void(const Answer&)>& on_finished, Spinner& spinner,
                                const TalkFlags& talk);

// The parts of it, for what talks with a child that lives on: its start, how a run ended, and what to throw
// then.
ChildProcess start_python(const std::string& python, const std::string& request_json,
                          const std::string& stderr_path,
                          ChildProcess::Stdin stdin_is = ChildProcess::Stdin::kNothing);
struct ChildRun {
  std::optional<Answer> last;  // kError or kDone; none where it ended without a word of the protocol
  std::string doing, words;    // its last status, and all that it wrote to stderr
  int status = 0;
};
[[noreturn]] void fail_died(const std::string& python, const ChildRun& run);

}  // namespace opscope
