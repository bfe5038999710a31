// Runs of a model under the clock, each beside one without it. Python makes the calls and hears how far they
// are.
#include <algorithm>

#include "base/error.h"
#include "python/session.h"
#include "torch/timing.h"

namespace opscope::python {

namespace {

// How often the clock's own code runs before it counts: its events are made, its code is in the cache.
constexpr std::uint32_t kClockWarmups = 1;

}  // namespace

void Session::set_lasting() { recording_->lasting = true; }

void Session::begin_timed_run() {
  recording_->timing = std::make_shared<engine::Timing>(recording_->device);
  recording_->timing->begin_run();
}

void Session::end_timed_run() { recording_->timing->end_run(); }

void Session::measure(const py::object& prepare, const py::object& call, const Plan& plan,
                      const py::object& progress) {
  set_watching(false);
  // Forward may write to them in one run and not in another.
  for (const auto& buffer : buffers_) recording_->journal(buffer);
  auto timing = std::make_shared<engine::Timing>(recording_->device);
  timing->expect(recording_->graph);
  recording_->timing = timing;

  // What the model gives is let go of after the run.
  const auto plain = [&] {
    const py::object inputs = prepare();
    timing->begin_plain_run();
    const py::object outputs = call(inputs);
    timing->end_plain_run();
  };
  const auto timed = [&](engine::Pace pace) {
    const py::object inputs = prepare();
    set_watching(true);
    timing->begin_run(pace);
    py::object outputs;
    try {
      outputs = call(inputs);
    } catch (...) {
      timing->abandon_run();
      throw;
    }
    timing->end_run();
    set_watching(false);
  };
  const auto report = [&](std::uint32_t done) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress.is_none()) progress(done);
  };

  for (std::uint32_t i = 0; i < plan.warmup; ++i) plain(), report(0);
  const auto both = [&] {
    timed(engine::Pace::kFree);
    if (timing->on_device()) timed(engine::Pace::kPaced);
  };
  for (std::uint32_t i = 0; i < kClockWarmups; ++i) both();
  timing->forget_runs();
  const auto began = engine::now();
  const auto seconds = [&] { return static_cast<double>(engine::now() - began) * 1e-9; };
  // Whichever of the two is first has what the other left in the caches: they take turns.
  for (std::uint32_t done = 0; done < plan.runs || (seconds() < plan.seconds && done < plan.most_runs);) {
    if (done % 2 == 0) {
      plain(), both();
    } else {
      both(), plain();
    }
    report(++done);
  }
  warmup_ = plan.warmup;
}

}  // namespace opscope::python
