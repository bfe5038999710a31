// Asks Python to run the model; a file that C++ reads is only read.
#include "app/models/measure.h"

#include "app/models/models.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/files.h"
#include "readers/capture/capture_reader.h"

namespace opscope {
namespace {

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

std::string request_json(const MeasureRequest& request, const std::string& output) {
  const auto optional = [](JsonWriter& json, std::string_view key, const auto& value) {
    json.key(key);
    value ? json.value(*value) : json.null();
  };
  return to_json(request.model, "measure", [&](JsonWriter& json) {
    optional(json, "on", request.on.empty() ? std::nullopt : std::optional(request.on));
    optional(json, "warmup", request.warmup);
    optional(json, "runs", request.runs);
    optional(json, "min_time", request.min_time);
    json.field("repeat_ops", request.repeat_ops);
    json.field("keep_times", request.model.use_cache);
    json.field("output", output);
  });
}

}  // namespace

Graph measure(const MeasureRequest& request, Listener& listener) {
  const CaptureRequest& model = request.model;
  if (auto graph = read_model(model)) return with_times(*std::move(graph), request);
  if (model.tracer != "auto" && model.tracer != "eager")
    throw Error("a measurement is of real runs of the model itself", "--tracer", "leave it out");
  PythonWorker worker(listener);
  const std::string output = worker.file("measured.json");
  worker.run(request_json(request, output));
  Graph graph = read_capture(read_file(output), "measurement of " + model.model);
  if (graph.measurement.empty()) throw Error("Python's answer came without times", model.model);
  return graph;
}

}  // namespace opscope
