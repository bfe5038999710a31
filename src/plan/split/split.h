// A captured model on a cluster as a graph of costs: ops with their predicted times, the tensors between them
// with the times of links, and the memory that they hold.
#pragma once

#include <string>
#include <vector>

#include "analyse/profile/profile.h"
#include "plan/cluster/cluster.h"
#include "plan/planned/planned.h"
#include "plan/split/flow.h"

namespace opscope {

struct SplitOptions {
  std::string reserve{};      // of each device's memory; "": what allocator and driver need
  std::size_t in_flight = 0;  // runs on their way at once, each with a KV cache of its own; 0: 1 for latency,
                              // else two for each device
  std::size_t replicas = 1;   // of the whole model, alike; 0: as many as make runs most often
  bool overlap = true;        // transfers go on while devices compute
  std::size_t most_nodes = 20000;  // ops beyond it are taken together by module calls
};

// A model as nodes: ops, or module calls where there are many.
struct SplitModel {
  CostGraph costs;
  std::vector<std::vector<OpId>> ops;  // by node
  OpFlow flow{};
  std::size_t in_flight = 1;  // runs that KV caches are there for
  bool is_coarse = false;     // nodes are several ops
  std::vector<std::string> notes{};
};

// `profiles`: one for each group, predicted on its device, of one graph. Throws Error for what has no split:
// a training step, ops whose time is known on no device.
SplitModel split_model(const std::vector<Profile>& profiles, const Cluster& cluster,
                       const SplitOptions& options, PlanObjective objective);

// The plan of it, named as people name the model; of one replica where there are several. Throws Error where
// replicas are asked for with another objective than throughput.
PlannedGraph plan_model(const std::vector<Profile>& profiles, const Cluster& cluster,
                        const SplitOptions& options, const PlanQuestion& question);

// The same without replicas: of the cluster as it is.
PlannedGraph plan_one_replica(const std::vector<Profile>& profiles, const Cluster& cluster,
                              const SplitOptions& options, const PlanQuestion& question);

}  // namespace opscope
