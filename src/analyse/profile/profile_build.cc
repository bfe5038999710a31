// Graph -> Profile: cost every op once; every view then groups the same costs, when it is asked for.
#include "analyse/profile/profile.h"
#include "analyse/profile/rollup.h"
#include "analyse/times/times.h"
#include "base/lazy.h"

namespace opscope {

struct Profile::Views {
  Lazy<std::vector<ModuleRow>> modules;
  Lazy<LayerGraph> layers;
  Lazy<std::vector<TypeRow>> types;
  Lazy<TracerRows> tracer;
  Lazy<Partition> partition;
  Lazy<FusedRoofline> fused_roofline;
  Lazy<MemoryTimeline> memory;
  Lazy<BottleneckSummary> bottlenecks;
  Lazy<std::vector<Advice>> advice;
};

const std::vector<ModuleRow>& Profile::modules() const {
  return views_->modules.get([&] { return module_rows(*graph, costs); });
}
const LayerGraph& Profile::layer_graph() const {
  return views_->layers.get([&] { return make_layers(*this); });
}
const std::vector<TypeRow>& Profile::types() const {
  return views_->types.get([&] { return type_rows(*graph, costs); });
}
const TracerRows& Profile::tracer_rows() const {
  return views_->tracer.get([&] { return make_tracer_rows(*graph, costs); });
}
const Partition& Profile::partition() const {
  return views_->partition.get([&] { return make_partition(*graph, costs, options.partition); });
}
const FusedRoofline& Profile::fused_roofline() const {
  return views_->fused_roofline.get([&] { return fuse_roofline(*this); });
}
const MemoryTimeline& Profile::memory() const {
  return views_->memory.get([&] { return memory_timeline(*graph); });
}
const BottleneckSummary& Profile::bottlenecks() const {
  return views_->bottlenecks.get([&] { return sum_bottlenecks(*this); });
}
const std::vector<Advice>& Profile::advice() const {
  return views_->advice.get([&] { return advise(*this); });
}

Profile make_profile(const Graph& graph, const ProfileOptions& options) {
  Profile profile;
  profile.views_ = std::make_shared<Profile::Views>();
  profile.graph = &graph;
  profile.options = options;
  profile.costs = estimate(graph, options.convention);
  add_times(graph, profile.costs);
  assess_roofline(graph, profile);
  for (const OpCost& cost : profile.costs) profile.totals += cost;
  profile.parameters = all_parameters(graph);
  profile.diagnostics = graph.diagnostics;
  assess_coverage(graph, profile);
  return profile;
}

}  // namespace opscope
