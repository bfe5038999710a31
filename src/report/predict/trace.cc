// A predicted run as a trace: laid out as a measured one is, by the same writer.
#include <cmath>

#include "hardware/predict/predictor.h"
#include "report/predict/predict.h"
#include "report/times/times.h"

namespace opscope {
namespace {

Nanoseconds nanoseconds(double seconds) { return std::llround(seconds / kNanosecond); }

Measurement as_measured(const PredictedRun& run) {
  Measurement measured;
  measured.runs = 1;
  measured.environment.device = run.predictor->device().id;
  measured.environment.device_name =
      run.predictor->device().name + ", predicted, " + std::string(name(run.mode));
  measured.plain = measured.timed = {nanoseconds(run.seconds)};
  measured.on_device = run.mode == RunMode::kEager && !run.predictor->is_host();
  for (const OpShare& op : run.ops) {
    if (measured.on_device) {
      measured.host.push_back(nanoseconds(op.host_seconds));
      measured.host_begin.push_back(nanoseconds(op.host_begin));
      measured.device.push_back(nanoseconds(op.device_seconds));
      measured.device_begin.push_back(nanoseconds(op.begin));
    } else {
      measured.host.push_back(nanoseconds(op.seconds));
      measured.host_begin.push_back(nanoseconds(op.begin - op.host_seconds));
    }
  }
  return measured;
}

}  // namespace

std::string predicted_trace(const Profile& profile) {
  Graph graph = *profile.graph;
  graph.measurement = as_measured(profile.predicted);
  return chrome_trace(make_profile(graph, profile.options));
}

}  // namespace opscope
