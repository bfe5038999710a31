// Runs requests in Python, and turns whatever goes wrong there into one Error. Lenient where a line is none
// of the protocol's; strict on results.
#include "app/worker/python_worker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <sstream>

#include "analyse/fusion/comparison.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/json/dom.h"

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

ChildError error_in(const dom::Item& item) {
  return {item.text_or("what"), item.text_or("where"), item.text_or("hint"), item.text_or("traceback"),
          item.texts("candidates")};
}

// Nothing where there is no error; an error without words is one all the same.
ChildError error_at(const dom::Item& item) {
  const auto found = item.find("error");
  ChildError error = found ? error_in(*found) : ChildError();
  if (found && error.what.empty()) error.what = "it failed without a message";
  return error;
}

TraceFailure failure_at(const dom::Item& item) {
  const ChildError error = error_at(item);
  return {.reason = error.what, .where = error.where, .hint = error.hint, .detail = error.traceback};
}

// "1x128", or "" for an input that is no tensor.
std::string shape_at(const dom::Item& input) {
  const auto sizes = input.find("shape");
  if (!sizes) return "";
  std::vector<std::int64_t> shape;
  for (const dom::Item size : sizes->items()) shape.push_back(size.integer());
  return format_shape(shape);
}

std::vector<NodeId> nodes_at(const dom::Item& kernel, std::string_view key) {
  std::vector<NodeId> nodes;
  for (const dom::Item node : kernel.items(key)) nodes.push_back(static_cast<NodeId>(node.natural()));
  return nodes;
}

Answer answer_in(const dom::Item& line) {
  using enum Answer::Kind;
  if (const auto status = line.find("status")) return {.kind = kStatus, .doing = std::string(status->text())};
  if (const auto part = line.find("progress"))
    return {.kind = kProgress,
            .doing = part->text_or("doing"),
            .done = part->natural_or("done"),
            .total = part->natural_or("total")};
  if (const auto part = line.find("finished"))
    return {.kind = kFinished,
            .error = error_at(*part),
            .index = part->natural_or("index"),
            .cacheable = part->boolean_or("cacheable")};
  if (const auto part = line.find("error")) return {.kind = kError, .error = error_in(*part)};
  if (const auto part = line.find("done")) return {.kind = kDone, .cacheable = part->boolean_or("cacheable")};
  return {};
}

// `what` the text should be is for the error.
template <class Read>
auto answer_from(std::string_view json, const std::string& where, const std::string& what, Read read) {
  const dom::Document document(json, {where}, what);
  try {
    return read(document.root());
  } catch (const Error& error) {
    throw Error("not " + what + ": " + error.what(), where);
  }
}

Answer parse_answer(std::string_view line) {
  try {
    return answer_from(line, "", "an answer", answer_in);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void fail_reported(const ChildError& error) {
  std::string hint = error.hint;
  if (!error.candidates.empty())
    hint = "did you mean " + join(std::views::take(error.candidates, 3)) + "?" +
           (hint.empty() ? "" : "   " + hint);
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
    const Answer answer = parse_answer(line);
    using enum Answer::Kind;
    if (answer.kind == kFinished) {
      listener_.python_wrote(answer.error.traceback);
      return enough(answer);
    }
    if (answer.kind == kError || answer.kind == kDone) last_ = answer;
    if (answer.kind == kStatus || answer.kind == kProgress) doing_ = answer.doing;
    if (answer.kind == kStatus && !in_parts_) listener_.status(doing_);
    if (answer.kind == kProgress) listener_.progress(answer.done, answer.total, doing_);
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

TraceAnswer parse_trace_answer(std::string_view json, const std::string& where) {
  return answer_from(json, where, "an answer to trace", [](const dom::Item& document) {
    TraceAnswer answer;
    for (const dom::Item row : document.items("rows"))
      answer.rows.push_back(
          {row.text_or("tracer"), row.text_or("capture"), row.real_or("seconds"), failure_at(row)});
    for (const dom::Item file : document.items("files"))
      answer.files.push_back({file.text_or("path"), file.text_or("kind"), file.real_or("seconds"),
                              file.texts("notes"), failure_at(file)});
    return answer;
  });
}

ModelList parse_model_list(std::string_view json, const std::string& where) {
  return answer_from(json, where, "a list of models", [](const dom::Item& document) {
    ModelList list;
    for (const dom::Item model : document.items("models"))
      list.models.push_back(
          {std::string(model.text("name")), model.text_or("source"), model.text_or("family")});
    for (const dom::Item file : document.items("dependencies"))
      list.dependencies.push_back(
          {std::string(file.text("path")), file.at("bytes").natural(), file.at("modified_ns").integer()});
    return list;
  });
}

PlannedInputs parse_planned_inputs(std::string_view json, const std::string& where) {
  return answer_from(json, where, "a plan of inputs", [](const dom::Item& document) {
    PlannedInputs plan;
    for (const dom::Item input : document.items("inputs"))
      plan.inputs.push_back({input.text_or("name"), shape_at(input), input.text_or("dtype"),
                             input.text_or("value"), input.text_or("why")});
    plan.notes = document.texts("notes");
    return plan;
  });
}

OtherFusion parse_kernels(std::string_view json, const std::string& where) {
  return answer_from(json, where, "a list of kernels", [](const dom::Item& document) {
    const auto text = [](const dom::Item& item, std::string_view key) { return std::string(item.text(key)); };
    OtherFusion fusion;
    fusion.compiler = "Inductor";
    fusion.setting = text(document, "setting");
    fusion.version = text(document, "torch");
    fusion.frozen = document.at("frozen").boolean();
    for (const dom::Item kernel : document.items("kernels"))
      fusion.kernels.push_back({text(kernel, "name"), text(kernel, "target"),
                                kernel_kind_from_name(kernel.text("kind")), nodes_at(kernel, "nodes"),
                                nodes_at(kernel, "rest")});
    for (const dom::Item cut : document.items("cuts"))
      fusion.cuts.push_back({static_cast<Id>(cut.at("from").natural()),
                             static_cast<Id>(cut.at("to").natural()), text(cut, "reason")});
    return fusion;
  });
}

}  // namespace opscope
