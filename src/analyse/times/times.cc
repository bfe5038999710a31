// Medians for the profile's own times, per-run sums for everything else; samples and offsets -> slices.
// Clocks read one after the other may disagree by nanoseconds at the ends of slices; what sticks out is cut
// off at the end of the slice around it.
#include "analyse/times/times.h"

#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyse/profile/rollup.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/outside.h"

namespace opscope {
namespace {

// By scope: the row of its module.
std::vector<std::uint32_t> rows_of_scopes(const Profile& profile) {
  const auto row_of = rows_of_modules(profile.modules());
  std::vector<std::uint32_t> rows;
  for (const Scope& scope : profile.graph->scopes) rows.push_back(row_of[scope.module]);
  return rows;
}

std::vector<std::uint32_t> rows_of_ops(const Profile& profile) {
  const auto of_scope = rows_of_scopes(profile);
  std::vector<std::uint32_t> rows;
  rows.reserve(profile.graph->ops.size());
  for (const Op& op : profile.graph->ops) rows.push_back(of_scope[op.scope]);
  return rows;
}

constexpr Nanoseconds kShortestPart = 100;  // of a run: shorter stretches without an op are not drawn

struct Interval {
  Nanoseconds begin = kUnmeasured, end = 0;
  bool known() const { return begin != kUnmeasured; }
  void add(const Interval& other) {
    if (other.known()) begin = std::min(begin, other.begin), end = std::max(end, other.end);
  }
  bool contains(Nanoseconds at) const { return known() && begin <= at && at <= end; }
};

class Layout {
 public:
  explicit Layout(const Graph& graph) : graph_(graph), measured_(graph.measurement) {
    if (measured_.empty())
      throw Error("the model was not measured", "", "make the file with `opscope measure MODEL --save FILE`");
    if (measured_.host.empty() || measured_.host_begin.size() != graph.ops.size())
      throw Error("the measurement does not tell when its ops began", "", "measure the model again");
  }

  RunTimeline run() {
    for (ScopeId s = 0; s < graph_.scopes.size(); ++s) measured_call(s);
    for (OpId op = 0; op < graph_.ops.size(); ++op) place(op);
    if (!measured_.outside.empty()) outside();
    device();
    phases();
    nest();
    for (const auto* lane : {&made_.phases, &made_.host, &made_.device})
      for (const TimelineSlice& slice : *lane) made_.end = std::max(made_.end, slice.end);
    return std::move(made_);
  }

 private:
  struct Open {
    ScopeId scope;
    std::size_t slice;  // in made_.host
  };

  // Of the typical run.
  Interval interval(const std::vector<Nanoseconds>& begins, const std::vector<Nanoseconds>& lengths,
                    std::size_t id) const {
    const std::size_t sample = id * measured_.runs + measured_.typical;
    if (begins.size() <= id || lengths.size() <= sample) return {};
    if (begins[id] == kUnmeasured || lengths[sample] == kUnmeasured) return {};
    return {begins[id], begins[id] + std::min(lengths[sample], kUnmeasured - 1 - begins[id])};
  }
  Interval of_op(OpId op) const { return interval(measured_.host_begin, measured_.host, op); }

  void measured_call(ScopeId scope) {
    calls_.push_back(interval(measured_.scope_begin, measured_.scopes, scope));
    if (calls_.back().known())
      made_.host.push_back({.begin = calls_.back().begin, .end = calls_.back().end, .id = scope});
  }

  // An op, and where its module is not running, a slice for each module in whose name it runs.
  void place(OpId op) {
    const Interval at = of_op(op);
    if (!at.known()) return;
    const ScopeId scope = graph_.ops[op].scope;
    const std::uint32_t phase = phase_of(graph_, op);
    if (calls_[scope].contains(at.begin))
      open_.clear();
    else
      open_for(scope, phase, at);
    made_.host.push_back({.begin = at.begin, .end = at.end, .id = op, .phase = phase, .is_op = true});
  }

  void open_for(ScopeId scope, std::uint32_t phase, const Interval& at) {
    path_.clear();  // from the root down
    for (ScopeId s = scope; s != kNone; s = graph_.scopes[s].parent)
      if (!calls_[s].contains(at.begin)) path_.push_back(s);
    std::ranges::reverse(path_);
    if (std::exchange(open_phase_, phase) != phase) open_.clear();
    std::size_t common = 0;
    while (common < open_.size() && common < path_.size() && open_[common].scope == path_[common]) ++common;
    open_.resize(common);
    for (std::size_t i = common; i < path_.size(); ++i) {
      open_.push_back({path_[i], made_.host.size()});
      made_.host.push_back({.begin = at.begin, .end = at.end, .id = path_[i], .phase = phase});
    }
    for (const Open& open : open_) made_.host[open.slice].end = std::max(made_.host[open.slice].end, at.end);
  }

  // Stretches without an op that are worth a look.
  void outside() {
    HostRun run;
    for (ScopeId s = 0; s < calls_.size(); ++s)
      if (calls_[s].known()) run.calls.push_back({s, calls_[s].begin, calls_[s].end});
    for (OpId op = 0; op < graph_.ops.size(); ++op)
      if (const Interval at = of_op(op); at.known()) run.ops.push_back({op, at.begin, at.end});
    run.began = kUnmeasured;
    for (const auto& call : run.calls)
      run.began = std::min(run.began, call.begin), run.ended = std::max(run.ended, call.end);
    for (const auto& op : run.ops)
      run.began = std::min(run.began, op.begin), run.ended = std::max(run.ended, op.end);
    if (run.ended <= run.began) return;
    const Nanoseconds least = (run.ended - run.began) / kShortestPart;
    each_outside(run, [&](const OutsidePiece& piece) {
      if (piece.end - piece.begin < std::max<Nanoseconds>(least, 1)) return;
      const std::uint32_t phase = piece.before == kNone ? 0 : phase_of(graph_, piece.before);
      made_.host.push_back({.begin = piece.begin,
                            .end = piece.end,
                            .id = piece.scope,
                            .phase = phase,
                            .is_outside = true,
                            .line = line_of(piece)});
    });
  }
  // What took longest there in the run that was followed by line.
  Id line_of(const OutsidePiece& piece) const {
    for (Id line = 0; line < measured_.lines.size(); ++line) {
      const OutsideLine& of = measured_.lines[line];
      if (of.scope == piece.scope && (of.after == piece.after || of.before == piece.before)) return line;
    }
    return kNone;
  }

  // Lengths are the samples. Where the clocks of host and device do not agree on when an op began, it begins
  // with its call, and after the op ahead of it.
  void device() {
    if (!measured_.on_device) return;
    std::vector<TimelineSlice>& lane = made_.device;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const Interval at = interval(measured_.device_begin, measured_.device, op);
      if (!at.known() || at.end <= at.begin) continue;
      lane.push_back(
          {.begin = at.begin, .end = at.end, .id = op, .phase = phase_of(graph_, op), .is_op = true});
      if (const Interval call = of_op(op); call.known()) begin_at(lane.back(), call.begin);
    }
    std::ranges::stable_sort(lane, {}, &TimelineSlice::begin);
    for (std::size_t i = 1; i < lane.size(); ++i) begin_at(lane[i], lane[i - 1].end);
  }
  // Not sooner than that, and as long as it is.
  static void begin_at(TimelineSlice& slice, Nanoseconds earliest) {
    if (slice.begin >= earliest) return;
    slice.end += std::min(earliest - slice.begin, kUnmeasured - 1 - slice.end);
    slice.begin = earliest;
  }

  // A phase lasts until the next one's first op, the first from the call of the model on.
  void phases() {
    for (std::uint32_t p = 0; p < graph_.phases.size(); ++p) {
      Interval whole;
      for (OpId op = graph_.phases[p].begin; op < phase_end(graph_, p); ++op) whole.add(of_op(op));
      if (!whole.known()) continue;
      if (p == 0 && !calls_.empty()) whole.add(calls_[0]);
      std::vector<TimelineSlice>& lane = made_.phases;
      if (!lane.empty()) {
        whole.begin = std::max(whole.begin, lane.back().begin);
        lane.back().end = whole.begin;
      }
      lane.push_back({.begin = whole.begin, .end = std::max(whole.end, whole.begin), .id = p, .phase = p});
    }
  }

  // Outer before inner where they begin together: modules before ops, the longer first, then as they were
  // made.
  void nest() {
    std::ranges::stable_sort(made_.host, [](const TimelineSlice& a, const TimelineSlice& b) {
      return std::tuple(a.begin, a.is_leaf(), b.end) < std::tuple(b.begin, b.is_leaf(), a.end);
    });
    std::vector<TimelineSlice*> around;
    for (TimelineSlice& slice : made_.host) {
      while (!around.empty() && is_over(*around.back(), slice)) around.pop_back();
      if (!around.empty()) slice.end = std::min(slice.end, around.back()->end);
      slice.depth = static_cast<std::uint32_t>(around.size());
      around.push_back(&slice);
    }
  }
  // Ops hold nothing, nor do stretches without any: one that has not ended ends where the next slice begins.
  // A slice of no length at the very end of another is still inside it, where both begin there.
  static bool is_over(TimelineSlice& outer, const TimelineSlice& next) {
    if (outer.is_leaf()) {
      outer.end = std::min(outer.end, next.begin);
      return true;
    }
    return outer.end < next.begin ||
           (outer.end == next.begin && (outer.begin != next.begin || next.end != next.begin));
  }

  const Graph& graph_;
  const Measurement& measured_;
  RunTimeline made_;
  std::vector<Interval> calls_;  // by scope: as measured
  std::vector<Open> open_;       // of modules whose ops run outside their calls
  std::uint32_t open_phase_ = 0;
  std::vector<ScopeId> path_;
};

}  // namespace

Statistics statistics(std::span<const Nanoseconds> samples) {
  std::vector<double> seconds;
  seconds.reserve(samples.size());
  for (const auto sample : samples)
    if (sample != kUnmeasured) seconds.push_back(static_cast<double>(sample) * kNanosecond);
  return statistics(std::move(seconds));
}

void add_times(const Graph& graph, std::vector<OpCost>& costs) {
  const Measurement& measured = graph.measurement;
  if (measured.empty()) return;
  std::vector<Nanoseconds> runs;
  for (std::size_t op = 0; op < costs.size(); ++op) {
    runs.clear();
    for (const auto sample : Measurement::samples(measured.op_samples(), op, measured.runs))
      if (sample != kUnmeasured) runs.push_back(net(measured, sample));
    if (runs.empty()) continue;
    std::ranges::sort(runs);
    // Half the sum of the two in the middle is a whole number of picoseconds.
    constexpr Count kHalfNanosecond{500};
    costs[op].time = (Count{runs[(runs.size() - 1) / 2]} + Count{runs[runs.size() / 2]}) * kHalfNanosecond;
  }
}

OpTimes::OpTimes(const Profile& profile)
    : profile_(profile),
      measured_(profile.graph->measurement),
      by_row_(profile.modules().size(), rows_of_ops(profile)),
      by_layer_(profile.layers().size(), profile.layer_of()),
      scopes_by_row_(profile.modules().size(), rows_of_scopes(profile)),
      ends_(subtree_ends(profile.modules())) {}

// A run in which an op has no sample has its typical time, so that a sum is never of fewer ops.
Statistics OpTimes::of_ops(std::span<const OpId> ops) const {
  if (ops.empty() || measured_.empty()) return {};
  std::vector<Count> sums(measured_.runs);
  for (const OpId op : ops) {
    const auto samples = Measurement::samples(measured_.op_samples(), op, measured_.runs);
    for (std::size_t run = 0; run < samples.size(); ++run)
      sums[run] += samples[run] == kUnmeasured ? profile_.costs[op].time
                                               : Count{net(measured_, samples[run])} * Count{1000};
  }
  std::vector<double> seconds;
  seconds.reserve(sums.size());
  for (const Count sum : sums) seconds.push_back(static_cast<double>(sum) * kPicosecond);
  return statistics(std::move(seconds));
}

Statistics OpTimes::of_host(std::span<const OpId> ops) const {
  if (ops.empty() || measured_.host.empty()) return {};
  std::vector<double> seconds(measured_.runs);
  for (const OpId op : ops) {
    const auto samples = Measurement::samples(measured_.host, op, measured_.runs);
    const double typical = statistics(samples).median;
    for (std::size_t run = 0; run < samples.size(); ++run)
      seconds[run] += samples[run] == kUnmeasured ? typical : static_cast<double>(samples[run]) * kNanosecond;
  }
  return statistics(std::move(seconds));
}

Statistics OpTimes::of_modules(std::span<const std::uint32_t> rows) const {
  std::vector<OpId> ops;
  for (const auto row : rows) {
    const auto more = ops_of_module(row);
    ops.insert(ops.end(), more.begin(), more.end());
  }
  return of_ops(ops);
}

Statistics OpTimes::of_calls(std::size_t row) const {
  if (measured_.scopes.empty()) return {};
  std::vector<double> seconds(measured_.runs);
  bool is_measured = false;
  for (const ScopeId scope : scopes_by_row_.of(row)) {
    const auto samples = Measurement::samples(measured_.scopes, scope, measured_.runs);
    for (std::size_t run = 0; run < samples.size(); ++run) {
      if (samples[run] == kUnmeasured) continue;
      seconds[run] += static_cast<double>(samples[run]) * kNanosecond;
      is_measured = true;
    }
  }
  return is_measured ? statistics(std::move(seconds)) : Statistics{};
}

// Of all scopes together, run by run.
static Statistics outside_statistics(const Measurement& measured) {
  std::vector<Nanoseconds> sums(measured.runs);
  for (std::size_t i = 0; i < measured.outside.size(); ++i)
    if (measured.outside[i] != kUnmeasured) sums[i % measured.runs] += measured.outside[i];
  return statistics(std::span<const Nanoseconds>(sums));
}

RunTimes run_times(const Profile& profile, const OpTimes& times) {
  const Graph& graph = *profile.graph;
  const Measurement& measured = graph.measurement;
  RunTimes runs;
  runs.on_device = measured.on_device;
  runs.plain = statistics(measured.plain), runs.timed = statistics(measured.timed);
  runs.plain_device = statistics(measured.plain_device),
  runs.timed_device = statistics(measured.timed_device);
  runs.ops = times.of_ops(times.all());
  if (measured.on_device) runs.host_ops = times.of_host(times.all());
  runs.op_seconds = profile.totals.time_seconds();
  runs.has_wall = !measured.outside.empty();
  runs.outside_seconds = profile.totals.outside_seconds(), runs.wall_seconds = profile.totals.wall_seconds();
  if (runs.has_wall) runs.outside = outside_statistics(measured);
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const auto samples = Measurement::samples(measured.op_samples(), op, measured.runs);
    if (std::ranges::all_of(samples, [](Nanoseconds s) { return s == kUnmeasured; })) ++runs.unmeasured_ops;
  }
  for (std::size_t i = 0; i < graph.phases.size(); ++i) {
    PhaseTimes& phase = runs.phases.emplace_back();
    phase.name = graph.phases[i].name;
    std::vector<OpId> ops;
    for (OpId op = graph.phases[i].begin; op < phase_end(graph, i); ++op)
      ops.push_back(op), phase.metrics += profile.costs[op];
    phase.time = times.of_ops(ops);
  }
  return runs;
}

std::vector<std::vector<OpId>> ops_by_type(const Profile& profile) {
  std::unordered_map<std::string_view, std::size_t> row_of;
  for (std::size_t row = 0; row < profile.types().size(); ++row) row_of[profile.types()[row].type] = row;
  std::vector<std::vector<OpId>> ops(profile.types().size());
  for (OpId op = 0; op < profile.graph->ops.size(); ++op)
    ops[row_of.at(op_type(profile.graph->op_name(profile.graph->ops[op])))].push_back(op);
  return ops;
}

double flops_per_second(const Metrics& metrics) {
  return metrics.time ? static_cast<double>(metrics.flops) / metrics.time_seconds() : 0;
}

double bytes_per_second(const Metrics& metrics) {
  return metrics.time ? static_cast<double>(metrics.memory_bytes()) / metrics.time_seconds() : 0;
}

RunTimeline run_timeline(const Graph& graph) { return Layout(graph).run(); }

}  // namespace opscope
