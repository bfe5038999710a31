// What Python hands over: models to be held beside others, and how to profile them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "analyse/profile/figures.h"
#include "analyse/profile/profile.h"
#include "graph/graph.h"

namespace opscope::python {

// What the user called it, "" for nothing; its graph, or the path of a profile's JSON.
using Handed = std::tuple<std::string, std::shared_ptr<Graph>, std::string>;

// The graph and its profile where there is one, the figures in any case.
struct HandedModel {
  HandedModel(const Handed& handed, const ProfileOptions& options);

  std::string spec;
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Profile> profile;
  Figures figures;
};

// `hardware`: a device, or "" for none.
ProfileOptions profile_options(const std::string& convention, std::optional<double> ridge,
                               const std::string& hardware, const std::string& float32);

}  // namespace opscope::python
