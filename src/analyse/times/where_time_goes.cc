#include "analyse/times/where_time_goes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyse/plot/plot.h"
#include "analyse/profile/rollup.h"
#include "base/choices.h"
#include "base/seconds.h"
#include "graph/signature.h"
#include "ops/replay_plan.h"

namespace opscope {
namespace {

constexpr double kNoticeable = 0.01;  // of all ops' time: below it, a rate is too noisy to be a best one
constexpr double kFar = 0.25;         // of the best rate

double seconds_of(const OpCost& cost) { return static_cast<double>(cost.time) * kPicosecond; }
bool does_nothing(const OpCost& cost) { return !cost.flops && !cost.traffic.total(); }

void add(TimeShare& share, const OpCost& cost) { ++share.ops, share.seconds += seconds_of(cost); }

// On a device what the host needs for a call, else what an op takes that does nothing: a view.
double call_seconds(const Profile& profile, const OpTimes& times) {
  std::vector<double> calls;
  const Measurement& measured = profile.graph->measurement;
  for (OpId op = 0; op < profile.costs.size(); ++op) {
    const OpCost& cost = profile.costs[op];
    if (measured.on_device ? bool(cost.time) : does_nothing(cost) && cost.confidence != Confidence::kUnknown)
      calls.push_back(measured.on_device ? times.of_host({&op, 1}).median : seconds_of(cost));
  }
  return statistics(std::move(calls)).median;
}

bool is_launch_bound(const Profile& profile, const OpTimes& times, OpId op, double call) {
  const OpCost& cost = profile.costs[op];
  if (!cost.time) return false;
  if (!profile.graph->measurement.on_device) return call > 0 && seconds_of(cost) <= 2 * call;
  return seconds_of(cost) < times.of_host({&op, 1}).median;
}

// Ops whose rate is one number.
struct SameOps {
  std::string name;
  Metrics metrics{};
};

// Each op, then those of one type and cost, then whole types: the closest name of equal rates is the first.
std::vector<SameOps> same_ops(const Profile& profile) {
  std::vector<SameOps> ops, kinds;
  std::map<std::tuple<std::string, Count, Count>, std::size_t> at;
  for (OpId op = 0; op < profile.costs.size(); ++op) {
    const OpCost& cost = profile.costs[op];
    if (!cost.time) continue;
    const std::string_view layer = profile.layers()[profile.layer_of()[op]].name;
    ops.push_back({.name = std::string(layer)});
    ops.back().metrics += cost;
    std::string type(op_type(profile.graph->op_name(profile.graph->ops[op])));
    const auto [found, added] = at.try_emplace({type, cost.flops, cost.traffic.total()}, kinds.size());
    if (added) kinds.push_back({.name = std::string(layer)});
    SameOps& kind = kinds[found->second];
    kind.metrics += cost;
    kind.name = added ? kind.name : merged_name(kind.name, layer);
    if (kind.name == "*") kind.name = type;
  }
  std::ranges::move(kinds, std::back_inserter(ops));
  for (const TypeRow& row : profile.types()) ops.push_back({.name = row.type, .metrics = row.metrics});
  return ops;
}

void take_rates(MeasuredRates& best, const SameOps& same, bool of_flops, bool of_bytes) {
  const double flops = flops_per_second(same.metrics), bytes = bytes_per_second(same.metrics);
  if (of_flops && flops > best.flops_per_second)
    best.flops_per_second = flops, best.flops_name = same.name,
    best.flops_each = static_cast<double>(same.metrics.flops) / static_cast<double>(same.metrics.ops);
  if (of_bytes && bytes > best.bytes_per_second) best.bytes_per_second = bytes, best.bytes_name = same.name;
}

void share_out(const Profile& profile, WhereTimeGoes& where) {
  for (const OpCost& cost : profile.costs) {
    if (!cost.time) continue;
    const double compute = where.rates.compute_seconds(cost), memory = where.rates.memory_seconds(cost);
    if (does_nothing(cost))
      add(where.calls, cost);
    else
      add(compute > memory ? where.compute_bound : where.memory_bound, cost);
    if (!does_nothing(cost) && std::max(compute, memory) < kFar * seconds_of(cost))
      add(where.far_from_both, cost);
  }
}

}  // namespace

MeasuredRates measured_rates(const Profile& profile) {
  MeasuredRates best;
  const double least = kNoticeable * profile.totals.time_seconds();
  const std::vector<SameOps> groups = same_ops(profile);
  for (const SameOps& same : groups)
    if (same.metrics.time_seconds() >= least) take_rates(best, same, true, true);
  const bool no_flops = best.flops_name.empty(), no_bytes = best.bytes_name.empty();
  if (no_flops || no_bytes)  // nothing takes that much
    for (const SameOps& same : groups) take_rates(best, same, no_flops, no_bytes);
  return best;
}

std::string_view name(FindingKind kind) {
  return choices<FindingKind, FindingKind::kPrecision>("layers", "fusion", "small_ops", "idle",
                                                       "precision")[kind];
}

WhereTimeGoes where_time_goes(const Profile& profile, const OpTimes& times) {
  WhereTimeGoes where;
  const RunTimes runs = run_times(profile, times);
  where.seconds = profile.totals.time_seconds();
  where.whole = runs.whole(), where.idle = runs.idle(), where.on_device = runs.on_device;
  where.rates = measured_rates(profile);
  share_out(profile, where);
  where.call_seconds = call_seconds(profile, times);
  for (OpId op = 0; op < profile.costs.size(); ++op)
    if (is_launch_bound(profile, times, op, where.call_seconds)) add(where.launch_bound, profile.costs[op]);
  where.findings = find_savings(profile, where);
  return where;
}

RepeatedOps repeated_ops(const Profile& profile) {
  const Graph& graph = *profile.graph;
  const auto& alone = graph.measurement.repeated;
  RepeatedOps result;
  std::unordered_map<std::string, std::size_t> known;
  for (OpId id = 0; id < alone.size(); ++id) {
    const auto& op = graph.ops[id];
    const double in_model = static_cast<double>(profile.costs[id].time.value()) * kPicosecond;
    if (alone[id] == kUnmeasured) {
      if (does_no_work(graph, op)) continue;
      ++result.other_calls, result.other_seconds += in_model;
      continue;
    }
    auto signature = signature_of(graph, op);
    const auto [slot, fresh] = known.try_emplace(signature, result.rows.size());
    if (fresh) result.rows.push_back({std::move(signature), {}, seconds(alone[id]), 0});
    auto& row = result.rows[slot->second];
    row.ops.push_back(id), row.time_seconds += in_model;
    ++result.calls, result.alone_seconds += row.alone_seconds, result.time_seconds += in_model;
  }
  std::ranges::stable_sort(result.rows, std::greater{}, &RepeatedOp::time_seconds);
  return result;
}

}  // namespace opscope
