// The device's part of a profile: the roofline time of every op, what limits each, that of the subgraphs, and
// the ridge of the units that do most of the work.
#include <map>

#include "analyse/profile/rollup.h"

namespace opscope {
namespace {

// The units that most of the products are done by; without products, those that do the rest.
const Peak* main_peak(const Graph& graph, const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  std::map<const Peak*, Count> macs;
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    const OpCost& cost = profile.costs[i];
    if (!cost.work.macs) continue;
    const Category category = cost.rule != nullptr ? cost.rule->category : Category::kCustom;
    macs[product_peak(*roofline.device, category, product_dtype(graph, graph.ops[i]), roofline.float32)] +=
        cost.work.macs;
  }
  const Peak* best = roofline.device->peak(Units::kVector, "float32");
  Count most;
  for (const Peak& peak : roofline.device->peaks)
    if (const auto found = macs.find(&peak); found != macs.end() && found->second > most)
      best = &peak, most = found->second;
  return best;
}

}  // namespace

void assess_roofline(const Graph& graph, Profile& profile) {
  ProfileOptions& options = profile.options;
  // What was asked for, or what the times were measured on.
  if (!options.hardware && !graph.measurement.empty())
    options.hardware = measured_device(graph.measurement.environment);
  if (!options.hardware) return;
  RooflineSummary& roofline = profile.roofline;
  roofline.device = options.hardware.get();
  // float32_matmul_precision "high" and "medium" let matmuls use TF32.
  const std::string& measured = graph.measurement.environment.precision;
  const bool lowered = measured == "high" || measured == "medium";
  roofline.float32 = lowered && options.float32 == Float32::kTorch ? Float32::kTf32 : options.float32;
  roofline.peak = main_peak(graph, profile);
  roofline.ridge = roofline.peak->rate.value / roofline.device->memory_bandwidth.value;
  if (!options.ridge_is_given) options.ridge = roofline.ridge;
  roofline.limits.resize(graph.ops.size());
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    OpCost& cost = profile.costs[i];
    const RooflineTime time =
        roofline_time(*roofline.device, cost, product_dtype(graph, graph.ops[i]), roofline.float32);
    cost.roofline_known = time.known;
    if (time.known) cost.roofline_time = picoseconds(time.seconds());
    // The user's own ridge decides what is bound by what, where there is one.
    cost.compute_bound =
        time.known &&
        (options.ridge_is_given ? is_compute_bound(cost.flops, cost.traffic.total(), options.ridge)
                                : time.compute_seconds() > time.memory_seconds);
    roofline.limits[i] = limit_of(*roofline.device, time);
    roofline.kernels += cost.roofline_time || !time.known;
    roofline.by_limit[static_cast<std::size_t>(roofline.limits[i])] += cost;
  }
}

// Arithmetic as of the ops, bytes as of the one kernel.
FusedRoofline fuse_roofline(const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  FusedRoofline fused;
  if (roofline.device == nullptr) return fused;
  const Graph& graph = *profile.graph;
  for (const Subgraph& subgraph : profile.partition().subgraphs) {
    RooflineTime time;
    for (const OpId op : profile.partition().ops_of(subgraph))
      time += roofline_time(*roofline.device, profile.costs[op], product_dtype(graph, graph.ops[op]),
                            roofline.float32);
    time.memory_seconds = memory_seconds(*roofline.device, subgraph.memory_bytes());
    if (time.known)
      fused.time += picoseconds(time.seconds());
    else
      ++fused.unknown;
    fused.subgraphs.push_back(time);
  }
  return fused;
}

}  // namespace opscope
