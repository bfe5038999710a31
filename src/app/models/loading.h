// The models of a command that takes several: names and files of every kind, captures and saved profiles.
#pragma once

#include <string>
#include <vector>

#include "app/cases/loaded_model.h"
#include "app/request/written.h"
#include "app/worker/listener.h"

namespace opscope {

// In the order given; all that Python has to capture in one process of it. Flags of captures (--batch, ...)
// hold for every model that is captured; files among them are as they are, and where all are files such a
// flag is refused. Throws Error naming the model for the first that cannot be had; where `failed` is given,
// what cannot be captured is left out, and it says why.
std::vector<LoadedModel> load_models(const std::vector<std::string>& specs, const WrittenRequest& written,
                                     const ProfileOptions& options, Listener& listener,
                                     std::vector<std::string>* failed = nullptr);

}  // namespace opscope
