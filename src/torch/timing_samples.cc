// The runs that a clock saw as samples of a graph's ops and scopes.
#include <algorithm>
#include <map>
#include <numeric>

#include "graph/alignment.h"
#include "torch/timing.h"

namespace opscope::engine {

namespace {

// The run whose time is the median of all.
std::uint32_t median_run(const std::vector<Nanoseconds>& times) {
  std::vector<std::uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::ranges::nth_element(order, middle, {}, [&](std::uint32_t run) { return times[run]; });
  return *middle;
}

std::vector<TargetId> targets_of(const Graph& graph) {
  std::vector<TargetId> targets;
  for (const auto& op : graph.ops) targets.push_back(op.target);
  return targets;
}

}  // namespace

void Timing::fill_ops(const Graph& graph, Measurement& made) const {
  const auto expected = targets_of(graph);
  const auto runs = runs_.size();
  std::map<TargetId, UnmatchedOp> unmatched;
  for (std::size_t r = 0; r < runs; ++r) {
    std::vector<TargetId> seen;
    for (const auto& op : runs_[r].ops) seen.push_back(op.target);
    const auto found = align(expected, seen);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto& op = runs_[r].ops[i];
      if (found[i] == kNone) {
        auto& [name_of, count, total] = unmatched[op.target];
        name_of = std::string(graph.text(graph.targets[op.target].name));
        ++count, total += clock_ ? op.device : op.end - op.begin;
        continue;
      }
      made.host[found[i] * runs + r] = op.end - op.begin;
      if (clock_) made.device[found[i] * runs + r] = op.device;
      if (r != made.typical) continue;
      made.host_begin[found[i]] = op.begin - runs_[r].began;
      if (clock_) made.device_begin[found[i]] = op.device_begin;
    }
  }
  for (auto& [target, op] : unmatched) made.unmatched.push_back(std::move(op));
}

// Calls in their order. Modules that forward makes anew each time have no id.
void Timing::fill_scopes(const Graph& graph, Measurement& made) const {
  const auto runs = runs_.size();
  std::vector<ModuleId> expected;
  for (const auto& scope : graph.scopes) expected.push_back(scope.module);
  for (std::size_t r = 0; r < runs; ++r) {
    std::vector<ModuleId> seen;
    const bool calls_root = std::ranges::any_of(runs_[r].scopes, [](const auto& s) { return s.module == 0; });
    for (const auto& scope : runs_[r].scopes) seen.push_back(scope.module);
    const auto first = calls_root ? 0U : 1U;
    const auto found = align(std::span(expected).subspan(first), seen);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == kNone) continue;
      const auto& scope = runs_[r].scopes[i];
      made.scopes[(found[i] + first) * runs + r] = scope.end - scope.begin;
      if (r == made.typical) made.scope_begin[found[i] + first] = scope.begin - runs_[r].began;
    }
  }
}

Measurement Timing::take(const Graph& graph) {
  Measurement made;
  const auto runs = runs_.size();
  if (runs == 0) return made;
  made.runs = static_cast<std::uint32_t>(runs);
  made.on_device = clock_.has_value();
  made.empty_interval = empty_interval_;
  made.typical = median_run(clock_ ? timed_device_ : timed_);
  made.host.assign(graph.ops.size() * runs, kUnmeasured);
  made.host_begin.assign(graph.ops.size(), kUnmeasured);
  if (clock_) {
    made.device.assign(graph.ops.size() * runs, kUnmeasured);
    made.device_begin.assign(graph.ops.size(), kUnmeasured);
  }
  made.scopes.assign(graph.scopes.size() * runs, kUnmeasured);
  made.scope_begin.assign(graph.scopes.size(), kUnmeasured);
  fill_ops(graph, made);
  fill_scopes(graph, made);
  made.plain = std::move(plain_), made.timed = std::move(timed_);
  made.plain_device = std::move(plain_device_), made.timed_device = std::move(timed_device_);
  made.environment.device = device_name_;
  return made;
}

}  // namespace opscope::engine
