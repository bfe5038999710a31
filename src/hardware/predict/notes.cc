// What a prediction rests on that a reader should know.
#include <fmt/format.h>

#include "base/text.h"
#include "hardware/predict/predictor.h"

namespace opscope {
namespace {

constexpr double kWorthNoting = 0.05;  // of the device's time

std::string borrowed_note(const Predictor& predictor) {
  const std::string& id = predictor.device().id;
  if (predictor.calibration() == nullptr)
    return id + " has no calibration, nor has a device like it: times are the least possible (the roofline)";
  return fmt::format("{} has no calibration: it is taken to reach the same part of its peaks as {}", id,
                     predictor.calibrated().id);
}

}  // namespace

std::vector<std::string> prediction_notes(const PredictedRun& run) {
  std::vector<std::string> notes;
  const Predictor& predictor = *run.predictor;
  if (predictor.calibration() == nullptr || predictor.is_borrowed())
    notes.push_back(borrowed_note(predictor));
  double busy = 0;
  for (const double part : run.by_source) busy += part;
  if (const double part = run.of(TimeSource::kRoofline);
      predictor.calibration() && part > kWorthNoting * busy)
    notes.push_back(format_percent(part, busy) +
                    " of the device's time is the roofline's: no rates are known for such ops");
  if (run.mode != RunMode::kEager || predictor.is_host()) return notes;
  if (!(run.host_seconds > 0))
    notes.push_back("what the host takes to call ops is not known here: the time is the device's alone");
  else if (predictor.host_is_borrowed())
    notes.push_back(
        fmt::format("what the host takes to call ops is taken from the calibration of {}: --host changes it, "
                    "--mode graph leaves it out",
                    predictor.host()->device));
  return notes;
}

}  // namespace opscope
