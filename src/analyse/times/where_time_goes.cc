#include "analyse/times/where_time_goes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyse/plot/plot.h"
#include "base/choices.h"
#include "base/text.h"
#include "graph/signature.h"
#include "ops/replay_plan.h"

namespace opscope {
namespace {

constexpr double kNoticeable = 0.01;  // of all ops' time: below it, a rate is too noisy to be a best one
constexpr double kFar = 0.25;         // of the best rate
constexpr std::size_t kMostFindings = 5;
constexpr double kLeastShare = 0.01;  // of the whole: less is not worth a person's time

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

// What would shorten a run most. Candidates of every kind are ranked by what they would save; the best is
// taken and its ops are taken out of the others, so that nothing is saved twice.

struct Saving {
  OpId op;
  double seconds;
  std::size_t part = 0;  // the layer or subgraph that the op is in
};

struct Candidate {
  FindingKind kind;
  std::string name{};
  std::vector<Saving> savings{};
  double fixed = 0;      // of no op: the idle time
  std::size_t line = 0;  // kHost: in HostTime::lines
};

class Candidates {
 public:
  Candidates(const Profile& profile, const WhereTimeGoes& where) : profile_(profile), where_(where) {
    add_layers();
    if (profile.partition().options.strategy == Strategy::kFused) add_fusions();
    add_small_ops();
    if (profile.roofline.device && profile.graph->measurement.environment.precision == "highest")
      add_precision(*profile.roofline.device);
    add_host();
  }

  std::vector<Finding> best() {
    std::vector<Finding> findings;
    const double least = kLeastShare * std::max(where_.whole, where_.seconds);
    taken_.assign(profile_.costs.size(), false);
    while (findings.size() < kMostFindings && !list_.empty()) {
      const auto found = std::ranges::max_element(list_, {}, [&](const Candidate& c) { return saving(c); });
      if (saving(*found) < least || saving(*found) <= 0) break;  // nothing was measured
      findings.push_back(finding(*found));
      for (const Saving& each : found->savings) taken_[each.op] = true;
      list_.erase(found);
    }
    return findings;
  }

 private:
  double seconds(OpId op) const { return seconds_of(profile_.costs[op]); }
  // The least it could take: on the device named, else at the best rates that this model reached.
  double limit(OpId op) const {
    const OpCost& cost = profile_.costs[op];
    return cost.roofline_time
               ? static_cast<double>(cost.roofline_time) * kPicosecond
               : std::max(where_.rates.compute_seconds(cost), where_.rates.memory_seconds(cost));
  }
  double saving(const Candidate& candidate) const {
    double sum = candidate.fixed;
    for (const Saving& each : candidate.savings)
      if (!taken_[each.op]) sum += each.seconds;
    return sum;
  }

  Finding finding(const Candidate& candidate) const {
    Finding found{.kind = candidate.kind, .name = candidate.name, .line = candidate.line};
    double memory = 0, compute = 0;
    std::set<std::size_t> parts;  // those without anything to save are not spoken of
    for (const Saving& each : candidate.savings) {
      if (taken_[each.op]) continue;
      found.ops.push_back(each.op), parts.insert(each.part);
      found.metrics += profile_.costs[each.op];
      memory += where_.rates.memory_seconds(profile_.costs[each.op]);
      compute += where_.rates.compute_seconds(profile_.costs[each.op]);
    }
    found.count = static_cast<std::uint32_t>(parts.size());
    found.saving_seconds = saving(candidate);
    // By what the limit above was taken from.
    const Metrics& m = found.metrics;
    found.memory_limited =
        m.roofline_time ? m.compute_bound_time + m.compute_bound_time <= m.roofline_time : memory >= compute;
    return found;
  }

  // Layers of one type and cost: "layer1.*.conv*".
  void add_layers() {
    std::map<std::tuple<std::string_view, Count, Count>, std::size_t> at;
    std::vector<std::size_t> candidate_of;  // by layer
    for (const LayerRow& layer : profile_.layers()) {
      const auto [found, added] =
          at.try_emplace({layer.type, layer.metrics.flops, layer.metrics.memory_bytes()}, list_.size());
      if (added)
        list_.push_back({FindingKind::kLayers, std::string(layer.name)});
      else
        list_[found->second].name = merged_name(list_[found->second].name, layer.name);
      candidate_of.push_back(found->second);
    }
    for (OpId op = 0; op < profile_.costs.size(); ++op)
      if (const double more = seconds(op) - limit(op); more > 0)
        list_[candidate_of[profile_.layer_of()[op]]].savings.push_back({op, more, profile_.layer_of()[op]});
  }

  // All but the op of a subgraph that does most, as far as their bytes would stay inside one kernel.
  void add_fusions() {
    std::map<std::string_view, std::size_t> at;
    for (std::size_t i = 0; i < profile_.partition().subgraphs.size(); ++i) {
      const Subgraph& subgraph = profile_.partition().subgraphs[i];
      const auto ops = profile_.partition().ops_of(subgraph);
      if (ops.size() < 2 || !subgraph.saved_bytes()) continue;
      const OpId main = *std::ranges::max_element(
          ops, {}, [&](OpId op) { return std::pair(profile_.costs[op].flops, profile_.costs[op].time); });
      Count bytes;
      for (const OpId op : ops)
        if (op != main) bytes += profile_.costs[op].traffic.total();
      if (!bytes) continue;
      const double kept = std::min(1.0, ratio(subgraph.saved_bytes(), bytes));
      const auto [found, added] = at.try_emplace(subgraph.type, list_.size());
      if (added) list_.push_back({FindingKind::kFusion, std::string(subgraph.type)});
      for (const OpId op : ops)
        if (op != main && profile_.costs[op].time)
          list_[found->second].savings.push_back({op, kept * seconds(op), i});
    }
  }

  // Lines that take long while no op runs, and what is left of such time. On a device this is the host's own
  // time, of which the device may need nothing: only what it was idle for could be saved.
  void add_host() {
    double left = where_.idle;
    for (std::size_t i = 0; i < where_.host.lines.size(); ++i) {
      const OutsideRow& row = where_.host.lines[i];
      const double saved = std::min(row.seconds, left);
      if (row.waits || !is_long_gap(where_.host, row) || saved <= 0) continue;
      list_.push_back({FindingKind::kHost, std::string(row.source), {}, saved, i});
      left -= saved;
    }
    if (left > 0) list_.push_back({FindingKind::kIdle, "", {}, left});
  }

  // What only calling them takes: gone where a graph is captured and replayed or compiled.
  void add_small_ops() {
    if (where_.on_device || where_.call_seconds <= 0) return;
    Candidate candidate{FindingKind::kSmallOps};
    for (OpId op = 0; op < profile_.costs.size(); ++op)
      if (profile_.costs[op].time && seconds(op) <= 2 * where_.call_seconds)
        candidate.savings.push_back({op, seconds(op), op});
    list_.push_back(std::move(candidate));
  }

  // Float32 products in the vector units of a device that has TF32 ones, as far as bytes let them be faster.
  void add_precision(const Device& device) {
    Candidate candidate{FindingKind::kPrecision};
    for (OpId op = 0; op < profile_.costs.size(); ++op) {
      const OpCost& cost = profile_.costs[op];
      const DType dtype = product_dtype(*profile_.graph, profile_.graph->ops[op]);
      if (!cost.rule || !cost.work.macs || dtype != DType::kFloat32) continue;
      const Peak* now = product_peak(device, cost.rule->category, dtype, Float32::kTorch);
      const Peak* then = product_peak(device, cost.rule->category, dtype, Float32::kTf32);
      if (!now || !then || then->rate.value <= now->rate.value) continue;
      const double left = std::max(seconds(op) * now->rate.value / then->rate.value,
                                   memory_seconds(device, cost.traffic.total()));
      if (seconds(op) > left) candidate.savings.push_back({op, seconds(op) - left, op});
    }
    list_.push_back(std::move(candidate));
  }

  const Profile& profile_;
  const WhereTimeGoes& where_;
  std::vector<Candidate> list_;
  std::vector<bool> taken_;  // by op
};

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
  return choices<FindingKind, FindingKind::kPrecision>("layers", "fusion", "small_ops", "host", "idle",
                                                       "precision")[kind];
}

WhereTimeGoes where_time_goes(const Profile& profile, const OpTimes& times) {
  WhereTimeGoes where;
  const RunTimes runs = run_times(profile, times);
  where.seconds = profile.totals.time_seconds();
  where.whole = runs.reference(), where.idle = runs.idle(), where.on_device = runs.on_device;
  where.host = host_time(profile);
  where.rates = measured_rates(profile);
  share_out(profile, where);
  where.call_seconds = call_seconds(profile, times);
  for (OpId op = 0; op < profile.costs.size(); ++op)
    if (is_launch_bound(profile, times, op, where.call_seconds)) add(where.launch_bound, profile.costs[op]);
  where.findings = Candidates(profile, where).best();
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
