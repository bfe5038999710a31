// Runs of a model under the clock, each beside one without it. Python makes the calls and hears how far they
// are.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "python/session.h"
#include "torch/timing/timing.h"

namespace opscope::python {

namespace {

// How often the clock's own code runs before it counts: its events are made, its code is in the cache.
constexpr std::uint32_t kClockWarmups = 1;

std::uint32_t version_of(const at::Tensor& tensor) {
  const auto& counter = tensor.unsafeGetTensorImpl()->version_counter();
  return counter.enabled() ? counter.current_version() : 0;
}

}  // namespace

// As asked for, or judged by the time that those so far took; 0 where there is nothing to judge by.
std::uint32_t Session::Plan::expected_runs(std::uint32_t done, double passed) const {
  if (runs == most_runs) return runs;
  if (done == 0 || passed <= 0) return 0;
  const double in_time = std::ceil(done * seconds / passed);
  return std::max(runs, in_time < most_runs ? static_cast<std::uint32_t>(in_time) : most_runs);
}

// Forward may write to them in one run and not in another. Weights are too large to keep on the chance.
void Session::journal_before_runs() {
  const auto journal = [&](const at::Tensor& tensor) {
    if (!tensor.key_set().has(c10::DispatchKey::Python))
      recording_->journal.keep(tensor);  // a wrapper has no bytes
  };
  for (auto& [input, version, is_written] : inputs_) {
    is_written = recording_->journal.has(input);
    journal(input);
    version = version_of(input);
  }
  std::ranges::for_each(buffers_, journal);
  std::ranges::for_each(state_.attribute_tensors(), journal);
  for (auto& state : state_.tensors()) state.version = version_of(state.tensor());
}

void Session::before_run() {
  at::autocast::clear_cache();
  for (const auto& [input, version, is_written] : inputs_)
    if (is_written || input.is_inference() || version_of(input) != version)
      recording_->journal.restore(input);
}

void Session::note_changed_weights() {
  auto& graph = recording_->graph;
  std::string first;
  std::size_t count = 0;
  for (const auto& state : state_.tensors()) {
    if (recording_->journal.has(state.tensor()) || version_of(state.tensor()) == state.version) continue;
    if (count++ == 0) first = graph.text(graph.values[recording_->values.of(state.tensor())].name);
  }
  if (count == 0) return;
  if (count > 1) first += " and " + std::to_string(count - 1) + " more";
  graph.diagnostics.push_back(
      {"changed", "", "", "a run wrote to " + first + ", the first did not, and so it was not put back"});
}

void Session::set_lasting() { recording_->lasting = true; }

void Session::begin_timed_run() {
  recording_->timing = std::make_shared<engine::Timing>(recording_->device);
  recording_->timing->begin_run();
}

void Session::end_timed_run() { recording_->timing->end_run(); }

void Session::measure(const py::object& prepare, const py::object& call, const Plan& plan,
                      const py::object& progress) {
  set_watching(false);
  journal_before_runs();
  auto timing = std::make_shared<engine::Timing>(recording_->device);
  timing->expect(recording_->graph);
  recording_->timing = timing;

  const auto prepared = [&]() -> py::object {
    before_run();
    return prepare();
  };
  // What the model gives is let go of after the run.
  const auto plain = [&] {
    const py::object inputs = prepared();
    timing->begin_plain_run();
    const py::object outputs = call(inputs);
    timing->end_plain_run();
  };
  const auto timed = [&](engine::Pace pace) {
    const py::object inputs = prepared();
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
  auto began = engine::now();
  const auto seconds = [&] { return static_cast<double>(engine::now() - began) * kNanosecond; };
  const auto report = [&](std::uint32_t done) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress.is_none()) progress(done, plan.expected_runs(done, seconds()));
  };

  for (std::uint32_t i = 0; i < plan.warmup; ++i) plain(), report(0);
  const auto both = [&] {
    timed(engine::Pace::kFree);
    if (timing->on_device()) timed(engine::Pace::kPaced);
  };
  for (std::uint32_t i = 0; i < kClockWarmups; ++i) both();
  timing->forget_runs();
  began = engine::now();
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
  note_changed_weights();
}

}  // namespace opscope::python
