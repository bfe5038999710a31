// The views of a profile, each a pass over the same op costs. For profile.cc only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile.h"

namespace opscope {

// "aten::relu_" -> "relu": an in-place op is of its functional twin's type.
std::string_view op_type(std::string_view op_name);

// Each op target's row in a list of distinct op types.
struct OpTypes {
  explicit OpTypes(const Graph& graph);
  std::vector<std::string_view> names;   // by type
  std::vector<std::uint32_t> of_target;  // by target
};

// The module tree with the parameters of each row. Needs profile.costs.
void roll_up_modules(const Graph& graph, Profile& profile);
// The layer graph and profile.layer_of. Needs profile.costs and profile.modules.
void roll_up_layers(const Graph& graph, const OpTypes& types, Profile& profile);
void roll_up_types(const Graph& graph, const OpTypes& types, Profile& profile);
// Coverage, and a diagnostic for each kind of op that is unknown.
void assess_coverage(const Graph& graph, Profile& profile);
void assess_bottlenecks(Profile& profile);
// Needs profile.types.
void advise(Profile& profile);

Bottleneck bottleneck_of(const Metrics& metrics, double ridge);
Parameters parameters_of(const Graph& graph, const Value& value);
Parameters& operator+=(Parameters& sum, const Parameters& other);

}  // namespace opscope
