// Finds ops by what a person types: an index, a layer, a module, or an op within its module.
#include <algorithm>
#include <mutex>

#include "analyse/profile/profile.h"
#include "analyse/profile/rollup.h"
#include "analyse/times/host_time.h"
#include "analyse/times/times.h"
#include "base/groups.h"
#include "base/text.h"

namespace opscope {
namespace {

std::vector<OpId> ops_where(const Profile& profile, auto&& matches) {
  std::vector<OpId> ops;
  for (OpId op = 0; op < profile.layer_of().size(); ++op)
    if (matches(op)) ops.push_back(op);
  return ops;
}

std::vector<OpId> ops_of_layer(const Profile& profile, std::string_view node) {
  const auto found = std::ranges::find(profile.layers(), node, &LayerRow::name);
  if (found == profile.layers().end()) return {};
  const auto layer = static_cast<std::uint32_t>(found - profile.layers().begin());
  return ops_where(profile, [&](OpId op) { return profile.layer_of()[op] == layer; });
}

// Every op in the module or below it.
std::vector<OpId> ops_of_module(const Profile& profile, std::string_view node) {
  const Graph& graph = *profile.graph;
  std::vector<bool> inside(graph.modules.size(), false);
  for (std::size_t m = 0; m < inside.size(); ++m) {
    const Module& module = graph.modules[m];
    const bool below = module.parent != kNone && inside[module.parent];
    inside[m] = below || (!node.empty() && graph.path(module) == node);
  }
  return ops_where(profile, [&](OpId op) { return inside[graph.scopes[graph.ops[op].scope].module]; });
}

// "layer1.0.conv1.conv2d", "aten::conv2d", "conv2d": an op type, alone or after a module's path.
std::vector<OpId> ops_of_type(const Profile& profile, std::string_view node) {
  const Graph& graph = *profile.graph;
  return ops_where(profile, [&](OpId id) {
    const Op& op = graph.ops[id];
    const std::string_view full = graph.op_name(op),
                           path = graph.path(graph.modules[graph.scopes[op.scope].module]);
    if (node == full || node == op_type(full)) return true;
    return node.size() > path.size() + 1 && node.starts_with(path) && node[path.size()] == '.' &&
           op_type(node.substr(path.size() + 1)) == op_type(full);
  });
}

std::string suggest(const Profile& profile, std::string_view node) {
  std::vector<std::string_view> candidates;
  for (const LayerRow& layer : profile.layers()) candidates.push_back(layer.name);
  for (const ModuleRow& row : profile.modules())
    candidates.push_back(profile.graph->path(profile.graph->modules[row.module]));
  sort_unique(candidates);
  return did_you_mean(
      node, candidates,
      "name an op by its index, a layer, a module or an op type, as `opscope profile --verbose` shows them");
}

}  // namespace

std::vector<OpId> find_node(const Profile& profile, std::string_view node) {
  if (const auto index = number_from<OpId>(node.substr(node.starts_with('#') ? 1 : 0))) {
    // A module may be called "0" as well; the index wins, its layer can be reached by a longer name.
    if (*index < profile.costs.size()) return {*index};
    const std::size_t count = profile.costs.size();
    throw Error("no op " + std::string(node), "",
                count ? "ops are numbered 0 to " + std::to_string(count - 1) : "the capture has no ops");
  }
  for (const auto find : {ops_of_layer, ops_of_module, ops_of_type})
    if (auto ops = find(profile, node); !ops.empty()) return ops;
  throw Error("no op, layer or module called '" + std::string(node) + "'", "", suggest(profile, node));
}

TracerRows make_tracer_rows(const Profile& profile) {
  const Graph& graph = *profile.graph;
  TracerRows rows;
  TextBlocks texts;
  const auto labels = node_labels(graph, texts);
  for (PartId p = 0; p < graph.parts.size(); ++p) rows.parts.push_back({.part = p});
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const PartId part = graph.nodes[n].part;
    rows.nodes.push_back({.node = n, .label = labels[n], .calls = graph.parts[part].calls});
    ++rows.parts[part].nodes;
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const NodeId node = graph.ops[i].node;
    (node == kNone ? rows.outside : rows.nodes[node].metrics) += profile.costs[i];
    if (node != kNone) rows.parts[graph.nodes[node].part].metrics += profile.costs[i];
  }
  rows.texts = std::move(texts).take();
  return rows;
}

struct Profile::Views {
  // Made when it is first asked for, once, by whichever thread asks first.
  template <class T>
  class Lazy {
   public:
    template <class Make, class... Arguments>
    const T& get(Make make, const Arguments&... arguments) {
      std::call_once(once_, [&] { value_ = make(arguments...); });
      return value_;
    }

   private:
    std::once_flag once_;
    T value_{};
  };

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

const std::vector<ModuleRow>& Profile::modules() const { return views_->modules.get(module_rows, *this); }
const LayerGraph& Profile::layer_graph() const { return views_->layers.get(make_layers, *this); }
const std::vector<TypeRow>& Profile::types() const { return views_->types.get(type_rows, *this); }
const TracerRows& Profile::tracer_rows() const { return views_->tracer.get(make_tracer_rows, *this); }
const Partition& Profile::partition() const {
  return views_->partition.get(make_partition, *graph, costs, options.partition);
}
const FusedRoofline& Profile::fused_roofline() const {
  return views_->fused_roofline.get(fuse_roofline, *this);
}
const MemoryTimeline& Profile::memory() const {
  return views_->memory.get([&] { return memory_timeline(*graph); });
}
const BottleneckSummary& Profile::bottlenecks() const {
  return views_->bottlenecks.get(sum_bottlenecks, *this);
}
const std::vector<Advice>& Profile::advice() const { return views_->advice.get(advise, *this); }

Profile make_profile(const Graph& graph, const ProfileOptions& options) {
  Profile profile;
  profile.views_ = std::make_shared<Profile::Views>();
  profile.graph = &graph;
  profile.options = options;
  profile.experts = Experts(graph, options.routing);
  profile.costs = estimate(graph, options.convention, profile.experts);
  add_times(graph, profile.costs);
  assess_roofline(graph, profile);
  assess_prediction(graph, profile);
  for (const OpCost& cost : profile.costs) profile.totals += cost;
  add_wall(graph, profile.costs, profile.totals);
  profile.parameters = all_parameters(graph);
  profile.diagnostics = graph.diagnostics;
  assess_experts(profile);
  assess_coverage(graph, profile);
  return profile;
}

}  // namespace opscope
