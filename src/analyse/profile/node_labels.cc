// Names for a tracer's nodes that a person would write. Tracers flatten paths into identifiers, each in its
// own way; the module that ran a node and the parameter that it reads say the true path, and the path wins.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "analyse/profile/rollup.h"
#include "base/text.h"
#include "graph/names.h"

namespace opscope {
namespace {

// Namespaces of operators that PyTorch and its libraries register; what a model brings is found among its
// ops.
constexpr std::array<std::string_view, 6> kOperatorNamespaces{"aten",  "higher_order", "prim",
                                                              "prims", "quantized",    "torchvision"};

// "layer1.0.weight"; what the root has is called by its own name.
std::string path_in(const Graph& graph, ModuleId module, std::string_view name) {
  std::string path(graph.path(graph.modules[module]));
  if (!path.empty()) path += '.';
  return path.append(name);
}

// By parameter and buffer, the path by which a module owns it: of several the first.
using OwnedPaths = std::unordered_map<ValueId, std::string>;

OwnedPaths owned_paths(const Graph& graph) {
  OwnedPaths paths;
  for (const Owned& owned : graph.owned)
    if (const auto [at, is_new] = paths.try_emplace(owned.value); is_new)
      at->second = path_in(graph, owned.module, graph.text(owned.name));
  return paths;
}

// Where no value and no module tells, a name that fits one of the model's paths is that path.
TracerNames known_paths(const Graph& graph, const OwnedPaths& owned) {
  std::vector<std::string_view> paths;
  for (const Module& module : graph.modules) paths.push_back(graph.path(module));
  for (const Owned& each : graph.owned) paths.push_back(owned.at(each.value));
  return TracerNames(paths);
}

class Labels {
 public:
  explicit Labels(const Graph& graph)
      : graph_(graph), owned_(owned_paths(graph)), targets_(graph), names_(known_paths(graph, owned_)) {}

  std::string wanted(const Node& node) const {
    std::string label;
    switch (node.kind) {
      case NodeKind::kPlaceholder:
      case NodeKind::kGetAttr:
        label = value_path(node);
        break;
      case NodeKind::kCallModule:
        label = graph_.path(graph_.modules[node.module]);
        break;
      case NodeKind::kCallFunction:
      case NodeKind::kCallMethod:
        label = op_path(node);
        break;
      case NodeKind::kOutput:
        break;
    }
    return label.empty() ? names_.readable(graph_.text(node.name)) : label;
  }

 private:
  // A parameter by its path, an input of the model by its name.
  std::string value_path(const Node& node) const {
    const auto outputs = graph_.outputs_of(node);
    if (outputs.size() != 1 || outputs[0] == kNone) return "";
    if (const auto found = owned_.find(outputs[0]); found != owned_.end() && !found->second.empty())
      return found->second;
    if (const auto name = input_name(graph_.values[outputs[0]]); !name.empty()) return std::string(name);
    return std::string(argument_name(node, graph_.values[outputs[0]]));
  }
  // A tracer may hand in an alias of the whole input instead of the input.
  std::string_view input_name(const Value& value) const {
    if (value.kind == ValueKind::kInput) return graph_.text(value.name);
    for (const ValueId id : graph_.inputs) {
      const Value& input = graph_.values[id];
      const bool is_whole = input.storage == value.storage && input.offset == value.offset &&
                            input.dtype == value.dtype &&
                            std::ranges::equal(graph_.shape(input), graph_.shape(value));
      if (is_whole && value.storage != kNone) return graph_.text(input.name);
    }
    return {};
  }
  // Where Dynamo enters the model through a function of (*args), the arguments of the first graph are the
  // model's: one that only a single input fits is that input. Of several that fit none is guessed.
  std::string_view argument_name(const Node& node, const Value& value) const {
    if (node.kind != NodeKind::kPlaceholder || node.part != 0 || value.kind != ValueKind::kConstant ||
        !graph_.text(node.name).starts_with("l_args_"))
      return {};
    const auto fits = [&](ValueId id) {
      const Value& input = graph_.values[id];
      return input.dtype == value.dtype && std::ranges::equal(graph_.shape(input), graph_.shape(value));
    };
    const auto found = std::ranges::find_if(graph_.inputs, fits);
    if (std::ranges::count_if(graph_.inputs, fits) != 1) return {};
    return graph_.text(graph_.values[*found].name);
  }
  std::string op_path(const Node& node) const {
    const std::string_view name = targets_.short_name(graph_.text(node.target));
    return name.empty() ? "" : path_in(graph_, node.module, name);
  }

  const Graph& graph_;
  OwnedPaths owned_;
  TargetNames targets_;
  TracerNames names_;
};

// Labels of one part, each given out once: a module's further calls are "conv1#2", other nodes "add_1".
class Unique {
 public:
  std::string take(const std::string& label, char mark) {
    std::uint32_t& repeats = repeats_[label + mark];
    // A name of its own may look like a numbered one.
    for (;; ++repeats) {
      std::string numbered = label;
      if (repeats > 0) numbered.append(1, mark).append(std::to_string(mark == '#' ? repeats + 1 : repeats));
      if (!used_.insert(numbered).second) continue;
      ++repeats;
      return numbered;
    }
  }
  void clear() { repeats_.clear(), used_.clear(); }

 private:
  std::unordered_map<std::string, std::uint32_t> repeats_;
  std::unordered_set<std::string> used_;
};

}  // namespace

TargetNames::TargetNames(const Graph& graph) {
  if (graph.nodes.empty()) return;
  for (const Target& target : graph.targets) {
    std::string name(graph.text(target.name));
    if (const auto colons = name.find("::"); colons != std::string::npos)
      operators_.insert(name.replace(colons, 2, "."));
  }
}

std::string_view TargetNames::short_name(std::string_view target) const {
  if (target.starts_with("torch.ops.")) target.remove_prefix(10);
  const auto dot = target.rfind('.');
  const std::string_view first = target.substr(0, target.find('.'));
  const std::string_view name = target.substr(0, dot), overload = last_part(target);
  const bool has_overload = dot != std::string_view::npos && name.find('.') != std::string_view::npos &&
                            (overload == "default" || operators_.contains(std::string(name)) ||
                             std::ranges::find(kOperatorNamespaces, first) != kOperatorNamespaces.end());
  return op_type(last_part(has_overload ? name : target));
}

std::vector<std::string_view> node_labels(const Graph& graph, TextBlocks& texts) {
  std::vector<std::string_view> labels(graph.nodes.size());
  if (labels.empty()) return labels;
  const Labels wanted(graph);
  Unique unique;
  for (std::size_t begin = 0, end = 0; begin < graph.nodes.size(); begin = end) {
    while (end < graph.nodes.size() && graph.nodes[end].part == graph.nodes[begin].part) ++end;
    unique.clear();
    // Modules first: their paths are the true ones, and an op that would be called the same is numbered.
    for (const bool modules : {true, false})
      for (std::size_t n = begin; n < end; ++n)
        if ((graph.nodes[n].kind == NodeKind::kCallModule) == modules)
          labels[n] = texts.add(unique.take(wanted.wanted(graph.nodes[n]), modules ? '#' : '_'));
  }
  return labels;
}

}  // namespace opscope
