// What Python hands over: models to be held beside others, and how to profile them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "app/cases/loaded_model.h"

namespace opscope::python {

// What the user called it, "" for nothing; its graph, or the path of a profile's JSON.
using Handed = std::tuple<std::string, std::shared_ptr<Graph>, std::string>;

// Labelled as the user called it, else by its own name.
LoadedModel loaded(const Handed& handed, const ProfileOptions& options);

// `hardware`: a device, or "" for none.
ProfileOptions profile_options(const std::string& convention, std::optional<double> ridge,
                               const std::string& hardware, const std::string& float32);
// One for each device: the first is what the models are profiled for.
std::vector<ProfileOptions> options_by_device(const std::string& convention, std::optional<double> ridge,
                                              const std::string& hardware, const std::string& float32);

}  // namespace opscope::python
