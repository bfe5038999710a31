// A graph as if weights of its linears were stored quantised: an edit. The weights keep the dtype that
// products are computed in, and get a stored form, from which memory, bytes moved and dequantisation follow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cost/quantise/schemes.h"
#include "graph/graph.h"

namespace opscope {

struct Quantisation {
  StorageChoice choice{};
  // Modules by their paths, or by some parts in a row of them, "*" for any text: "lm_head", "layers.*.mlp".
  std::vector<std::string> only{};     // none: all linears but the head onto the vocabulary
  std::vector<std::string> without{};  // that are left as they are
  std::string published_by{};          // the method of the config that says so; "": the user does
  std::string where = "--quantize", only_where = "--quantize-only";  // for errors
};

// Throws Error where there is no such linear, or where a group does not divide its input features.
void quantise(Graph& graph, const Quantisation& asked);
// All weights as they were captured again.
void undo_quantise(Graph& graph);
bool is_quantised(const Graph& graph);  // by quantise

// The kind of the notes that say how weights are stored.
inline constexpr std::string_view kStorageNote = "storage";

// Whether a module's path has the pattern in it, as whole parts between dots.
bool names_module(std::string_view pattern, std::string_view path);

}  // namespace opscope
