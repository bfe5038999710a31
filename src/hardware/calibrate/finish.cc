#include "hardware/calibrate/finish.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "base/text.h"
#include "hardware/predict/fit.h"
#include "hardware/predict/known_calibrations.h"

namespace opscope {
namespace {

// Of an op of a kind that was not timed: what most kinds take.
double usual_dispatch(const Calibration& calibration) {
  std::vector<double> seconds;
  for (const auto& [op, each] : calibration.host_ops)
    if (op.find('-') == std::string::npos) seconds.push_back(each);  // not those of a group beside its op's
  return seconds.empty() ? calibration.host.dispatch : statistics(std::move(seconds)).median;
}

// A host beside a GPU runs ahead, and what it takes in a model is mostly the model's own Python: several
// times what the calls take alone. That was fitted on runs of whole models beside the GPU that opscope knows
// best; this host is as much slower as its own calls are.
void as_in_models(Calibration& calibration) {
  HostCosts& host = calibration.host;
  host.pace = host.op + host.view + host.module_call;
  for (const CalibrationPointer& known : known_calibrations()) {
    const HostCosts& there = known->host;
    if (!(there.pace > 0) || !(host.pace > 0)) continue;
    const double slower = host.pace / there.pace;
    for (double HostCosts::*cost :
         {&HostCosts::op, &HostCosts::module_call, &HostCosts::view, &HostCosts::slice, &HostCosts::gradient,
          &HostCosts::backward_op, &HostCosts::backward_view, &HostCosts::parameter})
      host.*cost = there.*cost * slower;
    host.source = fmt::format("of models beside {}, times {:.2g}: the ratio of the hosts' own call times",
                              known->device_name, slower);
    calibration.runs.host_spread = known->runs.host_spread;
    return;
  }
}

}  // namespace

void widen(Calibration& calibration, double drift) {
  if (!(drift > kSteadyClocks)) {
    calibration.facts.emplace_back("steadiness", fmt::format("an op that was timed throughout varied by {}",
                                                             format_percent(drift, 1.0)));
    return;
  }
  calibration.facts.emplace_back(
      "steadiness", fmt::format("not steady: an op that was timed throughout varied by {}; intervals are "
                                "wider by that. Calibrate again when the machine is idle",
                                format_percent(drift, 1.0)));
  // From p10 to p90 a normal deviate goes 2.56 standard deviations.
  const double deviation = drift / 2.56;
  for (FamilyRates& rates : calibration.families) rates.spread = std::hypot(rates.spread, deviation);
  for (Likeness& likeness : calibration.likenesses) {
    likeness.noise = std::hypot(likeness.noise, deviation);
    if (likeness.trees > 0) likeness.trees = std::hypot(likeness.trees, deviation);
  }
}

std::string finished_calibration(Calibration about, std::span<const std::string> list,
                                 const CalibrationJournal& journal) {
  std::vector<MeasuredCall> calls;
  for (const TimedCall& timed : journal.calls())
    if (timed.refused.empty() && timed.call < list.size())
      calls.push_back({.text = list[timed.call],
                       .seconds = timed.seconds,
                       .deviation = timed.deviation,
                       .host_seconds = timed.host_seconds});
  if (calls.empty()) throw Error("no op could be timed", journal.path(), "give it more --time");
  add_features(calls);
  about.is_measured = true;
  about.facts.emplace_back("calls", fmt::format("{} of {} in the list, in {}", calls.size(), list.size(),
                                                format_seconds(journal.spent())));
  fit_families(about, calls);
  about.host.dispatch = usual_dispatch(about);
  if (about.kind == "gpu") as_in_models(about);
  widen(about, clock_drift(journal.references()));
  return write_calibration(about, calls);
}

}  // namespace opscope
