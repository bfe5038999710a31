// Medians for the profile's own times, per-run sums for everything else.
#include "analyse/times/times.h"

#include <unordered_map>

#include "analyse/profile/rollup.h"
#include "base/text.h"
#include "graph/graph.h"

namespace opscope {
namespace {

// By scope: the row of its module.
std::vector<std::uint32_t> rows_of_scopes(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<std::uint32_t> row_of(graph.modules.size()), rows;
  for (std::uint32_t row = 0; row < profile.modules().size(); ++row)
    row_of[profile.modules()[row].module] = row;
  for (const Scope& scope : graph.scopes) rows.push_back(row_of[scope.module]);
  return rows;
}

std::vector<std::uint32_t> rows_of_ops(const Profile& profile) {
  const auto of_scope = rows_of_scopes(profile);
  std::vector<std::uint32_t> rows;
  rows.reserve(profile.graph->ops.size());
  for (const Op& op : profile.graph->ops) rows.push_back(of_scope[op.scope]);
  return rows;
}

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

}  // namespace opscope
