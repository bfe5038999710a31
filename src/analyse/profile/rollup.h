// The views of a profile, each a pass over the same op costs. For analyse/ only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

// What a person reads for each node: the true path where the graph knows it, otherwise the tracer's name put
// into words. Two nodes of a part never share one. Views are of the graph's text or of `texts`.
std::vector<std::string_view> node_labels(const Graph& graph, TextBlocks& texts);

// "torch.nn.functional.relu" -> "relu", "aten.conv2d.default" -> "conv2d", "add_" -> "add".
class TargetNames {
 public:
  explicit TargetNames(const Graph& graph);
  std::string_view short_name(std::string_view target) const;

 private:
  std::unordered_set<std::string> operators_;  // "aten.conv2d" of the graph's own ops
};

// Each op target's row in a list of distinct op types.
struct OpTypes {
  explicit OpTypes(const Graph& graph);
  std::vector<std::string_view> names;   // by type
  std::vector<std::uint32_t> of_target;  // by target
};

// The roofline of every op on the device, and its ridge. Before anything is summed up: changes profile.costs.
void assess_roofline(const Graph& graph, Profile& profile);
// The run as it would go on the device, and each op's share of it.
void assess_prediction(const Graph& graph, Profile& profile);
// An op's share of a predicted run.
void set_prediction(OpCost& cost, const OpShare& share);
// What an op's time on a device says of it. The user's own ridge decides what is bound by what, where there
// is one.
void set_roofline(OpCost& cost, const RooflineTime& time, const ProfileOptions& options);
// Coverage, and a diagnostic for each kind of op that is unknown.
void assess_coverage(const Graph& graph, Profile& profile);
// A note for what is assumed of experts.
void assess_experts(Profile& profile);

std::vector<ModuleRow> module_rows(const Profile& profile);
// By module: its row.
std::vector<std::uint32_t> rows_of_modules(std::span<const ModuleRow> rows);
LayerGraph make_layers(const Profile& profile);
std::vector<TypeRow> type_rows(const Profile& profile);
TracerRows make_tracer_rows(const Profile& profile);
FusedRoofline fuse_roofline(const Profile& profile);
BottleneckSummary sum_bottlenecks(const Profile& profile);
std::vector<Advice> advise(const Profile& profile);

Band& operator+=(Band& band, const OpCost& cost);

Parameters parameters_of(const Graph& graph, const Value& value);
Parameters& operator+=(Parameters& sum, const Parameters& other);
// Of the whole model, each value once.
Parameters all_parameters(const Graph& graph);
// Parameters and buffers that ops take directly, each once.
Parameters parameters_read(const Graph& graph, std::span<const OpId> ops);

}  // namespace opscope
