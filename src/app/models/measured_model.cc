// Asks Python to run the model; a file that C++ reads is only read.
#include "app/models/measured_model.h"

#include "app/models/models.h"
#include "app/worker/python_child.h"
#include "app/worker/signals.h"
#include "app/worker/temporary_folder.h"
#include "base/error.h"
#include "base/files.h"
#include "readers/capture/capture_reader.h"

namespace opscope {
namespace {

const char* run_flag(const MeasureRequest& measure) {
  return !measure.on.empty()  ? "--on"
         : measure.warmup     ? "--warmup"
         : measure.runs       ? "--runs"
         : measure.min_time   ? "--min-time"
         : measure.repeat_ops ? "--repeat-ops"
                              : nullptr;
}

Graph with_times(Graph graph, const CaptureRequest& capture, const MeasureRequest& measure) {
  if (graph.measurement.empty())
    throw Error("there are no times in it, and a graph without its model cannot be run", capture.model,
                "give the model itself, and save what is measured with --save; opscope profile shows costs");
  if (const char* const flag = run_flag(measure))
    throw Error("the times in this file are of runs that were made", flag,
                "give the model itself to run it again");
  return graph;
}

void check_tracer(const std::string& tracer) {
  if (tracer == "auto" || tracer == "eager") return;
  throw Error("a measurement is of real runs of the model itself", "--tracer", "leave it out");
}

Graph run_model(const CaptureRequest& capture, const MeasureRequest& measure, const TalkFlags& talk) {
  const SignalsNoted signals;
  const TemporaryFolder folder;
  const std::string output = folder.file("measured.json");
  run_python(find_python(), measure_request_json(capture, measure, output), talk);
  Graph graph = read_capture(read_file(output), "measurement of " + capture.model);
  if (graph.measurement.empty()) throw Error("Python's answer came without times", capture.model);
  return graph;
}

}  // namespace

Graph measured_model(const CaptureRequest& capture, const MeasureRequest& measure, const TalkFlags& talk) {
  if (auto graph = read_model(capture)) return with_times(*std::move(graph), capture, measure);
  check_tracer(capture.tracer);
  return run_model(capture, measure, talk);
}

}  // namespace opscope
