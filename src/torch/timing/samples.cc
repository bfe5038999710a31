// The runs that a clock saw as samples of a graph's ops and scopes.
#include <algorithm>
#include <map>

#include "graph/alignment.h"
#include "torch/timing/timing.h"

namespace opscope::engine {

namespace {

// The run whose time is the median of every `step`-th, from the first on.
std::uint32_t median_run(const std::vector<Nanoseconds>& times, std::size_t step) {
  std::vector<std::uint32_t> order;
  for (std::size_t run = 0; run < times.size(); run += step) order.push_back(static_cast<std::uint32_t>(run));
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::ranges::nth_element(order, middle, {}, [&](std::uint32_t run) { return times[run]; });
  return *middle;
}

std::vector<TargetId> targets_of(const Graph& graph) {
  std::vector<TargetId> targets;
  for (const auto& op : graph.ops) targets.push_back(op.target);
  return targets;
}

// Calls visit(op of the graph or kNone, entry) for each op of a run.
template <class Run, class Visit>
void for_each_aligned(const std::vector<TargetId>& expected, const Run& run, Visit&& visit) {
  std::vector<TargetId> seen;
  for (const auto& op : run.ops) seen.push_back(op.target);
  const auto found = align(expected, seen);
  for (std::size_t i = 0; i < found.size(); ++i) visit(found[i], run.ops[i]);
}

// By call of a run: the scope. Calls in their order. Modules that forward makes anew each time have no id.
template <class Run>
std::vector<ScopeId> scopes_of(const Graph& graph, const Run& run) {
  std::vector<ModuleId> expected, seen;
  for (const auto& scope : graph.scopes) expected.push_back(scope.module);
  for (const auto& scope : run.scopes) seen.push_back(scope.module);
  const bool calls_root = std::ranges::find(seen, ModuleId{0}) != seen.end();
  const auto first = calls_root ? 0U : 1U;
  auto found = align(std::span(expected).subspan(first), seen);
  for (auto& scope : found)
    if (scope != kNone) scope += first;
  return found;
}

}  // namespace

void Timing::fill_host(const Graph& graph, Measurement& made) const {
  const auto expected = targets_of(graph);
  std::map<TargetId, UnmatchedOp> unmatched;
  for (std::size_t r = 0; r < runs_.size(); ++r)
    for_each_aligned(expected, runs_[r], [&](OpId id, const OpEntry& op) {
      if (id == kNone) {
        auto& [name_of, count, total] = unmatched[op.target];
        name_of = std::string(graph.text(graph.targets[op.target].name));
        ++count, total += op.end - op.begin;
        return;
      }
      made.host[id * runs_.size() + r] = op.end - op.begin;
      if (r == made.typical) made.host_begin[id] = op.begin - runs_[r].began;
    });
  for (auto& [target, op] : unmatched) made.unmatched.push_back(std::move(op));
}

// Of the paced runs; of the one that was recorded where there is no other.
void Timing::fill_device(const Graph& graph, Measurement& made) const {
  const auto& runs = paced_.empty() ? runs_ : paced_;
  const auto expected = targets_of(graph);
  for (std::size_t r = 0; r < runs.size() && r < made.runs; ++r)
    for_each_aligned(expected, runs[r], [&](OpId id, const OpEntry& op) {
      if (id != kNone) made.device[std::size_t{id} * made.runs + r] = op.device;
    });
}

// When each op ran on the device in the typical run: not before it was called nor before the one ahead of it
// was done, and so that those with a mark end there.
void Timing::place_on_device(const Graph& graph, Measurement& made) const {
  struct Placed {
    OpId id;
    Nanoseconds begin, end;
  };
  std::vector<Placed> placed;
  const auto& run = runs_[made.typical];
  for_each_aligned(targets_of(graph), run, [&](OpId id, const OpEntry& op) {
    if (id == kNone) return;
    const auto sample = made.device[id * made.runs + made.typical];
    const auto time = sample == kUnmeasured ? 0 : sample;
    auto begin = std::max(op.begin - run.began, placed.empty() ? 0 : placed.back().end);
    if (op.last_mark == kNone) {
      placed.push_back({id, begin, begin + time});
      return;
    }
    auto end = op.device_begin + op.device;
    placed.push_back({id, std::min(begin, end - std::min(end, time)), end});
    for (auto i = placed.size() - 1; i > 0 && placed[i - 1].end > placed[i].begin; --i) {
      const auto length = placed[i - 1].end - placed[i - 1].begin;
      placed[i - 1].end = placed[i].begin;
      placed[i - 1].begin = placed[i].begin - std::min(placed[i].begin, length);
    }
  });
  for (const auto& op : placed) made.device_begin[op.id] = op.begin;
}

void Timing::fill_scopes(const Graph& graph, Measurement& made) const {
  const auto runs = runs_.size();
  for (std::size_t r = 0; r < runs; ++r) {
    const auto found = scopes_of(graph, runs_[r]);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == kNone) continue;
      const auto& scope = runs_[r].scopes[i];
      made.scopes[found[i] * runs + r] = scope.end - scope.begin;
      if (r == made.typical) made.scope_begin[found[i]] = scope.begin - runs_[r].began;
    }
  }
}

HostRun Timing::host_run(const Graph& graph, const Run& run) {
  HostRun made{.began = run.began, .ended = run.returned, .calls = {}, .ops = {}};
  const auto scopes = scopes_of(graph, run);
  for (std::size_t i = 0; i < scopes.size(); ++i)
    made.calls.push_back({scopes[i], run.scopes[i].begin, run.scopes[i].end});
  for_each_aligned(targets_of(graph), run, [&](OpId id, const OpEntry& op) {
    made.ops.push_back({id, op.begin, op.end});
  });
  return made;
}

// The recorded run's own has what recording takes in it.
void Timing::fill_outside(const Graph& graph, Measurement& made) const {
  if (!expects_) return;
  made.outside.assign(graph.scopes.size() * runs_.size(), 0);
  for (std::size_t r = 0; r < runs_.size(); ++r)
    each_outside(host_run(graph, runs_[r]), [&](const OutsidePiece& piece) {
      made.outside[piece.scope * runs_.size() + r] += piece.end - piece.begin;
    });
  if (by_line_) made.lines = outside_lines(host_run(graph, *by_line_), lines_);
}

Measurement Timing::take(const Graph& graph) {
  Measurement made;
  const auto runs = runs_.size();
  if (runs == 0) return made;
  made.runs = static_cast<std::uint32_t>(runs);
  made.on_device = clock_.has_value();
  made.empty_interval = empty_interval_;
  made.typical = clock_ ? median_run(timed_device_, kMarkedRuns) : median_run(timed_, 1);
  made.host.assign(graph.ops.size() * runs, kUnmeasured);
  made.host_begin.assign(graph.ops.size(), kUnmeasured);
  if (clock_) {
    made.device.assign(graph.ops.size() * runs, kUnmeasured);
    made.device_begin.assign(graph.ops.size(), kUnmeasured);
  }
  made.scopes.assign(graph.scopes.size() * runs, kUnmeasured);
  made.scope_begin.assign(graph.scopes.size(), kUnmeasured);
  fill_host(graph, made);
  if (clock_) {
    fill_device(graph, made);
    place_on_device(graph, made);
  }
  fill_scopes(graph, made);
  fill_outside(graph, made);
  made.plain = std::move(plain_), made.timed = std::move(timed_);
  made.plain_device = std::move(plain_device_), made.timed_device = std::move(timed_device_);
  made.environment.device = device_name_;
  return made;
}

}  // namespace opscope::engine
