// The models of a command that takes several: names and files of every kind, captures and saved profiles.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/profile/figures.h"
#include "app/models/model_flags.h"
#include "app/worker/talk.h"
#include "graph/graph.h"

namespace opscope {

// Either a graph and its profile, or a saved profile's figures alone.
struct LoadedModel {
  std::string spec;              // as the user wrote it
  std::string label;             // what to call it beside the others: no two have the same
  std::unique_ptr<Graph> graph;  // nullptr: a saved profile
  std::unique_ptr<Profile> profile;
  Figures figures;

  bool has_graph() const { return graph != nullptr; }
};

// In the order given; all that Python has to capture in one process of it. Flags of captures (--batch, ...)
// hold for every model that is captured; files among them are as they are, and where all are files such a
// flag is refused. Throws Error naming the model for the first that cannot be had.
std::vector<LoadedModel> load_models(const std::vector<std::string>& specs, const ModelFlags& flags,
                                     const ProfileOptions& options, const TalkFlags& talk);
// The same for lists that nobody chose one by one: what cannot be captured is left out, and `failed` says
// why.
std::vector<LoadedModel> load_those_that_work(const std::vector<std::string>& specs, const ModelFlags& flags,
                                              const ProfileOptions& options, const TalkFlags& talk,
                                              std::vector<std::string>& failed);

// Gives each its label.
void name_apart(std::vector<LoadedModel>& models);

}  // namespace opscope
