// One child runs all tracers, so that the model is built once.
#include "app/models/trace.h"

#include <algorithm>
#include <filesystem>

#include "app/models/exported_file.h"
#include "app/models/models.h"
#include "app/request/fields.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/files.h"
#include "readers/capture/capture_reader.h"

namespace opscope {
namespace {

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

// The tracer asked for, and the engine to compare it with; without one all that are compared.
std::vector<std::string> tracers_for(const std::string& asked) {
  if (asked == "auto") return {kComparedTracers.begin(), kComparedTracers.end()};
  return is_engine(asked) ? std::vector{asked} : std::vector<std::string>{"static", asked};
}

void add_row(const TracedRow& answer, const PythonWorker& worker, Traces& traces) {
  TracerRow row;
  traces.graph_of.push_back(nullptr);
  if (answer.failure.reason.empty()) {
    const std::string where = "capture by " + answer.tracer;
    const Graph& graph =
        traces.graphs.emplace_back(read_capture(read_file(worker.file(answer.capture)), where));
    traces.graph_of.back() = &graph;
    row = tracer_row(answer.tracer, make_profile(graph));
    if (is_engine(answer.tracer) && !graph.capture.tracer.empty()) row.tracer = graph.capture.tracer;
  } else {
    row.tracer = answer.tracer;
    row.failure = answer.failure;
  }
  row.is_engine = is_engine(answer.tracer);
  row.seconds = answer.seconds;
  traces.rows.push_back(std::move(row));
}

// The child gets absolute paths; the user knows the file by what was typed.
std::string as_typed(const std::string& path, const TraceFiles& files) {
  if (absolute(files.save_graph) == path) return files.save_graph;
  const auto found =
      std::ranges::find_if(files.exports, [&](const std::string& each) { return absolute(each) == path; });
  return found == files.exports.end() ? path : *found;
}

// Python saves the first of PyTorch's tracers that works.
void say_whose_code(Traces& traces) {
  const Graph* graph = traces.first_graph();
  for (SavedFile& file : traces.files)
    if (graph && file.kind == "python" && file.failure.reason.empty())
      file.notes.insert(file.notes.begin(), "the graph of " + graph->capture.tracer);
}

// Every line is about the model, or beside the file's own name: that it is the place of an error says
// nothing.
void forget_places(const std::string& model, const TraceFiles& files, Traces& traces) {
  const auto forget = [&](TraceFailure& failure) {
    const bool known = failure.where == model || as_typed(failure.where, files) != failure.where ||
                       std::ranges::any_of(traces.graphs, [&](const Graph& graph) {
                         return graph.capture.model == failure.where;
                       });
    if (known) failure.where.clear();
  };
  for (TracerRow& row : traces.rows) forget(row.failure);
  for (TracerRow& row : traces.exports) forget(row.failure);
  for (SavedFile& file : traces.files) forget(file.failure);
}

}  // namespace

Traces trace(const CaptureRequest& request, const TraceFiles& files, Listener& listener) {
  PythonWorker worker(listener);
  std::vector<std::string> exports;
  for (const std::string& path : files.exports) exports.push_back(absolute(path));
  const auto more = [&](JsonWriter& json) {
    json.list("tracers", tracers_for(request.tracer));
    json.field("save_graph", files.wants_code() ? absolute(files.save_graph) : "");
    json.field("weights", files.weights);
    json.list("exports", exports);
    json.field("strict_static", request.tracer == "static");  // one that needs data is an error, no real run
  };
  worker.run(request, "trace", more, PythonWorker::Leaves::kFiles);
  TraceAnswer answer = parse_trace_answer(read_file(worker.file("trace.json")), "trace of " + request.model);
  Traces traces;
  for (const TracedRow& row : answer.rows) add_row(row, worker, traces);
  for (SavedFile& file : answer.files) {
    if (file.kind != "python") traces.exports.push_back(exported_row(file));
    file.path = as_typed(file.path, files);
  }
  traces.files = std::move(answer.files);
  say_whose_code(traces);
  forget_places(request.model, files, traces);
  return traces;
}

const Graph* Traces::first_graph() const {
  const Graph* first = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!graph_of[i]) continue;
    if (!rows[i].is_engine) return graph_of[i];
    if (!first) first = graph_of[i];
  }
  return first;
}

namespace {

std::string line_of(const CaptureRequest& base, std::span<const CaptureRequest> requests) {
  std::string line;
  JsonWriter json(line);
  json.begin_array(kInline);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    json.begin_object(kInline);
    json.field("index", i);
    write_changes(json, base, requests[i]);
    json.end_object();
  }
  json.end_array();
  return line + "\n";
}

}  // namespace

void ModelPoints::capture(const CaptureRequest& base, std::span<const CaptureRequest> requests,
                          const Give& give) {
  is_read_here(model_file_kind(base.model)) ? read_files(requests, give) : ask(base, requests, give);
}

void ModelPoints::fail(std::size_t index, const Error& problem, const Give& give) {
  if (!first_problem_) first_problem_ = problem;
  give(index, nullptr, problem.what());
}

void ModelPoints::read_files(std::span<const CaptureRequest> requests, const Give& give) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    signals_.check();
    say(requests[i].model);
    listener_.waiting();
    std::optional<Graph> graph;
    try {
      graph = read_model(requests[i]);
    } catch (const Error& error) {
      fail(i, error, give);
    }
    if (graph) give(i, &*graph, "");
  }
  listener_.resting();
}

void ModelPoints::ask(const CaptureRequest& base, std::span<const CaptureRequest> requests,
                      const Give& give) {
  if (!worker_) worker_.emplace(listener_);
  const std::string output = worker_->file("captures");
  const std::string request = to_json(base, "sweep", [&](JsonWriter& json) { json.field("output", output); });
  worker_->ask(request, line_of(base, requests), requests.size(), [&](const Answer& answer) {
    say(base.model);
    const auto& [what, where, hint, traceback, candidates] = answer.error;
    if (!what.empty()) return fail(answer.index, Error(what, where, hint), give);
    const std::string file = output + "." + std::to_string(answer.index);
    const Graph graph = read_capture(read_file(file), "capture of " + base.model);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    give(answer.index, &graph, "");
  });
}

}  // namespace opscope
