// What would shorten a run most. Candidates of every kind are ranked by what they would save; the best is
// taken and its ops are taken out of the others, so that nothing is saved twice.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyse/plot/plot.h"
#include "analyse/times/where_time_goes.h"
#include "base/seconds.h"

namespace opscope {
namespace {

constexpr std::size_t kMost = 5;
constexpr double kLeastShare = 0.01;  // of the whole: less is not worth a person's time

struct Saving {
  OpId op;
  double seconds;
  std::size_t part = 0;  // the layer or subgraph that the op is in
};

struct Candidate {
  FindingKind kind;
  std::string name{};
  std::vector<Saving> savings{};
  double fixed = 0;  // of no op: the idle time
};

class Candidates {
 public:
  Candidates(const Profile& profile, const WhereTimeGoes& where) : profile_(profile), where_(where) {
    add_layers();
    if (profile.partition().options.strategy == Strategy::kFused) add_fusions();
    add_small_ops();
    if (profile.roofline.device && profile.graph->measurement.environment.precision == "highest")
      add_precision(*profile.roofline.device);
    if (where.idle > 0) list_.push_back({FindingKind::kIdle, "", {}, where.idle});
  }

  std::vector<Finding> best() {
    std::vector<Finding> findings;
    const double least = kLeastShare * std::max(where_.whole, where_.seconds);
    taken_.assign(profile_.costs.size(), false);
    while (findings.size() < kMost && !list_.empty()) {
      const auto found = std::ranges::max_element(list_, {}, [&](const Candidate& c) { return saving(c); });
      if (saving(*found) < least) break;
      findings.push_back(finding(*found));
      for (const Saving& each : found->savings) taken_[each.op] = true;
      list_.erase(found);
    }
    return findings;
  }

 private:
  double seconds(OpId op) const { return static_cast<double>(profile_.costs[op].time) * kPicosecond; }
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
    Finding found{.kind = candidate.kind, .name = candidate.name};
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
      const double kept =
          std::min(1.0, static_cast<double>(subgraph.saved_bytes()) / static_cast<double>(bytes));
      const auto [found, added] = at.try_emplace(subgraph.type, list_.size());
      if (added) list_.push_back({FindingKind::kFusion, std::string(subgraph.type)});
      for (const OpId op : ops)
        if (op != main && profile_.costs[op].time)
          list_[found->second].savings.push_back({op, kept * seconds(op), i});
    }
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

std::vector<Finding> find_savings(const Profile& profile, const WhereTimeGoes& where) {
  return Candidates(profile, where).best();
}

}  // namespace opscope
