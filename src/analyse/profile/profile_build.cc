// Graph -> Profile: cost every op once, then group the same costs in every view.
#include "analyse/profile/profile.h"
#include "analyse/profile/rollup.h"
#include "analyse/times/times.h"

namespace opscope {

Profile make_profile(const Graph& graph, const ProfileOptions& options) {
  Profile profile;
  profile.graph = &graph;
  profile.options = options;
  profile.costs = estimate(graph, options.convention);
  add_times(graph, profile.costs);
  profile.partition = make_partition(graph, profile.costs, options.partition);
  assess_roofline(graph, profile);
  profile.memory = memory_timeline(graph);
  const OpTypes types(graph);
  roll_up_modules(graph, profile);
  profile.totals = profile.modules.front().metrics;
  profile.parameters = profile.modules.front().parameters;
  roll_up_layers(graph, types, profile);
  roll_up_types(graph, types, profile);
  roll_up_nodes(graph, profile);
  profile.diagnostics = graph.diagnostics;
  assess_coverage(graph, profile);
  assess_bottlenecks(profile);
  advise(profile);
  return profile;
}

}  // namespace opscope
