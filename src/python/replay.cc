// Looks each distinct op of a graph up among the stored times, replays those that are not there, stores what
// they took, and says of every other op why it was not replayed.
#include "torch/timing/replay.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/error.h"
#include "graph/signature.h"
#include "ops/replay_plan.h"
#include "python/bindings.h"
#include "readers/results/op_times.h"

namespace opscope::python {
namespace {

struct RepeatCounts {
  std::size_t signatures = 0, stored = 0, measured = 0, failed = 0;
  std::size_t waited = 0;  // of the stored and measured: gaps in which a device had nothing to do are counted
};

class OpRepeats {
 public:
  OpRepeats(Graph& graph, const engine::ReplayOptions& options, py::object progress)
      : graph_(graph),
        environment_(environment_key(graph.measurement.environment, engine::kernel_settings())),
        replayer_(options),
        progress_(std::move(progress)),
        plan_(make_replay_plan(graph)) {
    graph_.measurement.repeated.assign(graph_.ops.size(), kUnmeasured);
    counts_.signatures = plan_.groups.size();
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
    if (!progress_.is_none()) progress_(done, counts_.signatures, "repeating ops");
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
             calls, counts_.signatures, counts_.measured, counts_.stored, counts_.failed, plan_.idle));
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

py::dict repeat_ops(Graph& graph, const std::optional<std::string>& store, std::size_t cache_bytes,
                    double min_seconds, const py::object& progress) {
  OpRepeats repeats(graph, {.cache_bytes = cache_bytes, .min_seconds = min_seconds}, progress);
  const auto path = store ? *store : OpTimeStore::default_path();
  if (!path.empty()) repeats.use_store(path);
  const auto counts = repeats.run();
  using namespace py::literals;
  return py::dict("signatures"_a = counts.signatures, "stored"_a = counts.stored,
                  "measured"_a = counts.measured, "failed"_a = counts.failed, "waited"_a = counts.waited,
                  "idle"_a = repeats.plan().idle, "not_replayed"_a = rows_of(repeats.plan().skipped));
}

}  // namespace

void bind_replay(py::module_& m) {
  // `store` is a file, "" for none, None for the one in the cache folder. Gives counts of distinct ops, of
  // calls that do no work, and (op, reason, calls) of all others that have no time.
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
