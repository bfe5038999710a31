// What Python has to run the model for; of a file that C++ reads, its times are only read.
#include "app/models/measure.h"

#include <algorithm>
#include <array>

#include "app/models/models.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/capture/capture_reader.h"
#include "readers/results/profile_reader.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 2> kAgainst{"inductor", "inductor-max"};
constexpr std::uint64_t kMuchMemory = 2'000'000'000;

const char* run_flag(const MeasureRequest& request) {
  return !request.on.empty()  ? "--on"
         : request.warmup     ? "--warmup"
         : request.runs       ? "--runs"
         : request.min_time   ? "--min-time"
         : request.repeat_ops ? "--repeat-ops"
                              : nullptr;
}

Graph with_times(Graph graph, const MeasureRequest& request) {
  if (graph.measurement.empty())
    throw Error("there are no times in it, and a graph without its model cannot be run", request.model.model,
                "give the model itself, and save what is measured with --save; opscope profile shows costs");
  if (const char* const flag = run_flag(request))
    throw Error("the times in this file are of runs that were made", flag,
                "give the model itself to run it again");
  return graph;
}

void check(const ReconcileRequest& request) {
  CaptureRequest capture = request.capture;
  if (capture.training) throw Error("the tools count a forward pass only", "--training", "leave it out");
  if (capture.is_traced()) throw Error("the tools run the model itself", "--tracer", "leave it out");
  if (!capture.device.empty()) throw Error("the tools run on the CPU", "--device", "leave it out");
  for (const std::string& model : request.models) {
    capture.model = model;
    if (read_model(capture))
      throw Error("a graph in a file cannot be run by other tools", model, "give the model itself");
  }
}

void check(const InductorRequest& request) {
  if (std::ranges::find(kAgainst, request.against) == kAgainst.end())
    throw Error("nothing called '" + request.against + "' to compare with", "--against",
                did_you_mean(request.against, kAgainst,
                             "inductor, or inductor-max with frozen weights and templates"));
  CaptureRequest as_file = request.model;
  if (as_file.tracer != "auto" && as_file.tracer != "dynamo")
    throw Error("Inductor takes Dynamo's graphs", "--tracer", "leave it out, or --tracer dynamo");
  as_file.tracer = "auto";
  if (read_model(as_file))
    throw Error("Inductor needs the model, and this file has only its graph", as_file.model,
                "give the model itself");
}

}  // namespace

Graph measure(const MeasureRequest& request, Listener& listener) {
  const CaptureRequest& model = request.model;
  if (auto graph = read_model(model)) return with_times(*std::move(graph), request);
  if (model.tracer != "auto" && model.tracer != "eager")
    throw Error("a measurement is of real runs of the model itself", "--tracer", "leave it out");
  PythonWorker worker(listener);
  worker.run(model, "measure", [&](JsonWriter& json) {
    json.field("on", request.on.empty() ? std::nullopt : std::optional(request.on));
    json.field("warmup", request.warmup);
    json.field("runs", request.runs);
    json.field("min_time", request.min_time);
    json.field("repeat_ops", request.repeat_ops);
    json.field("keep_times", model.use_cache);
  });
  Graph graph = read_capture(worker.output(), "measurement of " + model.model);
  if (graph.measurement.empty()) throw Error("Python's answer came without times", model.model);
  return graph;
}

std::vector<Reconciliation> reconcile(const ReconcileRequest& request, Listener& listener,
                                      std::vector<std::string>& notes) {
  check(request);
  PythonWorker worker(listener);
  const auto more = [&](JsonWriter& json) {
    json.list("models", request.models);
    json.list("tools", request.tools);
  };
  worker.run(request.capture, "reconcile", more, PythonWorker::Leaves::kFiles);
  std::vector<Reconciliation> found;
  for (std::size_t i = 0; i < request.models.size(); ++i) {
    const std::string at = std::to_string(i), &model = request.models[i];
    const PeerRun run = read_peer_counts(read_file(worker.file(at + ".peers.json")), "tools on " + model);
    if (!run.error.empty()) {
      Reconciliation& failed = found.emplace_back();
      failed.model = model, failed.error = run.error, failed.hint = run.hint;
      continue;
    }
    const Graph graph = read_capture(read_file(worker.file(at + ".json")), "capture of " + model);
    found.push_back(reconcile(make_profile(graph), run.answers));
    if (run.weight_bytes > kMuchMemory)
      notes.push_back(model + ": the tools ran on the CPU, with " + format_bytes(Count{run.weight_bytes}) +
                      " of random weights");
  }
  return found;
}

InductorAnswer compare_with_inductor(const InductorRequest& request, Listener& listener) {
  check(request);
  PythonWorker worker(listener);
  const auto more = [&](JsonWriter& json) { json.field("against", request.against); };
  worker.run(request.model, "inductor", more, PythonWorker::Leaves::kFiles);
  const std::string where = request.against + " on " + request.model.model;
  InductorAnswer answer;
  answer.graph = read_capture(read_file(worker.file("capture.json")), where);
  answer.other = parse_kernels(read_file(worker.file("kernels.json")), where);
  answer.costs = estimate(answer.graph, Convention::kOpscope);
  answer.ours = make_partition(answer.graph, answer.costs, request.partition);
  // One graph is what people expect; several are compared each for itself.
  if (const std::size_t parts = answer.graph.parts.size(); parts > 1)
    answer.notes.push_back("Dynamo breaks it into " + std::to_string(parts) +
                           " graphs: no kernel crosses a graph break");
  return answer;
}

}  // namespace opscope
