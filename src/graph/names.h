// The names that PyTorch's tracers give to modules, parameters and inputs, as a person would write them:
// "l_self_modules_layer1_modules_0_parameters_weight_" as "layer1.0.weight". Where the model's own paths are
// known they decide (TracerNames); where they are not, the rules of readable_name do.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace opscope {

// What the name alone tells. `self` is how forward calls its first argument: Dynamo's names begin with it.
//
// Dynamo's "l_self_modules_..." and its sources, "L['self']._modules['0']", tell components from words and
// are read exactly. "L__self___a_b_weight", "g__model___a_b", "p_a_b_weight" and the bare "a_b_1" have one
// underscore for a dot as for an underscore. There a number between two underscores becomes a component,
// "_23_" to ".23."; the usual names of parameters and buffers are split off the end of a name that has a
// prefix; of two underscores one is a dot; every other underscore stays, so that no name is torn. A number at
// the very end is a component after a prefix ("p_scales_0") and stays in a bare name, where it mostly counts
// calls ("relu_1"). The name of a global that holds modules is dropped, as is the first of "model.model.";
// the root is "", as in Module::path. Time is linear in the name.
std::string readable_name(std::string_view tracer_name, std::string_view self = "self");

// "start...end", at most `width` bytes (never fewer columns than a terminal needs): cut between components
// where that costs little, never inside a character.
std::string shortened_name(std::string_view name, std::size_t width);

// readable_name for one model whose paths are known: a name that fits one of them is that one, whatever was
// lost on the way (dots, dashes, capitals, or the "_1" that a second call adds).
class TracerNames {
 public:
  // Paths of modules and of their parameters and buffers: "layer1.0.conv1", "layer1.0.conv1.weight".
  explicit TracerNames(std::span<const std::string_view> paths, std::string_view self = "self");

  // For names and targets of placeholder, get_attr and call_module nodes, and for entries of module stacks.
  // The name of a call_function node ("linear_1") says nothing about modules and is not for here.
  std::string readable(std::string_view tracer_name) const;

 private:
  struct Candidate {
    std::string path;
    bool only = true;  // no other path has this key
  };

  void add(std::string key, std::string_view path);
  // The path behind a key, else behind the key without a duplicate's suffix; null where there is none. Where
  // several paths share it, `rule` decides if it is one of them, else the first.
  const std::string* find(std::string key, const std::string& rule) const;

  std::string self_;
  std::unordered_set<std::string> paths_;
  std::unordered_map<std::string, Candidate> by_key_;
};

}  // namespace opscope
