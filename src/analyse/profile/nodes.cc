// Finds ops by what a person types: an index, a layer, a module, or an op within its module.
#include <algorithm>
#include <charconv>

#include "analyse/profile/rollup.h"
#include "base/text.h"

namespace opscope {
namespace {

std::optional<OpId> as_index(std::string_view node) {
  if (node.starts_with('#')) node.remove_prefix(1);
  OpId index = 0;
  const auto [end, error] = std::from_chars(node.data(), node.data() + node.size(), index);
  if (node.empty() || error != std::errc{} || end != node.data() + node.size()) return std::nullopt;
  return index;
}

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
  std::ranges::sort(candidates);
  candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
  if (std::string hint = did_you_mean(node, candidates); !hint.empty()) return hint;
  return "name an op by its index, a layer, a module or an op type, as `opscope profile --verbose` shows "
         "them";
}

}  // namespace

std::vector<OpId> find_node(const Profile& profile, std::string_view node) {
  if (const auto index = as_index(node)) {
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

}  // namespace opscope
