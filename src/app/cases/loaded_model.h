// A model that a use case works on, wherever it came from: a file, the cache, a Python process, or Python
// itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyse/profile/figures.h"
#include "graph/graph.h"

namespace opscope {

// Either a graph and its profile, or a saved profile's figures alone.
struct LoadedModel {
  std::string spec;              // as the user wrote it; "": an object of Python's
  std::string label;             // what to call it beside others
  std::shared_ptr<Graph> graph;  // nullptr: a saved profile
  std::shared_ptr<Profile> profile;
  Figures figures;

  bool has_graph() const { return graph != nullptr; }
};

LoadedModel profiled(std::string spec, std::shared_ptr<Graph> graph, const ProfileOptions& options);

// Gives each without a label one of its own, no two the same.
void name_apart(std::vector<LoadedModel>& models);

}  // namespace opscope
