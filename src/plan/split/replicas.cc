// Data parallelism of a forward run: the devices of each group shared out evenly among replicas of the model.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "plan/split/split.h"

namespace opscope {
namespace {

// What one of so many replicas has.
struct Share {
  std::size_t replicas = 1;
  Cluster cluster{};
  std::vector<Profile> profiles{};

  std::vector<std::size_t> counts() const {
    std::vector<std::size_t> all;
    for (const ClusterGroup& group : cluster.groups) all.push_back(group.count);
    return all;
  }
};

Share share_of(const std::vector<Profile>& profiles, const Cluster& cluster, std::size_t replicas) {
  Share share{replicas};
  share.cluster.pins = cluster.pins;
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    ClusterGroup group = cluster.groups[g];
    group.count /= replicas;
    if (group.count == 0) continue;
    share.cluster.groups.push_back(std::move(group));
    share.profiles.push_back(profiles[g]);
  }
  return share;
}

bool has_pins(const Share& share) {
  return std::ranges::all_of(share.cluster.pins, [&](const ClusterPin& pin) {
    return std::ranges::find(share.cluster.groups, pin.group, &ClusterGroup::name) !=
           share.cluster.groups.end();
  });
}

// As many as are asked for, or every number that leaves each replica another share: of equal shares the most.
std::vector<Share> shares(const std::vector<Profile>& profiles, const Cluster& cluster,
                          std::size_t replicas) {
  std::vector<Share> all;
  for (std::size_t r = replicas == 0 ? 1 : replicas; r <= (replicas == 0 ? cluster.devices() : replicas);
       ++r) {
    Share share = share_of(profiles, cluster, r);
    if (share.cluster.groups.empty() || !has_pins(share)) continue;
    if (!all.empty() && all.back().counts() == share.counts()) all.pop_back();
    all.push_back(std::move(share));
  }
  return all;
}

}  // namespace

PlannedGraph plan_model(const std::vector<Profile>& profiles, const Cluster& cluster,
                        const SplitOptions& options, const PlanQuestion& question) {
  if (options.replicas == 1) return plan_one_replica(profiles, cluster, options, question);
  const std::string model = profiles.front().graph->capture.model;
  if (question.objective != PlanObjective::kThroughput || question.against)
    throw Error("replicas make runs more often, and none of them faster", model,
                "plan them for throughput alone");
  const Share* best = nullptr;
  double period = kCannotRun, bound = kCannotRun;
  std::optional<Error> problem;
  const std::vector<Share> all = shares(profiles, cluster, options.replicas);
  if (all.empty()) throw Error("there are not so many devices, or none of a group that is pinned", model);
  for (const Share& share : all) {
    const auto replicas = static_cast<double>(share.replicas);
    try {
      const SplitModel split = split_model(share.profiles, share.cluster, options, question.objective);
      check(split.costs, model);
      const PlanAnswer answer = solve(split.costs, question, model);
      bound = std::min(bound, answer.lower_bound / replicas);
      if (answer.value / replicas < period) period = answer.value / replicas, best = &share;
    } catch (const Error& error) {
      if (!problem) problem = error;  // of the fewest replicas: the others have less memory each
    }
  }
  if (!best) throw Error(problem->what(), problem->where(), problem->hint());
  PlannedGraph planned = plan_one_replica(best->profiles, best->cluster, options, question);
  planned.replicas = {best->replicas, planned.answer.value / static_cast<double>(best->replicas), bound};
  if (best->replicas > 1) planned.changes.clear();  // they would be of each replica
  return planned;
}

}  // namespace opscope
