// Runs of a model under the clock, each beside one without it. Python makes the calls and hears how far they
// are. Each distinct op of a graph replayed alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "graph/signature.h"
#include "ops/replay_plan.h"
#include "python/bindings.h"
#include "python/line_timer.h"
#include "python/session.h"
#include "readers/results/op_times.h"
#include "torch/timing/replay.h"
#include "torch/timing/timing.h"

namespace opscope::python {
namespace {

// How often the clock's own code runs before it counts: its events are made, its code is in the cache.
constexpr std::uint32_t kClockWarmups = 1;

std::uint32_t version_of(const at::Tensor& tensor) {
  const auto& counter = tensor.unsafeGetTensorImpl()->version_counter();
  return counter.enabled() ? counter.current_version() : 0;
}

struct RepeatCounts {
  std::size_t stored = 0, measured = 0, failed = 0;
  std::size_t waited = 0;  // of the stored and measured: gaps in which a device had nothing to do are counted
};

// Looks each distinct op of a graph up among the stored times, replays those that are not there, stores what
// they took, and says of every other op why it was not replayed.
class OpRepeats {
 public:
  OpRepeats(Graph& graph, const engine::ReplayOptions& options, py::object progress)
      : graph_(graph),
        environment_(environment_key(graph.measurement.environment, engine::kernel_settings())),
        replayer_(options),
        progress_(std::move(progress)),
        plan_(make_replay_plan(graph)) {
    graph_.measurement.repeated.assign(graph_.ops.size(), kUnmeasured);
  }

  // Without it nothing is looked up or kept.
  void use_store(const std::string& path) {
    attempt([&] { store_.emplace(path); });
  }

  RepeatCounts run() {
    try {
      for (const auto& group : plan_.groups) {
        report();
        const auto time = time_of(group);
        if (time && time->waited) ++counts_.waited;
        for (const auto op : group.ops)
          graph_.measurement.repeated[op] =
              time ? static_cast<Nanoseconds>(std::llround(time->median_ns)) : kUnmeasured;
      }
    } catch (...) {  // what has been measured is kept
      save();
      throw;
    }
    report();
    save();
    add_notes();
    return counts_;
  }

  const ReplayPlan& plan() const { return plan_; }

 private:
  std::optional<OpTime> time_of(const ReplayGroup& group) {
    std::optional<OpTime> known;
    attempt([&] { known = store_ ? store_->find(environment_, group.signature) : std::nullopt; });
    if (known) {
      ++counts_.stored;
      return known;
    }
    try {
      const py::gil_scoped_release others_run;
      fresh_.push_back({group.signature, replayer_.replay(graph_, graph_.ops[group.ops.front()])});
    } catch (const Error& reason) {
      ++counts_.failed;
      for (const auto op : group.ops) add_not_replayed(plan_.skipped, graph_, graph_.ops[op], reason.what());
      return std::nullopt;
    }
    ++counts_.measured;
    return fresh_.back().time;
  }

  void report() {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    const auto done = counts_.stored + counts_.measured + counts_.failed;
    if (!progress_.is_none()) progress_(done, plan_.groups.size(), "repeating ops");
  }

  void save() {
    attempt([&] {
      if (store_) store_->add(environment_, fresh_);
    });
  }

  // A store that fails is told of and left alone.
  template <class Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const Error& problem) {
      store_.reset();
      note("op_times", "", "", fmt::format("{} ({}): {}", problem.what(), problem.where(), problem.hint()));
    }
  }

  void note(std::string kind, std::string op, std::string module, std::string message) {
    graph_.diagnostics.push_back({std::move(kind), std::move(op), std::move(module), std::move(message)});
  }

  void add_notes() {
    std::size_t calls = 0;
    for (const auto& group : plan_.groups) calls += group.ops.size();
    note("repeated", "", "",
         fmt::format(
             "{} calls are {} distinct ops: {} measured alone, {} from stored times, {} not replayed; {} "
             "other calls do no work",
             calls, plan_.groups.size(), counts_.measured, counts_.stored, counts_.failed, plan_.idle));
    if (counts_.waited > 0)
      note("repeated", "", "",
           fmt::format(
               "{} of the distinct ops wait for the host themselves: the device's idle time is in theirs",
               counts_.waited));
    for (const auto& row : plan_.skipped)
      note("not_repeated", row.op, row.module,
           fmt::format("{} not replayed: {}", row.calls == 1 ? "1 call" : fmt::format("{} calls", row.calls),
                       row.reason));
  }

  Graph& graph_;
  const std::string environment_;
  engine::Replayer replayer_;
  py::object progress_;
  ReplayPlan plan_;
  std::optional<OpTimeStore> store_;
  std::vector<OpTimeStore::Row> fresh_;
  RepeatCounts counts_;
};

py::list rows_of(const std::vector<NotReplayed>& skipped) {
  py::list rows;
  for (const auto& row : skipped) rows.append(py::make_tuple(row.op, row.reason, row.calls));
  return rows;
}

// What each call takes alone: (seconds, their deviation, seconds of the host, gaps are counted), or why it
// could not be run.
py::list replay_calls(const std::vector<std::string>& texts, std::size_t cache_bytes, double min_seconds,
                      bool as_in_model, const py::object& progress) {
  const Graph graph = graph_of_calls(texts);
  engine::Replayer replayer(
      {.cache_bytes = cache_bytes, .min_seconds = min_seconds, .as_in_model = as_in_model});
  py::list rows;
  for (const Op& op : graph.ops) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    try {
      OpTime time;
      {
        const py::gil_scoped_release others_run;
        time = replayer.replay(graph, op);
      }
      rows.append(py::make_tuple(time.median_ns * kNanosecond, time.deviation_ns * kNanosecond,
                                 time.host_ns * kNanosecond, time.waited));
    } catch (const Error& reason) {
      rows.append(py::str(reason.what()));
    }
    if (!progress.is_none()) progress(rows.size(), graph.ops.size());
  }
  return rows;
}

py::dict repeat_ops(Graph& graph, const std::optional<std::string>& store, std::size_t cache_bytes,
                    double min_seconds, const py::object& progress) {
  OpRepeats repeats(graph, {.cache_bytes = cache_bytes, .min_seconds = min_seconds}, progress);
  const auto path = store ? *store : OpTimeStore::default_path();
  if (!path.empty()) repeats.use_store(path);
  const auto counts = repeats.run();
  using namespace py::literals;
  const auto& plan = repeats.plan();
  return py::dict("signatures"_a = plan.groups.size(), "stored"_a = counts.stored,
                  "measured"_a = counts.measured, "failed"_a = counts.failed, "waited"_a = counts.waited,
                  "idle"_a = plan.idle, "not_replayed"_a = rows_of(plan.skipped));
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
    if (!state.storage || recording_->journal.has(state.tensor()) ||
        version_of(state.tensor()) == state.version)
      continue;
    if (count++ == 0) first = graph.text(graph.values[recording_->values.of(state.tensor())].name);
  }
  if (count == 0) return;
  if (count > 1) first += " and " + std::to_string(count - 1) + " more";
  graph.diagnostics.push_back(
      {"changed", "", "", "a run wrote to " + first + ", the first did not, and so it was not put back"});
}

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
  follow_lines(*timing, [&] { timed(engine::Pace::kByLine); });
  warmup_ = plan.warmup;
  note_changed_weights();
}

// One more run: on which lines the time outside of ops passes. Where a debugger or a tool for coverage has
// the lines already, it is known by module only.
void Session::follow_lines(engine::Timing& timing, const std::function<void()>& run) {
  LineTimer lines(foreign_folders_);
  if (!lines.start()) return;
  run();
  lines.stop();
  timing.take_lines(lines.take());
}

void bind_replay(py::module_& m) {
  // `store` is a file, "" for none, None for the one in the cache folder. Gives counts of distinct ops, of
  // calls that do no work, and (op, reason, calls) of all others that have no time.
  m.def("replay_calls", replay_calls, py::arg("texts"), py::kw_only(), py::arg("cache_bytes") = 0,
        py::arg("min_seconds") = 0.02, py::arg("as_in_model") = false, py::arg("progress") = py::none());
  m.def("call_texts", [](const Graph& graph) {
    std::vector<std::pair<std::string, std::size_t>>
        texts;  // of ops that can be run alone, and how often they run
    for (const auto& group : make_replay_plan(graph).groups)
      texts.emplace_back(call_text(graph, graph.ops[group.ops.front()]), group.ops.size());
    return texts;
  });
  m.def("repeat_ops", repeat_ops, py::arg("graph"), py::kw_only(), py::arg("store") = py::none(),
        py::arg("cache_bytes") = 0, py::arg("min_seconds") = engine::ReplayOptions{}.min_seconds,
        py::arg("progress") = py::none());
  // (signature, ops) of each distinct op.
  m.def("op_signatures", [](const Graph& graph) {
    py::list rows;
    for (const auto& group : make_replay_plan(graph).groups)
      rows.append(py::make_tuple(group.signature, group.ops));
    return rows;
  });
  m.def("repeated_times", [](const Graph& graph) {
    py::list times;
    for (const auto time : graph.measurement.repeated)
      times.append(time == kUnmeasured ? py::object(py::none()) : py::int_(time));
    return times;
  });
  m.attr("KEEPS_OP_TIMES") = OpTimeStore::available();
}

}  // namespace opscope::python
